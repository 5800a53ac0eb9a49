"""Comparisons as jobs of the scheduler, stage by stage, the one that a page needs first.

A page that shows a comparison requests it repeatedly (:meth:`Analyses.ask`). While other runs of
the same launch are being made, a comparison of the finished ones is passing: only its requested
stages are computed.

Owners of public data (samples, generated ones) who make the same runs share one result. Results on
private data are always computed: an immediate result would reveal that somebody else has the data.
"""

import threading
import traceback
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial

from bnmf_core.analysis import stages
from bnmf_core.analysis.comparison import Comparison, open_comparison
from bnmf_core.analysis.stage import Cluster, Stage, Stopped
from bnmf_core.core import events
from bnmf_core.core.errors import BNMFError
from bnmf_core.data.samples import is_public
from bnmf_core.jobs.job import WAITING, JobStatus, Report, now_and_then
from bnmf_core.jobs.scheduler import Scheduler
from bnmf_core.numerics.memory import let_go
from bnmf_core.store.run_store import RunStore

# Number of comparisons whose tables of members are cached.
MOST_OPEN = 8
# Stages up to this weight take seconds and do not wait for long ones.
SHORT = 2.0
# Maximum number of remembered results for sharing, the newest.
MOST_RESULTS = 10_000


class ComparisonJob:
    """The missing stages of one comparison; each call of :meth:`make` computes one.

    Parameters
    ----------
    analyses : where comparisons are opened. comparison : which. cluster : where it is computed.
    """

    def __init__(self, analyses: "Analyses", comparison: Comparison, cluster: Cluster) -> None:
        self.key, self.lane = comparison.key, "short stage"
        self.run_ids = tuple(comparison.run_ids)  # the comparison itself holds much memory
        self._analyses, self._cluster = analyses, cluster
        self._wanted: dict[str, None] = {}
        self._passing, self._total = False, 0.0
        self._content: str | None = None
        self.twin: Hashable | None = None

    def want(self, comparison: Comparison, first: str | None, passing: bool) -> None:
        """Say which stage is needed before the others.

        ``passing`` : other runs of its launch are being made, and will be compared with these.
        """
        if first is not None:
            self._wanted = {first: None} | {k: None for k in self._wanted if k != first}
        self._passing = passing
        self._choose_lane(comparison)

    def make(self, report: Report, stopped: Stopped) -> bool:
        """Compute the next stage; whether there is another one after it."""
        try:
            return self._make_next(report, stopped)
        except BNMFError:  # a sentence, which the page shows
            raise
        except Exception as error:
            events.tell("analysis failed", analysis=self.key, why=type(error).__name__)
            with suppress(OSError):
                folder = self._analyses.store.root / "analyses" / self.key
                folder.mkdir(parents=True, exist_ok=True)
                words = "".join(traceback.format_exception(error))
                (folder / "error.txt").write_text(words)
            raise

    def _make_next(self, report: Report, stopped: Stopped) -> bool:
        comparison = self._analyses.open(self.run_ids)
        try:
            if self._content is None:  # takes too long for a page
                self._content = comparison.content if self._analyses.shares(comparison) else ""
            elif missing := self._missing(comparison):
                self._compute(comparison, missing[0], report, stopped)
        finally:
            missing = self._choose_lane(comparison)  # another stage may be wanted by now
            for particles in comparison.particles:
                let_go(particles.arrays.values())
        return bool(missing)

    def _compute(
        self, comparison: Comparison, stage: Stage[object], report: Report, stopped: Stopped
    ) -> None:
        left = sum(one.weight for one in stages.missing(comparison))
        self._total = max(self._total, left)

        def tell(part: float) -> None:
            whole = (self._total - left + part * stage.weight) / self._total
            report(part, stage.label, whole, self._cluster.failure)

        def gives_way() -> bool:
            if stopped():
                return True
            missing = self._missing(comparison)
            return not missing or missing[0].key != stage.key

        results, twin = self._analyses.results, self._twin_of(comparison, stage)
        known = results.get(twin)
        if known is None or known == stage.folder(comparison) or not stage.adopt(comparison, known):
            stages.make(comparison, stage, tell, now_and_then(gives_way), self._cluster)
            if twin is not None:
                results[twin] = stage.folder(comparison)
                if len(results) > MOST_RESULTS:
                    results.pop(next(iter(results)), None)

    def _missing(self, comparison: Comparison) -> list[Stage[object]]:
        """The stages to compute, the most recently requested first."""
        others = [] if self._passing else list(stages.STAGES)
        return stages.missing(comparison, [*self._wanted, *others])

    def _choose_lane(self, comparison: Comparison) -> list[Stage[object]]:
        missing = self._missing(comparison)
        self.lane = "long stage" if missing and missing[0].weight > SHORT else "short stage"
        self.twin = self._twin_of(comparison, missing[0]) if missing else None
        return missing

    def _twin_of(self, comparison: Comparison, stage: Stage[object]) -> Hashable | None:
        shared = self._content and not stage.names_runs
        return (self._content, stage.name(comparison.metrics)) if shared else None


