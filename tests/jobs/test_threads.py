"""Runs that share threads have turns by their weight, and none is forgotten."""

import threading
from concurrent.futures import CancelledError

import pytest

from bnmf_core.jobs.threads import FairThreads


@pytest.fixture
def threads():
    shared = FairThreads(1)
    yield shared
    shared.shutdown()


def held(threads):
    """A gate that keeps the only thread busy until it is opened."""
    gate, begun = threading.Event(), threading.Event()

    def wait():
        begun.set()
        gate.wait(10)

    threads.executor(1.0).submit(wait)
    assert begun.wait(10)
    return gate


def test_a_run_of_weight_four_has_four_turns_for_one(threads):
    gate, made = held(threads), []
    light, heavy = threads.executor(1.0), threads.executor(4.0)
    asked = [light.submit(made.append, "light") for _ in range(5)]
    asked += [heavy.submit(made.append, "heavy") for _ in range(20)]
    gate.set()
    for future in asked:
        future.result(10)
    assert made.count("light") == 5 and made.count("heavy") == 20
    for turn in (1, 2, 3, 4):
        of_both = made[: 5 * turn]
        assert of_both.count("heavy") in (4 * turn - 1, 4 * turn, 4 * turn + 1)


def test_who_comes_later_does_not_make_up_for_the_time_before(threads):
    early = threads.executor(1.0)
    for _ in range(50):
        early.submit(int).result(10)
    gate, made = held(threads), []
    late = threads.executor(1.0)
    both = {"late": late, "early": early}
    asked = [run.submit(made.append, name) for _ in range(6) for name, run in both.items()]
    gate.set()
    for future in asked:
        future.result(10)
    assert made[:6].count("late") == 3


def test_results_errors_and_cancelled_steps_are_told(threads):
    seat = threads.executor(1.0)
    assert seat.submit(divmod, 7, 2).result(10) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        seat.submit(divmod, 7, 0).result(10)
    gate = held(threads)
    waiting, after = seat.submit(int), seat.submit(str, 5)
    assert waiting.cancel()
    gate.set()
    assert after.result(10) == "5"
    with pytest.raises(CancelledError):
        waiting.result(10)


def test_owners_have_the_same_time_however_many_runs_they_have(threads):
    gate, made = held(threads), []
    one, other = threading.Event(), threading.Event()  # anything that can be told apart
    crowd = [threads.executor(weight, one) for weight in (8.0, 1.0, 1.0)]
    single = threads.executor(1.0, other)

    def work(name: str) -> None:
        threading.Event().wait(0.005)
        made.append(name)

    asked = [run.submit(work, "crowd") for _ in range(10) for run in crowd]
    asked += [single.submit(work, "single") for _ in range(10)]
    gate.set()
    for future in asked:
        future.result(10)
    assert 8 <= made[:20].count("single") <= 10


def test_an_owner_of_long_steps_has_fewer_of_them(threads):
    gate, made = held(threads), []
    slow, quick = (threads.executor(1.0, threading.Event()) for _ in range(2))

    def work(seconds: float, name: str) -> None:
        threading.Event().wait(seconds)
        made.append(name)

    asked = [slow.submit(work, 0.04, "slow") for _ in range(6)]
    asked += [quick.submit(work, 0.01, "quick") for _ in range(24)]
    gate.set()
    for future in asked:
        future.result(10)
    # The same time for both: about four quick steps for each slow one.
    fourth = [i for i, name in enumerate(made) if name == "slow"][3]
    assert 9 <= made[:fourth].count("quick") <= 18
