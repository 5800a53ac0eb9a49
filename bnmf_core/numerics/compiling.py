"""Compilation time of threads: the first run on a machine compiles, later ones do not."""

import threading
import time
from functools import cache

from numba.core import event


class _Clock(event.Listener):
    """Counts processor seconds of the compilations of each thread, one inside another once."""

    def __init__(self) -> None:
        self.of_thread = threading.local()
        self.at_work: set[int] = set()

    def on_start(self, event: event.Event) -> None:
        own = vars(self.of_thread)
        own["depth"] = own.get("depth", 0) + 1
        if own["depth"] == 1:
            own["began"] = time.thread_time()
            self.at_work.add(threading.get_ident())

    def on_end(self, event: event.Event) -> None:
        own = vars(self.of_thread)
        if own.get("depth"):  # else it began before anybody listened
            own["depth"] -= 1
            if not own["depth"]:
                own["seconds"] = own.get("seconds", 0.0) + time.thread_time() - own["began"]
                self.at_work.discard(threading.get_ident())


@cache
def listen() -> _Clock:
    """Count from now on; once for all threads."""
    clock = _Clock()
    event.register("numba:compile", clock)
    return clock


def is_compiling() -> bool:
    """Whether any thread compiles now."""
    return bool(listen().at_work)


def seconds_compiled() -> float:
    """Processor seconds for which this thread has compiled since the first call."""
    return float(getattr(listen().of_thread, "seconds", 0.0))
