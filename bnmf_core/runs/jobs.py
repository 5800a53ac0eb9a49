"""Runs in background threads: queued, watched, cancelled, resumed; their analyses beside them.

The threads never touch the user interface. What they do is told in the store; a page polls it.
"""

import logging
import sqlite3
import threading
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.queue import AnalysisQueue, AnalysisStatus
from bnmf_core.analysis.stages import STAGES, missing
from bnmf_core.core import events
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import BNMFError, NotFoundError, RunError, SchedulerError, StoreError
from bnmf_core.core.spec import Progress, RunSpec
from bnmf_core.numerics.memory import give_back
from bnmf_core.runs.engine import Outcome, drive
from bnmf_core.runs.hall import Hall
from bnmf_core.runs.memory import check_memory, memory_needed
from bnmf_core.runs.pilots import Pilots
from bnmf_core.runs.planning import as_begun, check, describe, make_plan
from bnmf_core.runs.turns import FIRST
from bnmf_core.store import files, folders
from bnmf_core.store.chunks import assemble
from bnmf_core.store.life import CANCEL, Claim
from bnmf_core.store.run_store import RunStore

log = logging.getLogger(__name__)

SAVE_PROGRESS_EVERY = 0.3
# How often the claims on runs are renewed, and wishes of other processes heard; far below LEASE.
BEAT_EVERY = 1.0
CLOSED_EARLY = "The program stopped before this began."
CLOSED = "The program stopped; what was saved is kept."


@dataclass(eq=False)
class Ticket:
    """A run's place in the queue; a resumed run gets a new one.

    ``end`` is how the run has ended (status and message) when the store could not be told yet.
    """

    claim: Claim
    scheduler: str = ""
    cancel: threading.Event = field(default_factory=threading.Event)
    lost: bool = False
    end: tuple[str, str] | None = None


