"""Runs and their analyses in background threads: queued, watched, cancelled, resumed.

The threads never touch the user interface. They write to the store, and pages poll it.
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

# Seconds between renewals of claims and checks for cancellation; far below LEASE.
BEAT_EVERY = 1.0
CLOSED_EARLY = "The program stopped before this began."


class JobRunner:
    """Makes the runs and analyses of one store.

    Parameters
    ----------
    store : of the runs and their results.
    scheduler, executors : may be shared with runners of other stores; by default its own.
    owner : of the jobs; by default this runner.
    analyses : computes comparisons, of a store with all runs of this one; by default its own.

    Attributes
    ----------
    analyses : computes comparisons.
    pilots : short measurements of future runs, for :func:`estimate`.

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
        # Remove temporary files of killed programs.
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
        """Queue runs on one dataset (or its id) as one launch; return their ids.

        ``launch_name``, ``names`` : of the launch and of its runs. ``scheduler`` : address of a
        dask scheduler whose workers make the steps, "" for this machine; it changes no result.

        Raises
        ------
        SchedulerError
            When the scheduler cannot be reached; no run is queued.
        BNMFError
            When a spec does not fit; no run is queued.
        """
        try:
            return self._start(dataset, specs, names, scheduler, launch_name)
        except BNMFError as error:
            events.tell("refused", what="runs", count=len(specs), why=type(error).__name__)
            raise

    def cancel(self, run_id: str) -> None:
        """Stop a run after its current step; finished factorizations remain."""
        self._life.cancel(run_id)
        for job in self._held():  # no need to wait for the next beat
            if job.claim.run_id == run_id:
                job.cancel.set()

    def resume(self, run_id: str, scheduler: str = "") -> None:
        """Resume a run that was cancelled, interrupted or failed, on any scheduler.

        Raises
        ------
        SchedulerError
            When the scheduler cannot be reached.
        RunError
            When the run cannot be resumed.
        """
        self._executors.get(scheduler)
        self._enqueue(self._life.resume(run_id, scheduler), scheduler)

    def analyse(
        self, run_ids: Sequence[str], first: str | None = None, watched: bool = True
    ) -> Comparison:
        """The comparison of these runs; missing stages are computed in the background.

        ``first`` : the stage to compute first; see :class:`Analyses`.
        """
        for run_id in () if self._own_analyses else run_ids:
            self.store.run(run_id)  # raises for runs that are not visible in this store
        found = self.analyses.open(run_ids)
        self.analyses.ask(found, first, watched)
        return found

    def analyse_again(self, found: Comparison) -> None:
        """Forget that an analysis failed, so that :meth:`analyse` tries it again."""
        self.analyses.again(found)

    def analysis_status(self, found: Comparison) -> JobStatus:
        """Progress of the analysis."""
        return self.analyses.status(found)

    def cluster_of(self, run_ids: Sequence[str]) -> Executor | None:
        """The executor of the scheduler of the newest of these runs; None for this machine.

        Raises
        ------
        SchedulerError
            When it does not answer or is no longer allowed.
        """
        address = next((run.scheduler for run in self.store.runs() if run.id in run_ids), "")
        return self._executors.get(address) if address else None

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
        """Block until the runs and these stages of their analysis are done; for scripts and tests.

        ``stages`` : keys, computed first; by default all.
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
            # Running jobs write their own status.
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
        """Renew the claims on all active runs of this process and check for cancellation."""
        while not self._closing.wait(BEAT_EVERY):
            for job in self._held():
                # A full disk or a locked index may be free next time; a run that has just been
                # deleted is then found lost.
                with suppress(sqlite3.Error, OSError, BNMFError):
                    if job.beat():
                        self._forget(job)

    def _forget(self, job: RunJob) -> None:
        with self._lock:
            self._jobs.discard(job)

    def _ended(self, job: RunJob) -> None:
        """Drop an ended job, unless its status has yet to be written."""
        if job.end is None:
            self._forget(job)
        if not self._closing.is_set():
            self._analyse_launch(job.claim.run_id)

    def _analyse_launch(self, run_id: str) -> None:
        # Analyse the runs of a launch together, once all have ended.
        try:
            launch = self.store.run(run_id).launch
        except NotFoundError:  # it has been deleted
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
