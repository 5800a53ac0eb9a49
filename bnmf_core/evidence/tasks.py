"""Many calls of one pure function side by side, with progress, on this machine or a cluster."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from types import TracebackType
from typing import Self, TypeVar

from bnmf_core.evidence.annealing import Stopped
from bnmf_core.nouns.errors import raise_if_cancelled
from bnmf_core.numerics.threads import worker_count

# How often somebody who waits is asked whether to go on, seconds.
PATIENCE = 0.2

Made = TypeVar("Made")


class Tasks:
    """Makes tasks and counts them.

    Parameters
    ----------
    executor : where they are made; None: in threads of this process, which ask ``stopped`` too.
    stopped : asked while tasks run. on_progress : told the part of ``expected`` that is done.
    """

    def __init__(
        self,
        executor: Executor | None,
        stopped: Stopped,
        on_progress: Callable[[float], None] | None,
        expected: int,
    ) -> None:
        self._own = ThreadPoolExecutor(worker_count()) if executor is None else None
        self._executor = executor if self._own is None else self._own
        self._stopped, self._report = stopped, on_progress
        self._done, self._expected = 0, max(expected, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._own is not None:
            self._own.shutdown(cancel_futures=True)

    def make(
        self, function: Callable[..., Made], arguments: Sequence[tuple[object, ...]]
    ) -> list[Made]:
        """``function(*each)`` for each of the arguments, in their order.

        Raises
        ------
        Cancelled
            When ``stopped()`` said so.
        """
        # What goes to a cluster cannot be asked from here.
        asked = () if self._own is None else (self._stopped,)
        assert self._executor is not None
        futures = [self._executor.submit(function, *each, *asked) for each in arguments]
        waiting: set[Future[Made]] = set(futures)
        try:
            while waiting:
                raise_if_cancelled(self._stopped, "the evidence")
                finished, waiting = wait(waiting, PATIENCE, FIRST_COMPLETED)
                self._done += len(finished)
                if self._report is not None:
                    self._report(min(self._done / self._expected, 1.0))
            return [future.result() for future in futures]
        finally:
            for future in waiting:
                future.cancel()
