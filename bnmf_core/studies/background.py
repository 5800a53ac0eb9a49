"""Studies in a background thread, one at a time: watched, cancelled, gone on with later."""

import hashlib
import json
import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from bnmf_core.errors import BNMFError, Cancelled, RunError
from bnmf_core.studies.coverage import StudyPlan, StudyProgress, coverage_study
from bnmf_core.studies.result import StudyResult

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
    """Makes coverage studies and keeps them in a folder, by what decides their numbers.

    A measured cell is a file, so a study that was cancelled, or whose server was killed, goes on
    from there when it is started again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._status: dict[str, StudyStatus] = {}
        self._thread: threading.Thread | None = None
        self._cancel = threading.Event()
        self._lock = threading.Lock()

    def key(self, problems: Sequence[str], plan: StudyPlan) -> str:
        """The name of a study in the folder."""
        decides = json.dumps([list(problems), asdict(plan)], sort_keys=True)
        return hashlib.sha256(decides.encode()).hexdigest()[:12]

    def start(self, problems: Sequence[str], plan: StudyPlan) -> str:
        """Begin a study and return its key.

        Raises
        ------
        RunError
            When another one is being made.
        """
        key = self.key(problems, plan)
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                raise RunError("A study is being made already; wait for it, or cancel it.")
            self._cancel.clear()
            self._status[key] = StudyStatus("running", stage="Starting")
            self._thread = threading.Thread(
                target=self._make, args=(key, list(problems), plan), daemon=True
            )
            self._thread.start()
        return key

    def cancel(self) -> None:
        """Stop after the cell that is being measured."""
        self._cancel.set()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until no study is being made."""
        if self._thread is not None:
            self._thread.join(timeout)

    def status(self, key: str) -> StudyStatus:
        """How far the study with this key is."""
        if key in self._status:
            return self._status[key]
        return StudyStatus("complete", 1.0) if self._path(key).is_file() else StudyStatus()

    def result(self, key: str) -> StudyResult:
        """A complete study.

        Raises
        ------
        StoreError
            When it is not there.
        """
        return StudyResult.load(self._path(key))

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.json"

    def _make(self, key: str, problems: list[str], plan: StudyPlan) -> None:
        began = time.perf_counter()

        def report(progress: StudyProgress) -> None:
            part = progress.done / progress.total
            seconds = time.perf_counter() - began
            remaining = seconds * (1 - part) / part if part else None
            self._status[key] = StudyStatus("running", part, progress.stage, remaining)

        try:
            found = coverage_study(
                problems, plan, folder=self.folder / "cells", on_progress=report,
                cancel=self._cancel.is_set,
            )  # fmt: skip
            self.folder.mkdir(parents=True, exist_ok=True)
            aside = self._path(key).with_suffix(".part")
            found.save(aside)
            aside.replace(self._path(key))
            self._status[key] = StudyStatus("complete", 1.0)
        except Cancelled:
            self._status[key] = replace(self._status[key], status="cancelled", remaining=None)
        except BNMFError as error:
            self._status[key] = StudyStatus("failed", message=str(error))
        except Exception:
            log.exception("study %s failed", key)
            self._status[key] = StudyStatus(
                "failed", message="The study stopped for a reason that is not known; its measured "
                "cells are kept, and it can be started again."
            )  # fmt: skip
