"""Where an analysis is computed changes nothing of it, and losing a machine loses nothing of it."""

import time
from contextlib import closing
from functools import partial

import numpy as np
import pandas as pd
import pytest

from bnmf_core.analysis import distances, evidence, stages
from bnmf_core.analysis.ranks import RankQuestion, RankWork, read
from bnmf_core.analysis.stage import Cluster
from bnmf_core.compare.distances import DISTANCES, pairwise
from bnmf_core.compare.distances.pairwise import matched_alike, pairwise_of_several
from bnmf_core.core.errors import Cancelled, RunError, SchedulerError
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.synthetic import laurberg, low_rank
from bnmf_core.evidence.rank_study import rank_study
from bnmf_core.numerics.tasks import Tasks
from bnmf_core.runs.executors import ClusterExecutor, Executors
from bnmf_core.runs.runner import JobRunner
from bnmf_core.store.run_store import RunStore
from tests.runs.cluster import wait_until

pytestmark = pytest.mark.slow

SPEC = RunSpec("random_restarts", 3, particles=12, model_settings={"sigma": 0.05})
STUDIED = low_rank(10, 12, rank=2, noise=0.1, rng=np.random.default_rng(1))
QUESTION = RankQuestion(STUDIED.hash, (1, 2, 3), noise="free", restarts=4)


def never():
    return False


@pytest.fixture
def small_tiles(monkeypatch):
    """Many parts of little work."""
    monkeypatch.setattr(pairwise, "COSTS_PER_TILE", 400)


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """The runs of ``SPEC``, made on this machine."""
    runner = JobRunner(RunStore(tmp_path_factory.mktemp("here")))
    found = runner.wait_analysis(runner.start(laurberg("two"), [SPEC]), "distances", "evidence")
    runner.close()
    return found


@pytest.fixture(scope="module")
def studied():
    """The answer to ``QUESTION``, made on this machine."""
    ranks, rng = QUESTION.ranks, np.random.default_rng(0)
    return rank_study(STUDIED, ranks, rng=rng, noise="free", restarts=4)


def asked_of(monkeypatch):
    """The names of the functions that a cluster is asked to make."""
    asked, submit = set(), ClusterExecutor.submit

    def counted(self, function, *arguments):
        asked.add(function.__name__)
        return submit(self, function, *arguments)

    monkeypatch.setattr(ClusterExecutor, "submit", counted)
    return asked


def assert_same_analysis(found, expected):
    for metric in expected.metrics:
        np.testing.assert_array_equal(
            distances.STAGE.of(found).matrix(metric), distances.STAGE.of(expected).matrix(metric)
        )
    tables = [evidence.STAGE.of(one).tables[1.0] for one in (found, expected)]
    pd.testing.assert_frame_equal(*tables, check_exact=True)


def assert_same_study(found, expected):
    pd.testing.assert_frame_equal(found.table, expected.table, check_exact=True)
    assert found.criteria == expected.criteria and found.noise == expected.noise
    for rank, factors in expected.best.items():
        for one, other in zip(found.best[rank], factors, strict=True):
            np.testing.assert_array_equal(one, other)


def test_every_distance_is_the_same_bits(cluster, small_tiles):
    rng = np.random.default_rng(3)
    A, W = rng.random((40, 12, 3)), rng.random((40, 3, 15))
    with cluster.open(threads=2) as executor:
        for alike in matched_alike(DISTANCES):
            told = []
            measured = partial(pairwise_of_several, A, W, list(alike.values()))
            there = measured(told.append, executor=executor)
            for one, expected in zip(there, measured(), strict=True):
                np.testing.assert_array_equal(one, expected)
            assert told == sorted(told) and told[-1] == 1.0 and len(told) > 20


def test_an_analysis_goes_where_its_runs_went(cluster, runner, here, monkeypatch):
    asked = asked_of(monkeypatch)
    run_ids = runner.start(laurberg("two"), [SPEC], scheduler=cluster.address)
    found = runner.wait_analysis(run_ids, "distances", "evidence")
    assert {"timed", "_tile"} < asked and len(asked) > 2
    assert_same_analysis(found, here)
    # Runs of this machine stay here, those that are not known any more, too.
    assert runner.cluster_of(["unknown"]) is None
    assert runner.cluster_of(runner.start(laurberg("two"), [SPEC])) is None


