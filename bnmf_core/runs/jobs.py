"""Runs and analyses in background threads: queued, watched, cancelled, resumed.

The threads never touch the user interface. What they do is told in the store (runs) and in a
small table of analysis progress; a page polls both.
"""

import logging
import queue
import threading
import time
import traceback
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from bnmf_core.analysis import comparison as analysis
from bnmf_core.nouns.dataset import Dataset
from bnmf_core.nouns.errors import BNMFError, RunError, SchedulerError
from bnmf_core.nouns.spec import Progress, RunSpec
from bnmf_core.runs.engine import Outcome, drive
from bnmf_core.runs.executors import Executors
from bnmf_core.runs.memory import check_memory
from bnmf_core.runs.planning import check, describe, make_plan
from bnmf_core.store import folders
from bnmf_core.store.chunks import assemble
from bnmf_core.store.run_store import RunStore, this_process

log = logging.getLogger(__name__)

RUNS_AT_ONCE = 3
LONGEST_QUEUE = 50
ANALYSES_OPEN = 16
SAVE_PROGRESS_EVERY = 0.3


@dataclass(frozen=True)
class AnalysisStatus:
    """How far an analysis is: status running, complete or failed; fraction 0 to 1.

    ``remaining`` is in seconds, None while it is unknown.
    """

    status: str
    fraction: float
    stage: str
    message: str = ""
    remaining: float | None = None


@dataclass(eq=False)
class Ticket:
    """A run's place in the queue; a resumed run gets a new one. Guarded by the runner's lock."""

    run_id: str
    scheduler: str = ""
    cancel: threading.Event = field(default_factory=threading.Event)
    begun: bool = False


@dataclass(frozen=True)
class Stop:
    """Whether a run shall stop: this process said so, or another one by a file."""

    event: threading.Event
    file: Path

    def is_set(self) -> bool:
        """Asked by the loop between steps."""
        return self.event.is_set() or self.file.exists()