class Analyses:
    """Computes what is missing of the comparisons of one store.

    Parameters
    ----------
    store : where runs are read and results are written.
    scheduler, owner : what makes the jobs, and for whom.
    cluster : the executor of the cluster where runs of these ids were made, None for this machine;
        raises SchedulerError where it does not answer.

    Attributes
    ----------
    results : where results lie that this program has computed of public data, of all owners.
    """

    def __init__(
        self,
        store: RunStore,
        scheduler: Scheduler,
        owner: Hashable,
        cluster: Callable[[Sequence[str]], Executor | None] = lambda run_ids: None,
    ) -> None:
        self.store = store
        self._scheduler, self._owner, self._cluster = scheduler, owner, cluster
        self.results = scheduler.results
        self._opened: dict[str, Comparison] = {}
        self._lock = threading.Lock()

    def open(self, run_ids: Sequence[str]) -> Comparison:
        """The comparison of these runs; one that was opened lately has its members at hand.

        Raises
        ------
        RunError, NotFoundError, StoreError
            When the runs do not belong together or have made nothing yet.
        """
        found = open_comparison(self.store, run_ids)
        with self._lock:
            known = self._opened.pop(found.key, found)
            # A run that was resumed or renamed since may have as many particles as then.
            found = known if known.runs == found.runs else found
            self._opened[found.key] = found  # the newest is last
            while len(self._opened) > MOST_OPEN:
                self._opened.pop(next(iter(self._opened)))
        return found

    def shares(self, comparison: Comparison) -> bool:
        """Whether results are taken over from other owners, and by them."""
        return self._scheduler.limits.share_results or is_public(comparison.dataset)

    def ask(self, comparison: Comparison, first: str | None = None, watched: bool = True) -> None:
        """Compute a comparison, or go on doing so; one that has failed is not tried again.

        Parameters
        ----------
        first : the stage that is needed before the others. watched : whether somebody looks at it.
        """
        known = self._scheduler.known(comparison.key, self._owner)
        if stages.complete(comparison) or (known is not None and known.status == "failed"):
            return
        job = self._scheduler.find(comparison.key, self._owner)
        if not isinstance(job, ComparisonJob):
            cluster = Cluster(partial(self._cluster, comparison.run_ids))
            job = ComparisonJob(self, comparison, cluster)
        launches = {run.launch for run in comparison.runs}
        passing = any(run.active and run.launch in launches for run in self.store.runs())
        job.want(comparison, first, passing)
        self._scheduler.submit(job, self._owner, watched)

    def again(self, comparison: Comparison) -> None:
        """Forget that an analysis failed; the next question tries it again."""
        self._scheduler.forget(comparison.key, self._owner)

    def status(self, comparison: Comparison) -> JobStatus:
        """Progress of the analysis."""
        if stages.complete(comparison):
            return JobStatus("complete", 1.0)
        found = self._scheduler.known(comparison.key, self._owner)
        return JobStatus("waiting", stage=WAITING) if found is None else found