def test_a_program_that_is_begun_again_knows_where_runs_went(cluster, tmp_path):
    with closing(JobRunner(RunStore(tmp_path))) as runner:
        run_ids = runner.start(laurberg("two"), [SPEC], scheduler=cluster.address)
        runner.wait(run_ids)
    with closing(JobRunner(RunStore(tmp_path))) as runner:
        assert runner.cluster_of(run_ids).address == cluster.address
    # Where the operator no longer lists it, its runs are analysed here, and told why.
    with closing(Executors(allowed=list)) as executors:
        runner = JobRunner(RunStore(tmp_path), executors=executors)
        with closing(runner), pytest.raises(SchedulerError, match="does not use"):
            runner.cluster_of(run_ids)


def test_a_rank_study_is_the_same_bits(cluster, studied, tmp_path):
    """Its parts are made of data and of problems."""
    told = []
    with cluster.open(threads=2) as executor:
        there = RankWork(tmp_path / "there", QUESTION, STUDIED, lambda: executor)
        there.make(lambda part, stage: told.append((part, stage)), never)
    assert_same_study(read(there.folder), studied)
    assert told[-1] == (1.0, "Comparing ranks")


# Something is lost


def test_a_killed_worker_loses_nothing(losable, small_tiles):
    rng = np.random.default_rng(5)
    A, W = rng.random((60, 12, 3)), rng.random((60, 3, 15))
    alike = matched_alike(DISTANCES)[0]
    workers = [losable.add_worker() for _ in range(2)]
    with losable.open(threads=2) as executor:
        told = []

        def lose_one(part):
            told.append(part)
            if len(told) == 2:
                workers[0].kill()

        there = pairwise_of_several(A, W, list(alike.values()), lose_one, executor=executor)
    for one, expected in zip(there, pairwise_of_several(A, W, list(alike.values())), strict=True):
        np.testing.assert_array_equal(one, expected)


def test_what_a_lost_scheduler_was_at_is_made_here_and_told(losable, runner, here, tmp_path):
    losable.add_worker()
    losable.open(threads=1).shutdown()
    run_ids = runner.start(laurberg("two"), [SPEC], scheduler=losable.address)
    runner.wait(run_ids)
    found = runner.analyse(run_ids, "evidence")
    wait_until(lambda: distances.STAGE.ready(found))
    losable.scheduler.kill()
    told = []

    def looked():
        runner.analyse(run_ids, "evidence")
        told.append(runner.analysis_status(found).message)
        return evidence.STAGE.ready(found)

    wait_until(looked, timeout=90)
    assert_same_analysis(found, here)
    lost = next(message for message in told if message)
    assert losable.address in lost and lost.endswith("It is computed on this machine now.")


def test_a_rank_study_survives_the_loss_of_its_scheduler(losable, studied, tmp_path):
    losable.add_worker()
    told = []
    with losable.open(threads=1) as executor:

        def report(part, stage):
            told.append(stage)
            if part > 0.3:
                losable.scheduler.kill()

        work = RankWork(tmp_path, QUESTION, STUDIED, lambda: executor)
        work.make(report, never)
    assert_same_study(read(work.folder), studied)
    assert "was lost; what was made is kept" in told[-1]


def test_a_cluster_is_asked_no_more_once_it_is_lost():
    asked = []

    def find():
        asked.append(1)
        raise SchedulerError("It does not answer.")

    cluster = Cluster(find)
    assert cluster.make(lambda executor: executor) is None
    assert cluster.make(lambda executor: executor) is None
    assert len(asked) == 1 and cluster.failure.startswith("It does not answer. It is computed")
    with pytest.raises(RunError, match="something else"):
        Cluster().make(lambda executor: _fail())


def _fail():
    raise RunError("something else")


def _sleep(problem, seconds):
    time.sleep(seconds)


def test_cancelling_does_not_wait_for_the_workers(cluster):
    with cluster.open(threads=2) as executor:
        began = time.monotonic()
        with (
            pytest.raises(Cancelled),
            Tasks(executor, lambda: time.monotonic() - began > 0.5, None, 3) as tasks,
        ):
            tasks.make(_sleep, [(STUDIED, 5.0)] * 3)
        assert time.monotonic() - began < 2


def test_an_analysis_on_a_cluster_is_cancelled_within_two_seconds(cluster, here):
    with cluster.open(threads=2) as executor:
        cluster, began = Cluster(lambda: executor), []

        def stopped():
            began.append(time.monotonic())
            return len(began) > 3

        stage = stages.STAGES["belief"]
        with pytest.raises(Cancelled):
            stages.make(here, stage, lambda part: None, stopped, cluster)
        assert time.monotonic() - began[3] < 2 and not stage.ready(here)
