"""Many calls of one pure function side by side, with progress, on this machine or a cluster."""

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, wait
from types import TracebackType
from typing import Self, TypeVar

from bnmf_core.core.errors import raise_if_cancelled
from bnmf_core.numerics.threads import worker_count

# Seconds between checks for cancellation.
PATIENCE = 0.2

Made = TypeVar("Made")


class Tasks:
    """Run tasks and report their progress.

    Parameters
    ----------
    executor : runs the tasks; None: threads of this process.
    stopped : checked while tasks run. on_progress : called with the fraction of ``expected`` done.
    what : the computation, in words.
    """

    def __init__(
        self,
        executor: Executor | None,
        stopped: Callable[[], bool] | None,
        on_progress: Callable[[float], None] | None,
        expected: int,
        what: str = "the evidence",
    ) -> None:
        self._own = ThreadPoolExecutor(worker_count()) if executor is None else None
        self._executor = executor if self._own is None else self._own
        self._stopped, self._report, self._what = stopped, on_progress, what
        self.stopped = stopped or (lambda: False)
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

        Threads of this process pass one more argument, ``stopped``, to check while it works; a
        cluster cannot.

        Raises
        ------
        Cancelled
            When ``stopped()`` returned True.
        """
        made: list[Made] = []
        extra = () if self._own is None else (self._stopped,)
        self.hand_over(function, [(*each, *extra) for each in arguments], made.append)
        return made

    def hand_over(
        self,
        function: Callable[..., Made],
        arguments: Sequence[tuple[object, ...]],
        receive: Callable[[Made], object],
    ) -> None:
        """Call ``receive`` with ``function(*each)`` for each of the arguments, in their order.

        Raises
        ------
        Cancelled
            When ``stopped()`` returned True.
        """
        assert self._executor is not None
        waiting = deque(self._executor.submit(function, *each) for each in arguments)
        try:
            while waiting:
                raise_if_cancelled(self._stopped, self._what)
                if not wait([waiting[0]], PATIENCE).done:
                    continue
                receive(waiting.popleft().result())
                self._done += 1
                if self._report is not None:
                    self._report(min(self._done / self._expected, 1.0))
        finally:
            for future in waiting:
                future.cancel()
