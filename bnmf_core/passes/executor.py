"""Passes over the blocks of X: where they are made, in which order, and when they stop.

Blocks are independent given A, so each is a task for the executor of the run: threads of this
process or workers of a Dask cluster. Results come back in the order of the blocks whatever the
workers, so every sum has the same bits.
"""

import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Protocol, TypeVar

from bnmf_core.blocks.whole import whole_of
from bnmf_core.core.errors import Cancelled
from bnmf_core.core.problem import Problem

Made = TypeVar("Made")
# Number of queued tasks, so that no worker is idle.
AHEAD = 2
# Seconds between checks for cancellation.
LOOK_EVERY = 0.1


class Cancel(Protocol):
    """Anything with ``is_set()``, such as a ``threading.Event``."""

    def is_set(self) -> bool:
        """Whether the run shall stop."""


class Passes(Executor):
    """Makes the steps of a run over blocks: each on one thread, its blocks by the workers.

    Parameters
    ----------
    workers : makes the blocks. at_once : how many blocks keep it busy.
    folder : where a run keeps what does not fit into memory; None: a temporary one.
    cancel : stops a pass between two blocks.

    Attributes
    ----------
    stage : what is being done, in words; "" before the first block.
    """

    at_once = 1

    def __init__(
        self,
        workers: Executor,
        at_once: int,
        folder: Path | None = None,
        cancel: Cancel | None = None,
    ) -> None:
        self.stage = ""
        self._workers, self._blocks_at_once = workers, at_once
        self._cancel = cancel or threading.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="pass")
        self._busy = 0.0
        self._own = tempfile.TemporaryDirectory() if folder is None else None
        self.folder = Path(self._own.name if self._own is not None else folder or "")
        self._within = ""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Make ``function(*arguments)``, a step and its seconds, with its passes made here."""
        return self._thread.submit(self._step, function, arguments)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End, without the workers."""
        self._thread.shutdown(wait, cancel_futures=cancel_futures)
        if self._own is not None:
            self._own.cleanup()

    def called(self, words: str) -> None:
        """Say what the next tasks are, as "Pass 3"."""
        self._within = words

    def in_order(
        self,
        function: Callable[..., tuple[Made, float]],
        problem: Problem,
        items: Iterable[tuple[Any, ...]],
        total: int,
        noun: str = "block",
    ) -> Iterator[Made]:
        """``function(problem, *item)`` of every item, in order; few are held at once.

        Each returns its result and the seconds that a processor worked on it.

        Raises
        ------
        Cancelled
            When the run has been cancelled.
        """
        under_way: deque[Future[tuple[Made, float]]] = deque()
        left, done = iter(items), 0
        try:
            while True:
                while len(under_way) < self._blocks_at_once + AHEAD:
                    item = next(left, None)
                    if item is None:
                        break
                    under_way.append(self._workers.submit(function, problem, *item))
                if not under_way:
                    return
                self.stage = f"{self._within}: {noun} {done + 1:,} of {total:,}"
                made, worked = self._waited(under_way.popleft())
                self._busy += worked
                done += 1
                yield made
        finally:
            for future in under_way:
                future.cancel()

    def _step(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        token = CURRENT.set(self)
        self._busy = 0.0
        try:
            step, worked = function(*arguments)
        finally:
            CURRENT.reset(token)
        return step, worked + self._busy

    def _waited(self, future: "Future[Made]") -> Made:
        while True:
            if self._cancel.is_set():
                future.cancel()
                raise Cancelled
            try:
                return future.result(timeout=LOOK_EVERY)
            except TimeoutError:
                if future.done():  # a TimeoutError of the task's own
                    raise


CURRENT: ContextVar[Passes] = ContextVar("passes")


def over_blocks(
    problem: Problem,
    words: str,
    function: Callable[..., tuple[Made, float]],
    *arguments: Any,
) -> Iterator[Made]:
    """``function(problem, i, *arguments)`` of every block i, in order; ``words`` name the pass."""
    passes, count = CURRENT.get(), whole_of(problem).count
    passes.called(words)
    return passes.in_order(function, problem, ((i, *arguments) for i in range(count)), count)
