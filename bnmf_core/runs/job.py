"""A run as a job of the scheduler: it reports progress and always ends with a status."""

import logging
import sqlite3
import threading
import time
import traceback
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import replace

from bnmf_core.core import events
from bnmf_core.core.errors import BNMFError, DiskError, SchedulerError, StoreError
from bnmf_core.core.spec import Progress
from bnmf_core.jobs.job import Report, Stopped
from bnmf_core.jobs.threads import FIRST
from bnmf_core.runs.engine import Outcome, drive, steps_of
from bnmf_core.runs.executors import Executors
from bnmf_core.runs.planning import as_begun, describe, make_plan
from bnmf_core.store import folders
from bnmf_core.store.chunks import assemble
from bnmf_core.store.life import CANCEL, Claim
from bnmf_core.store.run_store import RunStore

log = logging.getLogger(__name__)

SAVE_PROGRESS_EVERY = 0.3
CLOSED = "The program stopped; what was saved is kept."


class RunJob:
    """A run that this process has claimed; a resumed run is a new job.

    Parameters
    ----------
    store : with the entry and the results of the run. claim : of the run.
    executors, address, owner : for its steps.
    ended : called with this job at its end.

    Attributes
    ----------
    cancel : set to stop the run. closing : whether the program stops.
    end : final status and message that could not be written to the store yet.
    """

    lane = "run"

    def __init__(
        self,
        store: RunStore,
        claim: Claim,
        executors: Executors,
        address: str,
        owner: Hashable,
        ended: Callable[["RunJob"], None],
    ) -> None:
        self.claim = claim
        self.cancel = threading.Event()
        self.closing = False
        self.end: tuple[str, str] | None = None
        self._store, self._executors, self._address = store, executors, address
        self._owner, self._ended, self._lost = owner, ended, False

    @property
    def key(self) -> str:
        """The token of the claim."""
        return self.claim.token

    def make(self, report: Report, stopped: Stopped) -> None:
        """Make the run; write progress and status to the store."""
        try:
            if self._store.life.begin(self.claim):
                events.tell("begun", run=self.claim.run_id)
                self._run()
        except (sqlite3.Error, OSError) as error:
            self.end = "failed", f"The run could not begin ({error}); it can be resumed."
            raise
        finally:
            self._ended(self)

    def beat(self) -> bool:
        """Renew the claim and check for cancellation; return whether this was the last time."""
        if self.end is not None:
            self._store.life.end(self.claim, *self.end)
            self.end = None
            return True
        sign = self._store.life.beat(self.claim)
        self._lost = self._lost or sign == "lost"
        if self._lost or sign == CANCEL:
            self.cancel.set()
        return False

    def _run(self) -> None:
        try:
            outcome = self._drive()
            status = "complete" if outcome.whole else outcome.stop_reason
            message = outcome.message
            if self.closing and status != "complete":
                status, message = "interrupted", CLOSED
        except BNMFError as error:
            lost = isinstance(error, SchedulerError)
            status, message = "interrupted" if lost else "failed", str(error)
            if isinstance(error, DiskError):
                message += " What was saved is kept, and the run can be resumed."
        except MemoryError:
            message = "There was not enough memory; ask for a lower rank or fewer factorizations."
            status = "failed"
        except OSError as error:
            words = error.strerror or str(error)
            status, message = "failed", f"The results could not be written ({words}); free some "
            message += "space, then resume the run: what was saved is kept."
            log.warning("run %s failed: %s", self.claim.run_id, words)
        except Exception as error:
            message = f"Something unforeseen went wrong ({type(error).__name__}: {error})."
            status = "failed"
            log.exception("run %s failed", self.claim.run_id)
            folder = self._store.run_folder(self.claim.run_id)
            with suppress(OSError):  # the reason may be that the disk is full
                folder.mkdir(parents=True, exist_ok=True)
                (folder / "error.txt").write_text(traceback.format_exc())
        # Write the final status; if that fails, ``beat`` tries again.
        events.tell("ended", run=self.claim.run_id, status=status)
        try:
            self._store.life.end(self.claim, status, message)
        except (sqlite3.Error, OSError) as error:
            log.warning("the end of run %s cannot be written yet: %s", self.claim.run_id, error)
            self.end = status, message

    def _drive(self) -> Outcome:
        claim = self.claim
        record = self._store.run(claim.run_id)
        folder = self._store.run_folder(claim.run_id)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / folders.COMPLETE).unlink(missing_ok=True)
        dataset = self._store.dataset(record.dataset)
        self._store.verify_dataset(record.dataset)
        plan = make_plan(dataset, record.spec, self._executors.rooms(self._address, dataset))
        sink = folders.FolderSink(folder)
        if begun := sink.starts():
            plan = as_begun(plan, begun)
        info, starts = describe(plan), [shard.start for shard in plan.shards]
        sink.write_plan(info, starts)
        saved, counted = 0.0, -1

        def report(progress: Progress) -> None:
            nonlocal saved, counted
            now = time.monotonic()
            if now - saved >= SAVE_PROGRESS_EVERY or progress.done != counted:
                saved, counted = now, progress.done
                ours = self._store.life.report(
                    claim,
                    message=progress.stage,
                    done=progress.done,
                    seconds=progress.seconds,
                    fraction=progress.fraction,
                    remaining=progress.remaining,
                    busy=progress.busy,
                )
                if not ours:  # another process has claimed the run
                    self._lost = True
                    self.cancel.set()

        # The first run of a launch has priority, because first findings depend on it.
        weight = FIRST if claim.run_id == record.launch else 1.0
        executor = self._executors.get(self._address, weight, self._owner)
        with steps_of(plan, executor, self.cancel, folder) as steps:
            outcome = drive(plan, sink, steps, report, self.cancel, record.seconds, record.busy)
        chunks, broken = sink.read()
        if any(chunk.size for chunk in chunks) and not self._lost:
            particles = assemble(chunks, starts, record.spec, info | outcome.to_dict())
            final = outcome.whole and not broken
            folders.write_particles(folder, particles, final)
            # The last report may have been skipped by the rate limit.
            whole = {"fraction": 1.0} if final else {}
            whole |= {"seconds": outcome.seconds, "busy": record.busy + outcome.busy}
            self._store.life.report(claim, done=particles.M, **whole)
            outcome = replace(outcome, notes=tuple(particles.info.get("notes", ())))
        if broken:
            raise StoreError(
                "Some of what this run had saved is damaged or missing on the disk; resume it to "
                "make that again."
            )
        return outcome
