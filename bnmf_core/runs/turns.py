"""Threads that several runs share: whose step is made next, so that first findings come soon.

Stride scheduling (Waldspurger & Weihl 1995): every run has a clock that a step puts forward, by
less the more the run weighs, and the run whose clock is furthest behind has its turn. A run that
comes in later, or has had nothing to do, begins at the time of the others.
"""

import heapq
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from itertools import count
from threading import Lock
from typing import Any, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Made = TypeVar("Made")

# Turns that the first run of a launch has for one of each of the others.
FIRST = 8.0


class Turns:
    """Threads of this process.

    workers : how many.
    """

    def __init__(self, workers: int) -> None:
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="step")
        self._lock, self._number = Lock(), count()
        self._steps: list[tuple[float, int, Future[Any], Callable[[], Any]]] = []
        self._now = 0.0

    def of_run(self, weight: float) -> Executor:
        """Where one run has its steps made, so many of them for one of a run of weight 1."""
        return _Seat(self, weight)

    def shutdown(self) -> None:
        """Make the steps that wait, and end."""
        self._threads.shutdown()

    def put(
        self, clock: float, stride: float, future: Future[Any], step: Callable[[], Any]
    ) -> float:
        """Let a step wait for its turn; the clock of its run after it."""
        with self._lock:
            clock = max(clock, self._now) + stride
            heapq.heappush(self._steps, (clock, next(self._number), future, step))
        self._threads.submit(self._make_next)
        return clock

    def _make_next(self) -> None:
        with self._lock:
            self._now, _, future, step = heapq.heappop(self._steps)
        if not future.set_running_or_notify_cancel():
            return
        try:
            result = step()
        except BaseException as error:  # whoever asked for the step is told
            future.set_exception(error)
        else:
            future.set_result(result)


class _Seat(Executor):
    """The executor of one run."""

    def __init__(self, turns: Turns, weight: float) -> None:
        self._turns, self._stride, self._clock = turns, 1.0 / weight, 0.0

    def submit(
        self, fn: Callable[Arguments, Made], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Future[Made]:
        future: Future[Made] = Future()
        self._clock = self._turns.put(
            self._clock, self._stride, future, lambda: fn(*args, **kwargs)
        )
        return future
