"""Seconds of compiling are counted, each once, and only those of the thread that asks."""

import threading
import time

import numba

from bnmf_core.numerics.compiling import seconds_compiled


def test_what_a_thread_compiles_is_counted_and_what_it_runs_is_not():
    @numba.njit
    def inner(x):
        return x + 1.0

    @numba.njit
    def outer(x):  # its compilation holds another one
        return inner(x) * 2.0

    before, began = seconds_compiled(), time.thread_time()
    assert outer(1.0) == 4.0
    compiled, worked = seconds_compiled() - before, time.thread_time() - began
    assert 0.5 * worked < compiled <= worked
    outer(2.0)
    assert seconds_compiled() - before == compiled
    others: list[float] = []
    thread = threading.Thread(target=lambda: others.append(seconds_compiled()))
    thread.start()
    thread.join()
    assert others == [0.0]
