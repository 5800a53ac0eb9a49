"""What the runners of one program share: who begins a run next, and the threads that work on it.

One owner's queue holds nobody else up: whoever has nothing running begins at once, and shares the
processors with the others from then on (:mod:`bnmf_core.runs.turns`). Only what is left over is for
more runs of one owner side by side.
"""

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import contextmanager

from bnmf_core.core.errors import Cancelled
from bnmf_core.core.limits import Limits
from bnmf_core.runs.engine import WORKERS
from bnmf_core.runs.executors import Executors

log = logging.getLogger(__name__)

# Whoever waits for a turn looks so often whether he still wants it.
PATIENCE = 0.1


class Places:
    """A number of places, taken in the order in which they are asked for."""

    def __init__(self, count: int) -> None:
        self._free, self._line = count, deque[object]()
        self._changed = threading.Condition()

    @contextmanager
    def held(self, stopped: Callable[[], bool], waits: Callable[[int], None]) -> Iterator[None]:
        """Hold a place; arguments as of :meth:`Hall.analysis`."""
        me, before = object(), 0
        with self._changed:
            self._line.append(me)
            try:
                while not (self._free and self._line[0] is me):
                    if before != (before := self._line.index(me) + 1):
                        waits(before - 1)
                    self._changed.wait(PATIENCE)
                    if stopped():
                        raise Cancelled
                self._free -= 1
            finally:
                self._line.remove(me)
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._free += 1
                self._changed.notify_all()


class Hall:
    """Where runs of several owners are made.

    Parameters
    ----------
    workers : threads that make steps.
    schedulers : the addresses of dask schedulers that may be used, asked for each time; None
        for any. A server that others use names them, as what answers there is trusted.
    limits : how much of one owner, and of all, is made at one time.

    Attributes
    ----------
    executors : where steps are made.
    """

    def __init__(
        self,
        workers: int = WORKERS,
        schedulers: Callable[[], Collection[str]] | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.executors = Executors(workers, allowed=schedulers)
        # Short stages have places of their own: a long one of somebody else never delays them.
        self._places = {short: Places(self.limits.analyses_at_once) for short in (True, False)}
        self._waiting: list[tuple[Hashable, Callable[[], None]]] = []
        self._running: Counter[Hashable] = Counter()
        self._changed = threading.Condition()

    def enter(self, owner: Hashable, work: Callable[[], None]) -> None:
        """Have a run made in a thread of its own, when its turn has come."""
        with self._changed:
            self._waiting.append((owner, work))
            self._begin_some()

    def leave(self, owner: Hashable, timeout: float) -> None:
        """Give up what waits of an owner, and wait for the end of what is running."""
        end = time.monotonic() + timeout
        with self._changed:
            self._waiting = [one for one in self._waiting if one[0] is not owner]
            while self._running[owner] and (left := end - time.monotonic()) > 0:
                self._changed.wait(left)

    @contextmanager
    def analysis(
        self,
        stopped: Callable[[], bool],
        short: bool = False,
        waits: Callable[[int], None] = lambda before: None,
    ) -> Iterator[None]:
        """Hold one of the places where analyses are made, first come, first served.

        Parameters
        ----------
        stopped : asked while it waits. short : whether it takes seconds, not minutes.
        waits : told how many wait before it, whenever that changes.

        Raises
        ------
        Cancelled
            When ``stopped()`` before there was one.
        """
        with self._places[short].held(stopped, waits):
            yield

    def count(self) -> tuple[int, int]:
        """How many runs are being made, and how many wait for their turn."""
        with self._changed:
            return self._running.total(), len(self._waiting)

    def close(self) -> None:
        """Shut the threads and the clusters down."""
        self.executors.close()

    def _begin_some(self) -> None:
        """Begin what may begin: of those who have least running the one who came first."""
        while able := [
            (self._running[owner], i)
            for i, (owner, _) in enumerate(self._waiting)
            if self._may(owner)
        ]:
            owner, work = self._waiting.pop(min(able)[1])
            self._running[owner] += 1
            threading.Thread(target=self._make, args=(owner, work), daemon=True).start()

    def _may(self, owner: Hashable) -> bool:
        return not self._running[owner] or self._running.total() < self.limits.runs_at_once

    def _make(self, owner: Hashable, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception:
            log.exception("unforeseen error in the background")
        finally:
            with self._changed:
                self._running[owner] -= 1
                if not self._running[owner]:
                    del self._running[owner]
                self._begin_some()
                self._changed.notify_all()
