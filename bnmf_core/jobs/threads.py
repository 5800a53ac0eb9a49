"""Threads that runs share: whose step is made next, so that first findings come soon.

Stride scheduling (Waldspurger & Weihl 1995), twice: every owner has a clock that goes forward by
the time the owner's steps take, and among the runs of one owner every run has a clock that a step
puts forward, by less the more the run weighs. The clock furthest behind has the next turn. An owner
who comes later, or had nothing to do, begins at the time of the others.
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

# Turns that the first run of a launch has for one of each of the others.
FIRST = 8.0


class _Alone:
    """The owner of what nobody shares."""


_ALONE = _Alone()


@dataclass
class _Queue:
    """What waits of one owner.

    clock : seconds of work so far. last : what the last step took. now : the clock of the owner's
    runs. steps : by the clocks of their runs.
    """

    clock: float = 0.0
    last: float = 0.0
    now: float = 0.0
    steps: list[tuple[float, int, Future[Any], Callable[[], Any]]] = field(default_factory=list)


class FairThreads:
    """Threads of this process.

    workers : how many. clock : seconds that only go forward.
    """

    def __init__(self, workers: int, clock: Callable[[], float] = time.perf_counter) -> None:
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="step")
        self._lock, self._number, self._clock = Lock(), count(), clock
        self._queues: WeakKeyDictionary[Hashable, _Queue] = WeakKeyDictionary()
        self._now = 0.0

    def executor(self, weight: float, owner: Hashable = _ALONE) -> Executor:
        """Where one run has its steps made, so many of them for one of a run of weight 1.

        ``owner`` : whose run it is; all owners have the same time.
        """
        return _OfRun(self, weight, owner)

    def shutdown(self) -> None:
        """Make the steps that wait, and end."""
        self._threads.shutdown()

    def put(
        self,
        owner: Hashable,
        clock: float,
        stride: float,
        future: Future[Any],
        step: Callable[[], Any],
    ) -> float:
        """Let a step wait for its turn; the clock of its run after it."""
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
            # What the step will take is not known yet; another thread must not wait for it.
            expected = queue.last
            queue.clock += expected
            queue.now, _, future, step = heapq.heappop(queue.steps)
        if not future.set_running_or_notify_cancel():
            return
        began = self._clock()
        try:
            result = step()
        except BaseException as error:  # whoever asked for the step is told
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