class JobRunner:
    """Works through runs and analyses of one store.

    Parameters
    ----------
    store : where runs are entered and results are written.
    schedulers : the addresses of dask schedulers that may be used, asked for each time; None
        for any. A server that others use names them, as what answers there is trusted.
    """

    def __init__(
        self, store: RunStore, schedulers: Callable[[], Collection[str]] | None = None
    ) -> None:
        self.store = store
        self._executors = Executors(allowed=schedulers)
        self._tickets: dict[str, Ticket] = {}
        self._analyses: dict[str, AnalysisStatus] = {}
        self._opened: dict[str, analysis.Analysis] = {}
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._run_queue: queue.SimpleQueue = queue.SimpleQueue()
        self._analysis_queue: queue.SimpleQueue = queue.SimpleQueue()
        work = [(self._run_queue, self._run)] * RUNS_AT_ONCE + [
            (self._analysis_queue, self._analyse)
        ]
        self._threads = [
            threading.Thread(target=self._serve, args=arguments, daemon=True) for arguments in work
        ]
        for thread in self._threads:
            thread.start()
        store.mark_interrupted()

    def start(
        self,
        dataset: Dataset | str,
        specs: Sequence[RunSpec],
        names: Sequence[str] = (),
        scheduler: str = "",
    ) -> list[str]:
        """Queue runs side by side on one dataset (itself or its id); returns their ids.

        ``scheduler`` is the address of a dask scheduler whose workers make the steps, "" for
        this machine; it changes no result.

        Raises
        ------
        SchedulerError
            When the scheduler cannot be reached; then none is queued.
        BNMFError
            When a spec does not fit; then none is queued.
        """
        dataset_id = dataset if isinstance(dataset, str) else self.store.add_dataset(dataset)
        data = self.store.dataset(dataset_id)
        for spec in specs:
            check(data, spec)
            check_memory(data, spec)
        self._executors.get(scheduler)
        if sum(run.active for run in self.store.runs()) + len(specs) > LONGEST_QUEUE:
            raise RunError(
                f"{LONGEST_QUEUE} runs are already waiting; let some finish or cancel them first."
            )
        run_ids: list[str] = []
        for i, spec in enumerate(specs):
            name = names[i] if i < len(names) else ""
            study = run_ids[0] if run_ids else None
            run_ids.append(self.store.create_run(dataset_id, spec, name, study))
        for run_id in run_ids:
            self._enqueue(run_id, scheduler)
        return run_ids

    def cancel(self, run_id: str) -> None:
        """Ask a run to stop after its current step; what it has made is kept."""
        record = self.store.run(run_id)
        with self._lock:
            ticket = self._tickets.get(run_id)
            if ticket is None:
                if record.active:  # another process makes it
                    folder = self.store.run_folder(run_id)
                    folder.mkdir(parents=True, exist_ok=True)
                    (folder / folders.CANCEL).touch()
                return
            ticket.cancel.set()
            if not ticket.begun:
                message = "Cancelled before it began."
                self.store.update(run_id, status="cancelled", message=message)

    def resume(self, run_id: str, scheduler: str = "") -> None:
        """Go on with a run that was cancelled, interrupted or failed, wherever it was begun.

        Raises
        ------
        SchedulerError
            When the scheduler cannot be reached.
        RunError
            When there is nothing to go on with.
        """
        record = self.store.run(run_id)
        if record.active or record.status == "complete":
            raise RunError(f"Run {run_id} is {record.status}; there is nothing to resume.")
        self._executors.get(scheduler)
        (self.store.run_folder(run_id) / folders.CANCEL).unlink(missing_ok=True)
        self.store.update(
            run_id, status="queued", message="", process=this_process(), heartbeat=time.time()
        )
        self._enqueue(run_id, scheduler)

    def analyse(self, run_ids: Sequence[str]) -> analysis.Analysis:
        """The analysis of these runs; what is missing of it is computed in the background."""
        found = analysis.open_analysis(self.store, run_ids)
        with self._lock:  # an opened one has its table of members at hand
            found = self._opened.setdefault(found.key, found)
            while len(self._opened) > ANALYSES_OPEN:
                self._opened.pop(next(iter(self._opened)))
        if not found.complete:
            with self._lock:
                known = self._analyses.get(found.key)
                if known is None or known.status == "complete":
                    self._analyses[found.key] = AnalysisStatus("running", 0.0, "Waiting to start")
                    self._analysis_queue.put(found)
        return found

    def analyse_again(self, found: analysis.Analysis) -> None:
        """Forget that an analysis failed; the next call of :meth:`analyse` tries it again."""
        with self._lock:
            self._analyses.pop(found.key, None)

    def analysis_status(self, found: analysis.Analysis) -> AnalysisStatus:
        """How far the analysis is."""
        if found.complete:
            return AnalysisStatus("complete", 1.0, "Done")
        with self._lock:
            return self._analyses.get(found.key, AnalysisStatus("running", 0.0, "Waiting to start"))

    def wait(self, run_ids: Sequence[str], timeout: float = 60.0) -> None:
        """Block until none of the runs is active; for scripts and tests."""
        end = time.monotonic() + timeout
        while any(self.store.run(run_id).active for run_id in run_ids):
            if time.monotonic() > end:
                raise RunError(f"The runs were not finished after {timeout:g} seconds.")
            time.sleep(0.02)

    def wait_analysis(self, run_ids: Sequence[str], timeout: float = 120.0) -> analysis.Analysis:
        """Block until the runs and their analysis are done; for scripts and tests."""
        self.wait(run_ids, timeout)
        end = time.monotonic() + timeout
        found = self.analyse(run_ids)
        while (status := self.analysis_status(found)).status == "running":
            if time.monotonic() > end:
                raise RunError(f"The analysis was not finished after {timeout:g} seconds.")
            time.sleep(0.02)
        if status.status == "failed":
            raise RunError(status.message)
        return found

    def close(self) -> None:
        """Stop everything after the current steps; unfinished runs can be resumed."""
        self._closing.set()
        with self._lock:
            left = list(self._tickets.values())
            for ticket in left:
                if not ticket.begun and not ticket.cancel.is_set():
                    message = "The program stopped before this began."
                    self.store.update(ticket.run_id, status="interrupted", message=message)
                ticket.cancel.set()
        for _ in range(RUNS_AT_ONCE):
            self._run_queue.put(None)
        self._analysis_queue.put(None)
        for thread in self._threads:
            thread.join(timeout=10)
        self._executors.close()

    # In the background threads

    def _enqueue(self, run_id: str, scheduler: str) -> None:
        ticket = Ticket(run_id, scheduler)
        with self._lock:
            self._tickets[run_id] = ticket
        self._run_queue.put(ticket)

    def _serve(self, work: queue.SimpleQueue, act: Callable) -> None:
        while (item := work.get()) is not None and not self._closing.is_set():
            try:
                act(item)
            except Exception:  # the thread must live on to serve the others
                log.exception("unforeseen error in the background")

    def _run(self, ticket: Ticket) -> None:
        with self._lock:
            ticket.begun = not ticket.cancel.is_set()
        try:
            if ticket.begun:
                self._make(ticket)
        finally:
            with self._lock:
                if self._tickets.get(ticket.run_id) is ticket:
                    del self._tickets[ticket.run_id]
        self._analyse_study(ticket.run_id)

    def _make(self, ticket: Ticket) -> None:
        run_id = ticket.run_id
        folder = self.store.run_folder(run_id)
        try:
            outcome = self._drive(ticket)
            status, message = outcome.stop_reason, outcome.message
            if self._closing.is_set() and status != "complete":
                status, message = "interrupted", "The program stopped; what was saved is kept."
            self.store.update(run_id, status=status, message=message, remaining=None)
        except BNMFError as error:
            lost = isinstance(error, SchedulerError)
            status = "interrupted" if lost else "failed"
            self.store.update(run_id, status=status, message=str(error), remaining=None)
        except MemoryError:
            message = "There was not enough memory; ask for a lower rank or fewer factorizations."
            self.store.update(run_id, status="failed", message=message, remaining=None)
        except Exception as error:
            _write_traceback(folder)
            log.exception("run %s failed", run_id)
            message = f"Something unforeseen went wrong ({type(error).__name__}: {error})."
            self.store.update(run_id, status="failed", message=message, remaining=None)
        finally:
            (folder / folders.CANCEL).unlink(missing_ok=True)

    def _drive(self, ticket: Ticket) -> Outcome:
        run_id = ticket.run_id
        record = self.store.run(run_id)
        folder = self.store.run_folder(run_id)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / folders.COMPLETE).unlink(missing_ok=True)
        self.store.update(
            run_id, status="running", message="Preparing", heartbeat=time.time(),
            process=this_process(),
        )  # fmt: skip
        plan = make_plan(self.store.dataset(record.dataset), record.spec)
        sink = folders.FolderSink(folder)
        info, starts = describe(plan), [shard.start for shard in plan.shards]
        sink.write_plan(info, starts)
        saved, counted = 0.0, -1

        def report(progress: Progress) -> None:
            nonlocal saved, counted
            now = time.monotonic()
            if now - saved >= SAVE_PROGRESS_EVERY or progress.done != counted:
                saved, counted = now, progress.done
                self.store.update(
                    run_id, message=progress.stage, done=progress.done, seconds=progress.seconds,
                    fraction=progress.fraction, remaining=progress.remaining,
                    heartbeat=time.time(),
                )  # fmt: skip

        stop = Stop(ticket.cancel, folder / folders.CANCEL)
        executor = self._executors.get(ticket.scheduler)
        outcome = drive(plan, sink, executor, report, stop, record.seconds)
        chunks = sink.chunks()
        if any(chunk.size for chunk in chunks):
            particles = assemble(chunks, starts, record.spec, info | outcome.to_dict())
            final = outcome.stop_reason == "complete"
            folders.write_particles(folder, particles, final)
            self.store.update(run_id, done=particles.M, seconds=outcome.seconds)
            if final:  # the last report may have been too soon after the one before to be kept
                self.store.update(run_id, fraction=1.0)
        return outcome

    def _analyse_study(self, run_id: str) -> None:
        # The runs that were started side by side are looked at together, once all have ended.
        study = self.store.run(run_id).study
        runs = [run for run in reversed(self.store.runs()) if run.study == study]
        usable = [
            run.id for run in runs if run.done > 0 and run.status in ("complete", "cancelled")
        ]
        if usable and not any(run.active for run in runs):
            try:
                self.analyse(usable)
            except BNMFError:
                for one in usable:
                    with suppress(BNMFError):
                        self.analyse([one])

    def _analyse(self, found: analysis.Analysis) -> None:
        began = time.monotonic()

        def report(fraction: float, stage: str) -> None:
            elapsed = time.monotonic() - began
            left = elapsed * (1 - fraction) / fraction if fraction > 0 else None
            with self._lock:
                self._analyses[found.key] = AnalysisStatus("running", fraction, stage, "", left)

        try:
            analysis.compute(found, report, self._closing.is_set)
            status = AnalysisStatus("complete", 1.0, "Done")
        except Exception as error:
            _write_traceback(found.folder)
            log.exception("analysis %s failed", found.key)
            words = (
                str(error) if isinstance(error, BNMFError) else f"{type(error).__name__}: {error}"
            )
            status = AnalysisStatus("failed", 1.0, "Failed", words)
        with self._lock:
            self._analyses[found.key] = status


def _write_traceback(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "error.txt").write_text(traceback.format_exc())
