"""A fair thread pool shared by concurrent runs (stride scheduling).

Stride scheduling (Waldspurger & Weihl 1995) is used twice: the clock of every owner advances by the
time of their steps, and the clock of every run advances with each step, by less the larger its
weight. The lowest clock is next. A new or idle owner starts at the time of the others.
"""

import heapq
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from threading import Lock
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

Arguments = ParamSpec("Arguments")
Made = TypeVar("Made")

# Weight of the first run of a launch.
FIRST = 8.0


class _Alone:
    """The default owner."""


_ALONE = _Alone()


@dataclass
class _Queue:
    """Waiting steps of one owner.

    clock : seconds of work so far. last : seconds of the last step. now : the clock of the owner's
    runs. steps : by the clocks of their runs.
    """

    clock: float = 0.0
    last: float = 0.0
    now: float = 0.0
    steps: list[tuple[float, int, Future[Any], Callable[[], Any]]] = field(default_factory=list)


class FairThreads:
    """Threads of this process.

    workers : number of threads. clock : monotonic, seconds.
    """

    def __init__(self, workers: int, clock: Callable[[], float] = time.perf_counter) -> None:
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="step")
        self._lock, self._number, self._clock = Lock(), count(), clock
        self._queues: WeakKeyDictionary[Hashable, _Queue] = WeakKeyDictionary()
        self._now = 0.0

    def executor(self, weight: float, owner: Hashable = _ALONE) -> Executor:
        """The executor of one run, with ``weight`` steps for each step of a run of weight 1.

        ``owner`` : of the run; all owners have equal time.
        """
        return _OfRun(self, weight, owner)

    def shutdown(self) -> None:
        """Finish waiting steps and shut down."""
        self._threads.shutdown()

    def put(
        self,
        owner: Hashable,
        clock: float,
        stride: float,
        future: Future[Any],
        step: Callable[[], Any],
    ) -> float:
        """Queue a step and return the clock of its run after it."""
        with self._lock:
            queue = self._queues.setdefault(owner, _Queue())
            if not queue.steps:
                queue.clock = max(queue.clock, self._now)
            clock = max(clock, queue.now) + stride
            heapq.heappush(queue.steps, (clock, next(self._number), future, step))
        self._threads.submit(self._make_next)
        return clock

    def _make_next(self) -> None:
        with self._lock:
            waiting = [queue for queue in self._queues.values() if queue.steps]
            queue = min(waiting, key=lambda one: one.clock)
            self._now = queue.clock
            # Charge the expected time now, because other threads choose before the step ends.
            expected = queue.last
            queue.clock += expected
            queue.now, _, future, step = heapq.heappop(queue.steps)
        if not future.set_running_or_notify_cancel():
            return
        began = self._clock()
        try:
            result = step()
        except BaseException as error:  # raised to the caller
            future.set_exception(error)
        else:
            future.set_result(result)
        with self._lock:
            queue.last = self._clock() - began
            queue.clock += queue.last - expected


class _OfRun(Executor):
    """The executor of one run."""

    def __init__(self, threads: FairThreads, weight: float, owner: Hashable) -> None:
        self._threads, self._stride, self._owner = threads, 1.0 / weight, owner
        self._clock = 0.0

    def submit(
        self, fn: Callable[Arguments, Made], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Future[Made]:
        future: Future[Made] = Future()
        self._clock = self._threads.put(
            self._owner, self._clock, self._stride, future, lambda: fn(*args, **kwargs)
        )
        return future
