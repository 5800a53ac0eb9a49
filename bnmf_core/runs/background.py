"""One long computation at a time in a background thread: watched, cancelled, gone on with later."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from bnmf_core.core.errors import BNMFError, Cancelled, RunError

log = logging.getLogger(__name__)


class Work(Protocol):
    """What is made: it keeps its parts itself, so that it goes on from there."""

    @property
    def key(self) -> str:
        """Changes with everything that decides the result."""

    def ready(self) -> bool:
        """Whether the result is stored."""

    def make(self, report: Callable[[float, str], None], stopped: Callable[[], bool]) -> None:
        """Make and store the result; tells the part that is done, and what it is at.

        Raises
        ------
        Cancelled
            Soon after ``stopped()`` said so.
        """


@dataclass(frozen=True)
class WorkStatus:
    """Where a work stands.

    Attributes
    ----------
    status : "none", "running", "complete", "cancelled" or "failed".
    fraction : the part that is done. stage : what it is at, in words.
    remaining : seconds still to go, None while unknown. message : why it failed.
    """

    status: str = "none"
    fraction: float = 0.0
    stage: str = ""
    remaining: float | None = None
    message: str = ""


class Background:
    """Makes one work at a time."""

    def __init__(self) -> None:
        self.current: Work | None = None
        self._status: dict[str, WorkStatus] = {}
        self._thread: threading.Thread | None = None
        self._cancel = threading.Event()
        self._lock = threading.Lock()

    def start(self, work: Work) -> None:
        """Begin a work.

        Raises
        ------
        RunError
            When another one is being made.
        """
        with self._lock:
            if self.working:
                raise RunError("A study is being made already; wait for it, or cancel it.")
            self._cancel.clear()
            self.current = work
            self._status[work.key] = WorkStatus("running", stage="Starting")
            self._thread = threading.Thread(target=self._make, args=(work,), daemon=True)
            self._thread.start()

    @property
    def working(self) -> bool:
        """Whether a work is being made."""
        return self._thread is not None and self._thread.is_alive()

    def cancel(self) -> None:
        """Stop soon; the parts that are kept stay."""
        self._cancel.set()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until nothing is being made."""
        if self._thread is not None:
            self._thread.join(timeout)

    def status(self, work: Work) -> WorkStatus:
        """How far a work is."""
        found = self._status.get(work.key)
        # What was complete may have been removed since.
        if found is not None and found.status != "complete":
            return found
        return WorkStatus("complete", 1.0) if work.ready() else WorkStatus()

    def _make(self, work: Work) -> None:
        began, key = time.perf_counter(), work.key
        first: float | None = None

        def report(part: float, stage: str) -> None:
            # What was kept from before is passed at once, and tells nothing of the time.
            nonlocal first
            first = part if first is None else first
            seconds, made = time.perf_counter() - began, part - first
            remaining = seconds * (1 - part) / made if made > 0 else None
            self._status[key] = WorkStatus("running", part, stage, remaining)

        try:
            work.make(report, self._cancel.is_set)
            self._status[key] = WorkStatus("complete", 1.0)
        except Cancelled:
            self._status[key] = replace(self._status[key], status="cancelled", remaining=None)
        except BNMFError as error:
            self._status[key] = WorkStatus("failed", message=str(error))
        except Exception:
            log.exception("work %s failed", key)
            words = (
                "The study stopped for a reason that is not known; what was made of it is kept, "
                "and it can be started again."
            )
            self._status[key] = WorkStatus("failed", message=words)
