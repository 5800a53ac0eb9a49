"""Runs and their analyses in background threads: queued, watched, cancelled, resumed.

The threads never touch the user interface. What they do is written in the store; a page polls it.
"""

import sqlite3
import threading
import time
from collections.abc import Hashable, Sequence
from concurrent.futures import Executor
from contextlib import suppress

from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.jobs import Analyses
from bnmf_core.analysis.stages import STAGES, missing
from bnmf_core.core import events
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import BNMFError, NotFoundError, RunError
from bnmf_core.core.spec import RunSpec
from bnmf_core.jobs.job import JobStatus
from bnmf_core.jobs.scheduler import Scheduler
from bnmf_core.runs.executors import Executors
from bnmf_core.runs.job import RunJob
from bnmf_core.runs.memory import check_memory, disk_needed
from bnmf_core.runs.pilots import Pilots
from bnmf_core.runs.planning import check
from bnmf_core.store import files
from bnmf_core.store.life import Claim
from bnmf_core.store.run_store import RunStore

# How often the claims on runs are renewed, and wishes of other processes heard; far below LEASE.
BEAT_EVERY = 1.0
CLOSED_EARLY = "The program stopped before this began."


class JobRunner:
    """Works through runs and analyses of one store.

    Parameters
    ----------
    store : where runs are entered and results are written.
    scheduler, executors : which job starts next, and where steps are made, shared with runners of
        other stores; its own if left out.
    owner : for whom jobs are made; this runner if left out.
    analyses : where comparisons are computed, of a store that holds all of this one's runs; its
        own if left out.

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
        self,
        store: RunStore,
        scheduler: Scheduler | None = None,
        executors: Executors | None = None,
        owner: Hashable = None,
        analyses: Analyses | None = None,
    ) -> None:
        self.store = store
        self.scheduler = scheduler or Scheduler()
        self.owner: Hashable = self if owner is None else owner
        self._own_scheduler = scheduler is None
        self._own_executors = executors is None
        self._executors = executors or Executors()
        self._life = store.life
        self._own_analyses = analyses is None
        self.analyses = analyses or Analyses(store, self.scheduler, self.owner, self.cluster_of)
        self.pilots = Pilots(store, self.scheduler, self.owner)
        self._jobs: set[RunJob] = set()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        # What a program that was killed has left half written is of no use to anybody.
        work = [self._beat, lambda: files.sweep(store.root)]
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
        for job in self._held():  # no need to wait for the next beat
            if job.claim.run_id == run_id:
                job.cancel.set()

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

        ``first`` is the stage that is needed before the others; see :class:`Analyses`.
        """
        for run_id in () if self._own_analyses else run_ids:
            self.store.run(run_id)  # the host knows more runs than may be seen here
        found = self.analyses.open(run_ids)
        self.analyses.ask(found, first, watched)
        return found

    def analyse_again(self, found: Comparison) -> None:
        """Forget that an analysis failed; the next call of :meth:`analyse` tries it again."""
        self.analyses.again(found)

    def analysis_status(self, found: Comparison) -> JobStatus:
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
            if not status.active:
                break
            if time.monotonic() > end:
                raise RunError(f"The analysis was not finished after {timeout:g} seconds.")
            self.analyses.ask(found, next(key for key in wanted if key in lacking))
            time.sleep(0.05)
        return found

    def close(self) -> None:
        """Stop everything after the current steps; unfinished runs can be resumed."""
        self._closing.set()
        for job in self._held():
            # Those that have begun tell it themselves, with what they have saved.
            self._life.withdraw(job.claim, CLOSED_EARLY)
            job.closing = True
            job.cancel.set()
        self.scheduler.leave(self.owner, timeout=10)
        for thread in self._threads:
            thread.join(timeout=10)
        if self._own_scheduler:
            self.scheduler.close()
        if self._own_executors:
            self._executors.close()

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
        self.store.check_room(sum(disk_needed(data, spec) for spec in specs))
        longest = self.scheduler.limits.runs_waiting
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
        job = RunJob(self.store, claim, self._executors, scheduler, self.owner, self._ended)
        with self._lock:
            self._jobs.add(job)
        self.scheduler.submit(job, self.owner)

    def _held(self) -> list[RunJob]:
        with self._lock:
            return list(self._jobs)

    # In the background threads

    def _beat(self) -> None:
        """Renew the claims on all runs that wait or run here, and hear what others wish."""
        while not self._closing.wait(BEAT_EVERY):
            for job in self._held():
                # A disk that is full, or an index that others hold, may be free the next time; a
                # run that has just been deleted is found lost then.
                with suppress(sqlite3.Error, OSError, BNMFError):
                    if job.beat():
                        self._forget(job)

    def _forget(self, job: RunJob) -> None:
        with self._lock:
            self._jobs.discard(job)

    def _ended(self, job: RunJob) -> None:
        """Renew a claim no longer; one whose end has yet to be written stays until it is."""
        if job.end is None:
            self._forget(job)
        if not self._closing.is_set():
            self._analyse_launch(job.claim.run_id)

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
