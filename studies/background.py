"""Studies in a background thread, one at a time: watched, cancelled, gone on with later."""

import logging
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

from bnmf_core.nouns.errors import BNMFError, Cancelled, RunError
from studies.result import StudyResult
from studies.runner import Progress, Study

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class StudyStatus:
    """Where a study stands.

    Attributes
    ----------
    status : "none", "running", "complete", "cancelled" or "failed".
    fraction : part of its cells that are measured. stage : what was measured last, in words.
    remaining : seconds still to go, None while unknown. message : why it failed.
    """

    status: str = "none"
    fraction: float = 0.0
    stage: str = ""
    remaining: float | None = None
    message: str = ""


class StudyRunner:
    """Makes studies and keeps them in a folder, by what decides their numbers.

    A measured cell is a file, so a study that was cancelled, or whose server was killed, goes on
    from there when it is started again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._status: dict[str, StudyStatus] = {}
        self._thread: threading.Thread | None = None
        self._cancel = threading.Event()
        self._lock = threading.Lock()

    def start(self, study: Study) -> None:
        """Begin a study.

        Raises
        ------
        RunError
            When another one is being made.
        """
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                raise RunError("A study is being made already; wait for it, or cancel it.")
            self._cancel.clear()
            self._status[study.key] = StudyStatus("running", stage="Starting")
            self._thread = threading.Thread(target=self._make, args=(study,), daemon=True)
            self._thread.start()

    def cancel(self) -> None:
        """Stop after the cell that is being measured."""
        self._cancel.set()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until no study is being made."""
        if self._thread is not None:
            self._thread.join(timeout)

    def status(self, study: Study) -> StudyStatus:
        """How far a study is."""
        if study.key in self._status:
            return self._status[study.key]
        return StudyStatus("complete", 1.0) if self._path(study).is_file() else StudyStatus()

    def result(self, study: Study) -> StudyResult:
        """A complete study.

        Raises
        ------
        StoreError
            When it is not there.
        """
        return StudyResult.load(self._path(study))

    def _path(self, study: Study) -> Path:
        return self.folder / f"{study.key}.json"

    def _make(self, study: Study) -> None:
        began, key = time.perf_counter(), study.key

        def report(progress: Progress) -> None:
            part = progress.done / progress.total
            seconds = time.perf_counter() - began
            remaining = seconds * (1 - part) / part if part else None
            self._status[key] = StudyStatus("running", part, progress.stage, remaining)

        try:
            found = study.make(self.folder / "cells", report, self._cancel.is_set)
            found.save(self._path(study))
            self._status[key] = StudyStatus("complete", 1.0)
        except Cancelled:
            self._status[key] = replace(self._status[key], status="cancelled", remaining=None)
        except BNMFError as error:
            self._status[key] = StudyStatus("failed", message=str(error))
        except Exception:
            log.exception("study %s failed", key)
            words = (
                "The study stopped for a reason that is not known; its measured cells are kept, "
                "and it can be started again."
            )
            self._status[key] = StudyStatus("failed", message=words)