class JobRunner:
    """Works through runs and analyses of one store.

    Parameters
    ----------
    store : where runs are entered and results are written.
    hall : what it shares with runners of other stores; one of its own if left out.
    analyses : where comparisons are computed, of a store that holds all of this one's runs; a
        queue of its own if left out.

    Attributes
    ----------
    analyses : where comparisons are computed.
    pilots : short tries of runs that have not been started, for :func:`estimate`.

    Examples
    --------
    >>> import tempfile
    >>> from bnmf_core import JobRunner, RunSpec, RunStore, laurberg
    >>> runner = JobRunner(RunStore(tempfile.mkdtemp()))
    >>> run_ids = runner.start(laurberg("two"), [RunSpec("random_restarts", rank=3, particles=5)])
    >>> runner.wait(run_ids)
    >>> runner.store.run(run_ids[0]).status
    'complete'
    >>> runner.close()
    """

    def __init__(
        self, store: RunStore, hall: Hall | None = None, analyses: AnalysisQueue | None = None
    ) -> None:
        self.store = store
        self._life = store.life
        self._hall = hall or Hall()
        self._own_hall = hall is None
        self._executors = self._hall.executors
        self.analyses = analyses or AnalysisQueue(
            store, turn=self._hall.analysis, cluster=self.cluster_of
        )
        self._own_analyses = analyses is None
        self.pilots = Pilots(store)
        self._tickets: dict[Claim, Ticket] = {}
        self._lock = threading.Lock()
        self._closing = threading.Event()
        work = [self._beat, self._sweep]
        self._threads = [threading.Thread(target=act, daemon=True) for act in work]
        for thread in self._threads:
            thread.start()

    def start(
        self,
        dataset: Dataset | str,
        specs: Sequence[RunSpec],
        names: Sequence[str] = (),
        scheduler: str = "",
        launch_name: str = "",
    ) -> list[str]:
        """Queue runs side by side on one dataset (itself or its id); returns their ids.

        They are one launch, called ``launch_name``; ``names`` are those of the runs.
        ``scheduler`` is the address of a dask scheduler whose workers make the steps, "" for
        this machine; it changes no result.

        Raises
        ------
        SchedulerError
            When the scheduler cannot be reached; then none is queued.
        BNMFError
            When a spec does not fit; then none is queued.
        """
        try:
            return self._start(dataset, specs, names, scheduler, launch_name)
        except BNMFError as error:
            events.tell("refused", what="runs", count=len(specs), why=type(error).__name__)
            raise

    def cancel(self, run_id: str) -> None:
        """Ask a run to stop after its current step; what it has made is kept."""
        self._life.cancel(run_id)
        for ticket in self._held():  # no need to wait for the next beat
            if ticket.claim.run_id == run_id:
                ticket.cancel.set()

    def resume(self, run_id: str, scheduler: str = "") -> None:
        """Go on with a run that was cancelled, interrupted or failed, wherever it was begun.

        Raises
        ------
        SchedulerError
            When the scheduler cannot be reached.
        RunError
            When there is nothing to go on with.
        """
        self._executors.get(scheduler)
        self._enqueue(self._life.resume(run_id, scheduler), scheduler)

    def analyse(
        self, run_ids: Sequence[str], first: str | None = None, watched: bool = True
    ) -> Comparison:
        """The comparison of these runs; what is missing of it is computed in the background.

        ``first`` is the stage that is needed before the others; see :class:`AnalysisQueue`.
        """
        for run_id in () if self._own_analyses else run_ids:
            self.store.run(run_id)  # the queue knows more runs than may be seen here
        found = self.analyses.open(run_ids)
        self.analyses.ask(found, first, watched)
        return found

    def analyse_again(self, found: Comparison) -> None:
        """Forget that an analysis failed; the next call of :meth:`analyse` tries it again."""
        self.analyses.again(found)

    def analysis_status(self, found: Comparison) -> AnalysisStatus:
        """How far the analysis is."""
        return self.analyses.status(found)

    def cluster_of(self, run_ids: Sequence[str]) -> Executor | None:
        """The executor of the scheduler that the newest of these runs was given; None: none was.

        Raises
        ------
        SchedulerError
            When it does not answer, or may no longer be used.
        """
        asked = set(run_ids)
        given = next((run.scheduler for run in self.store.runs() if run.id in asked), "")
        return self._executors.get(given) if given else None

    def wait(self, run_ids: Sequence[str], timeout: float = 60.0) -> None:
        """Block until none of the runs is active; for scripts and tests."""
        end = time.monotonic() + timeout
        while any(self.store.run(run_id).active for run_id in run_ids):
            if time.monotonic() > end:
                raise RunError(f"The runs were not finished after {timeout:g} seconds.")
            time.sleep(0.02)

    def wait_analysis(
        self, run_ids: Sequence[str], *stages: str, timeout: float = 120.0
    ) -> Comparison:
        """Block until the runs are done, and these stages of their analysis; for scripts and tests.

        ``stages`` : keys, computed before the others; none: all of them.
        """
        self.wait(run_ids, timeout)
        end = time.monotonic() + timeout
        wanted = stages or tuple(STAGES)
        found = self.analyse(run_ids, wanted[0])
        while lacking := {stage.key for stage in missing(found, wanted)}:
            status = self.analysis_status(found)
            if status.status == "failed":
                raise RunError(status.message)
            if status.status != "running":
                break
            if time.monotonic() > end:
                raise RunError(f"The analysis was not finished after {timeout:g} seconds.")
            self.analyses.ask(found, next(key for key in wanted if key in lacking))
            time.sleep(0.05)
        return found

    def close(self) -> None:
        """Stop everything after the current steps; unfinished runs can be resumed."""
        self._closing.set()
        for ticket in self._held():
            # Those that have begun tell it themselves, with what they have saved.
            self._life.withdraw(ticket.claim, CLOSED_EARLY)
            ticket.cancel.set()
        self._hall.leave(self, timeout=10)
        if self._own_analyses:
            self.analyses.close()
        self.pilots.close()
        for thread in self._threads:
            thread.join(timeout=10)
        if self._own_hall:
            self._hall.close()

    def _start(
        self,
        dataset: Dataset | str,
        specs: Sequence[RunSpec],
        names: Sequence[str],
        scheduler: str,
        launch_name: str,
    ) -> list[str]:
        dataset_id = dataset if isinstance(dataset, str) else self.store.add_dataset(dataset)
        data = self.store.dataset(dataset_id)
        for spec in specs:
            check(data, spec)
        rooms = self._executors.rooms(scheduler, data)
        for spec in specs:
            check_memory(data, spec, rooms)
        self.store.check_room(sum(memory_needed(data, spec).kept for spec in specs))
        longest = self._hall.limits.runs_waiting
        active = sum(run.active for run in self.store.runs())
        if active + len(specs) > longest:
            raise RunError(
                f"At most {longest} of your runs may run or wait at one time. {active} do, and "
                f"{len(specs)} more would be too many; let some finish, or cancel them first."
            )
        claims: list[Claim] = []
        for i, spec in enumerate(specs):
            name = names[i] if i < len(names) else ""
            launch = claims[0].run_id if claims else None
            claims.append(self._life.enter(dataset_id, spec, name, launch, launch_name, scheduler))
            events.tell(
                "queued",
                run=claims[-1].run_id,
                algorithm=spec.algorithm,
                model=spec.model,
                rank=spec.rank,
                particles=spec.particles,
                D=data.D,
                N=data.N,
            )
        for claim in claims:
            self._enqueue(claim, scheduler)
        return [claim.run_id for claim in claims]

    def _enqueue(self, claim: Claim, scheduler: str) -> None:
        ticket = Ticket(claim, scheduler)
        with self._lock:
            self._tickets[claim] = ticket
        self._hall.enter(self, partial(self._work, ticket))

    def _held(self) -> list[Ticket]:
        with self._lock:
            return list(self._tickets.values())

    # In the background threads

    def _work(self, ticket: Ticket) -> None:
        try:
            if self._life.begin(ticket.claim):
                events.tell("begun", run=ticket.claim.run_id)
                self._make(ticket)
        except (sqlite3.Error, OSError) as error:
            ticket.end = "failed", f"The run could not begin ({error}); it can be resumed."
            raise
        finally:
            self._forget(ticket)
            give_back()
        self._analyse_launch(ticket.claim.run_id)

    def _sweep(self) -> None:
        """What a program that was killed has left half written is of no use to anybody."""
        files.sweep(self.store.root)

    def _beat(self) -> None:
        """Renew the claims on all runs that wait or run here, and hear what others wish."""
        while not self._closing.wait(BEAT_EVERY):
            for ticket in self._held():
                # A disk that is full, or an index that others hold, may be free the next time; a
                # run that has just been deleted is found lost then.
                with suppress(sqlite3.Error, OSError, BNMFError):
                    self._beat_one(ticket)

    def _beat_one(self, ticket: Ticket) -> None:
        if ticket.end is not None:
            self._life.end(ticket.claim, *ticket.end)
            ticket.end = None
            self._forget(ticket)
            return
        sign = self._life.beat(ticket.claim)
        ticket.lost = ticket.lost or sign == "lost"
        if ticket.lost or sign == CANCEL:
            ticket.cancel.set()

    def _forget(self, ticket: Ticket) -> None:
        """Renew a claim no longer; one whose end has yet to be told stays until it is."""
        if ticket.end is None:
            with self._lock:
                self._tickets.pop(ticket.claim, None)

    def _make(self, ticket: Ticket) -> None:
        try:
            outcome = self._drive(ticket)
            status = "complete" if outcome.whole else outcome.stop_reason
            message = outcome.message
            if self._closing.is_set() and status != "complete":
                status, message = "interrupted", CLOSED
        except BNMFError as error:
            lost = isinstance(error, SchedulerError)
            status, message = "interrupted" if lost else "failed", str(error)
        except MemoryError:
            message = "There was not enough memory; ask for a lower rank or fewer factorizations."
            status = "failed"
        except OSError as error:
            words = error.strerror or str(error)
            status, message = "failed", f"The results could not be written ({words}); free some "
            message += "space, then resume the run: what was saved is kept."
            log.exception("run %s failed", ticket.claim.run_id)
        except Exception as error:
            message = f"Something unforeseen went wrong ({type(error).__name__}: {error})."
            status = "failed"
            log.exception("run %s failed", ticket.claim.run_id)
            _write_traceback(self.store.run_folder(ticket.claim.run_id))
        self._tell(ticket, status, message)

    def _tell(self, ticket: Ticket, status: str, message: str) -> None:
        """Write how a run has ended; where that cannot be written now, the beat goes on trying."""
        events.tell("ended", run=ticket.claim.run_id, status=status)
        try:
            self._life.end(ticket.claim, status, message)
        except (sqlite3.Error, OSError):
            log.exception("the end of run %s cannot be written yet", ticket.claim.run_id)
            ticket.end = status, message

    def _drive(self, ticket: Ticket) -> Outcome:
        claim = ticket.claim
        record = self.store.run(claim.run_id)
        folder = self.store.run_folder(claim.run_id)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / folders.COMPLETE).unlink(missing_ok=True)
        dataset = self.store.dataset(record.dataset)
        self.store.verify_dataset(record.dataset)
        plan = make_plan(dataset, record.spec, self._executors.rooms(ticket.scheduler, dataset))
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
                ours = self._life.report(
                    claim,
                    message=progress.stage,
                    done=progress.done,
                    seconds=progress.seconds,
                    fraction=progress.fraction,
                    remaining=progress.remaining,
                    busy=progress.busy,
                )
                if not ours:  # somebody else has taken the run over
                    ticket.lost = True
                    ticket.cancel.set()

        # What a launch begins with is what its findings begin with.
        weight = FIRST if claim.run_id == record.launch else 1.0
        executor = self._executors.get(ticket.scheduler, weight, self)
        outcome = drive(plan, sink, executor, report, ticket.cancel, record.seconds, record.busy)
        chunks, broken = sink.read()
        if any(chunk.size for chunk in chunks) and not ticket.lost:
            particles = assemble(chunks, starts, record.spec, info | outcome.to_dict())
            final = outcome.whole and not broken
            folders.write_particles(folder, particles, final)
            # The last report may have been too soon after the one before to be kept.
            whole = {"fraction": 1.0} if final else {}
            whole |= {"seconds": outcome.seconds, "busy": record.busy + outcome.busy}
            self._life.report(claim, done=particles.M, **whole)
            outcome = replace(outcome, notes=tuple(particles.info.get("notes", ())))
        if broken:
            raise StoreError(
                "Some of what this run had saved is damaged or missing on the disk; resume it to "
                "make that again."
            )
        return outcome

    def _analyse_launch(self, run_id: str) -> None:
        # The runs that were started side by side are looked at together, once all have ended.
        try:
            launch = self.store.run(run_id).launch
        except NotFoundError:  # it was deleted as soon as it had ended
            return
        runs = [run for run in reversed(self.store.runs()) if run.launch == launch]
        usable = [
            run.id for run in runs if run.done > 0 and run.status in ("complete", "cancelled")
        ]
        if usable and not any(run.active for run in runs):
            try:
                self.analyse(usable, watched=False)
            except BNMFError:
                for one in usable:
                    with suppress(BNMFError):
                        self.analyse([one], watched=False)


def _write_traceback(folder: Path) -> None:
    with suppress(OSError):  # the reason may be that the disk is full
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "error.txt").write_text(traceback.format_exc())
