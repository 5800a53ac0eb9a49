"""The analysis of runs: each stored result against the same computation done directly."""

import dataclasses
import shutil
import threading
import time
from contextlib import closing

import numpy as np
import pytest
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from bnmf_core.analysis import exact, stages
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.analysis.stages import STAGES
from bnmf_core.compare.coverage import covering_numbers
from bnmf_core.compare.distances import DISTANCES, suited
from bnmf_core.compare.distances.pairwise import pairwise
from bnmf_core.compare.downstream import downstream_auc
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import NotFoundError, RunError, StoreError
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.split import split
from bnmf_core.numerics.linalg import evenly_spaced
from bnmf_core.runs.runner import JobRunner
from bnmf_core.store.manifest import DONE
from bnmf_core.store.run_store import RunStore

RESTARTS = RunSpec("random_restarts", 3, particles=14, settings={"max_iterations": 30})
GIBBS = RunSpec("gibbs", 3, particles=10, settings={"warm_up": 5, "thinning": 1})


def forget(comparison, key):
    """Take a stage's word that its result is complete."""
    (STAGES[key].folder(comparison) / DONE).unlink()


@pytest.fixture(scope="module")
def labelled() -> Dataset:
    """30×60, three groups that differ in their parts, and a label that cannot be scored."""
    rng = np.random.default_rng(3)
    group = np.arange(60) % 3
    W = rng.exponential(size=(3, 60)) * np.where(np.arange(3)[:, None] == group, 3.0, 1.0)
    X = rng.exponential(size=(30, 3)) @ W + rng.random((30, 60))
    names = np.array(["low", "middle", "high"])[group]
    labels = {"group": names, "serial number": [f"no. {i}" for i in range(60)]}
    return Dataset.from_array(X, name="labelled", labels=labels)


@pytest.fixture(scope="module")
def made(tmp_path_factory, labelled):
    """A store with two runs and their analysis, and the ids of the runs."""
    store = RunStore(tmp_path_factory.mktemp("made"))
    with closing(JobRunner(store)) as runner:
        run_ids = runner.start(labelled, [RESTARTS, GIBBS])
        runner.wait_analysis(run_ids)
    return store.root, run_ids


@pytest.fixture
def store(tmp_path, request):
    """A store of the test's own; with what is made, where the test asks for it."""
    if "two" in request.fixturenames:
        shutil.copytree(request.getfixturevalue("made")[0], tmp_path / "store")
    return RunStore(tmp_path / "store")


@pytest.fixture
def two(store, made):
    """The analysis of two runs, done."""
    return open_comparison(store, made[1])


def test_members_are_the_runs_one_below_the_other(two, store):
    members = two.members
    assert list(members["run"]) == [two.runs[0].id] * 14 + [two.runs[1].id] * 10
    assert list(members["algorithm"]) == ["random_restarts"] * 14 + ["gibbs"] * 10
    np.testing.assert_array_equal(members["particle"], [*range(14), *range(10)])
    np.testing.assert_allclose(members.groupby("run")["weight"].sum(), 1.0)
    A, W = two.factors([15, 2, 2])
    first, second = (store.particles(run.id) for run in two.runs)
    np.testing.assert_array_equal(A, [second.A[1], first.A[2], first.A[2]])
    np.testing.assert_array_equal(W, [second.W[1], first.W[2], first.W[2]])
    assert two.factors([])[0].shape == (0, 30, 3)
    assert (two.rank, two.holdout) == (3, 0.0)


@pytest.mark.parametrize("metric", list(suited(False)))
def test_distances_modes_and_coverage_are_the_direct_ones(two, metric):
    A, W = two.factors(np.arange(24))
    direct = pairwise(A, W, DISTANCES[metric])
    structure = STAGES["structure"].of(two)
    np.testing.assert_array_equal(STAGES["distances"].of(two).matrix(metric), direct)
    heights = hierarchy.linkage(squareform(direct, checks=False), "complete")[:, 2]
    np.testing.assert_allclose(structure.linkage(metric)[:, 2], heights, rtol=1e-12)
    points, kept = structure.projection(metric)
    assert points.shape == (24, 2) and 0 < kept <= 1
    coverage, spread = structure.coverage(metric), structure.spread(metric).set_index("run")
    for run, rows in ((two.runs[0], slice(0, 14)), (two.runs[1], slice(14, 24))):
        within = direct[rows, rows]
        of_run = coverage[coverage["run"] == run.id]
        np.testing.assert_allclose(of_run["epsilon"], np.linspace(0, direct.max(), 100))
        np.testing.assert_array_equal(
            of_run["covering"], covering_numbers(within, of_run["epsilon"].to_numpy())
        )
        assert spread.loc[run.id, "largest"] == pytest.approx(within.max())
        assert spread.loc[run.id, "mean"] == pytest.approx(within.mean())
        assert spread.loc[run.id, "members"] == len(within)


def test_exact_covering_numbers_are_kept_for_small_runs(two, monkeypatch):
    found = STAGES["exact"].of(two).coverage("wad")
    within = STAGES["distances"].of(two).matrix("wad")[14:, 14:]
    of_run = found[found["run"] == two.runs[1].id]
    direct = covering_numbers(within, of_run["epsilon"].to_numpy(), "exact")
    np.testing.assert_array_equal(of_run["covering"], direct)
    greedy = STAGES["structure"].of(two).coverage("wad")
    assert (found["covering"].to_numpy() <= greedy["covering"].to_numpy()).all()
    monkeypatch.setattr(exact, "EXACT_LIMIT", 12)  # the first run has 14 members
    forget(two, "exact")
    stages.compute(two, lambda fraction, stage: None, lambda: False)
    assert set(STAGES["exact"].of(two).coverage("wad")["run"]) == {two.runs[1].id}


def test_downstream_scores_are_the_direct_ones(two, labelled):
    A, _ = two.factors(np.arange(24))
    direct = downstream_auc(A, labelled, "group")
    found = STAGES["downstream"].of(two).table
    assert list(found.columns) == ["member", "label", "task", "auc", "n_positive"]
    np.testing.assert_array_equal(found["member"], direct["particle"])
    np.testing.assert_array_equal(found["task"], direct["task"])
    np.testing.assert_array_equal(found["auc"], direct["auc"])
    # A label that no class of can be judged is named, and does not stop the rest.
    assert set(found["label"]) == {"group"}
    assert len(STAGES["downstream"].of(two).left_out["serial number"]) == 60
    assert STAGES["downstream"].of(two).left_out["group"] == []


@pytest.mark.slow
def test_held_out_observations_alone_are_judged(runner, labelled):
    (run_id,) = runner.start(labelled, [dataclasses.replace(RESTARTS, holdout=0.25)])
    found = runner.wait_analysis([run_id])
    seen, held_out = split(labelled, 0.25)
    assert (seen.size, held_out.size) == (45, 15)
    assert found.factors([0])[1].shape == (1, 3, 45)
    scores = STAGES["downstream"].of(found).table
    judged = scores[scores["member"] == 0].set_index("task")["n_positive"]
    for name, count in judged.items():
        assert count == (labelled.labels["group"][held_out] == name).sum()
    A, _ = found.factors(np.arange(14))
    direct = downstream_auc(A, labelled, "group", held_out=held_out)
    np.testing.assert_array_equal(scores["auc"], direct["auc"])


def test_stages_become_ready_one_after_the_other(runner, labelled, monkeypatch):
    steps = {stage: threading.Event() for stage in STAGES}

    def held(stage, compute):
        def wait(*arguments):
            assert steps[stage].wait(10)
            compute(*arguments)

        return wait

    for name, stage in STAGES.items():
        changed = dataclasses.replace(stage, compute=held(name, stage.compute))
        monkeypatch.setitem(STAGES, name, changed)
    run_ids = runner.start(labelled, [GIBBS])
    runner.wait(run_ids)
    found = runner.analyse(run_ids)
    fractions = []
    for i, (stage, event) in enumerate(steps.items()):
        ready = [name for name in steps if STAGES[name].ready(found)]
        assert ready == list(steps)[:i] and not stages.complete(found)
        status = runner.analysis_status(found)
        assert status.status == "running"
        fractions.append(status.fraction)
        event.set()
        end = time.monotonic() + 30
        while not STAGES[stage].ready(found):
            assert time.monotonic() < end
            time.sleep(0.005)
    assert fractions == sorted(fractions)
    assert stages.complete(found) and runner.analysis_status(found).status == "complete"


def test_what_is_complete_is_not_computed_again(two, runner, store, monkeypatch):
    def forbidden(*arguments):
        raise AssertionError("computed again")

    monkeypatch.setattr(stages, "make", forbidden)
    again = runner.wait_analysis([run.id for run in two.runs])
    assert again.key == two.key and stages.complete(again)
    # Nor after a restart: what counts is what is stored.
    opened = open_comparison(store, [run.id for run in two.runs])
    again, first = (STAGES["distances"].of(one).matrix("wad") for one in (opened, two))
    np.testing.assert_array_equal(again, first)


@pytest.mark.parametrize("key", ["downstream", "evidence", "islands"])
def test_a_result_is_read_from_the_disk_once(two, key):
    assert STAGES[key].of(two) is STAGES[key].of(two)
    forget(two, key)
    with pytest.raises(StoreError, match="has not been computed"):
        STAGES[key].of(two)


def test_an_interrupted_analysis_goes_on_with_what_is_missing(two):
    forget(two, "structure")
    (STAGES["structure"].folder(two) / "linkage-wad.npy").unlink()
    kept = STAGES["distances"].folder(two) / "wad.npy"
    before = kept.stat().st_mtime_ns
    told = []
    stages.compute(two, lambda fraction, stage: told.append((fraction, stage)), lambda: False)
    assert stages.complete(two) and STAGES["structure"].of(two).linkage("wad").shape == (23, 4)
    assert kept.stat().st_mtime_ns == before
    assert {stage for _, stage in told} == {"Finding modes and coverage"}
    assert [fraction for fraction, _ in told] == sorted(fraction for fraction, _ in told)


def test_a_stopped_analysis_marks_nothing_done(two):
    for stage in STAGES:
        forget(two, stage)
    (STAGES["distances"].folder(two) / "wad.npy").unlink()
    stages.compute(two, lambda fraction, stage: None, lambda: True)
    assert not any(STAGES[stage].ready(two) for stage in STAGES)


def test_runs_that_do_not_belong_together_are_refused(runner, store, labelled, small):
    (run_id,) = runner.start(labelled, [RESTARTS])
    (rank,) = runner.start(labelled, [dataclasses.replace(RESTARTS, rank=2)])
    (held,) = runner.start(labelled, [dataclasses.replace(RESTARTS, holdout=0.25)])
    (other,) = runner.start(small, [RESTARTS])
    runner.wait([run_id, rank, held, other])
    for partner, sentence in (
        (rank, r"differ in rank \(3 and 2\)"),
        (held, r"differ in holdout \(0\.0 and 0\.25\)"),
        (other, "used different data"),
    ):
        with pytest.raises(RunError, match=sentence):
            runner.analyse([run_id, partner])
    with pytest.raises(RunError, match="Choose at least one run"):
        runner.analyse([])
    with pytest.raises(NotFoundError, match="no run 'nothing'"):
        runner.analyse(["nothing"])
    empty = store.life.enter(labelled.hash, RESTARTS).run_id
    with pytest.raises(StoreError, match="has not saved a factorization yet"):
        runner.analyse([empty])
    # The same run twice is one run.
    assert open_comparison(store, [run_id, run_id]).key == (open_comparison(store, [run_id]).key)


def test_one_factorization_can_be_analysed(runner, labelled):
    (run_id,) = runner.start(labelled, [dataclasses.replace(RESTARTS, particles=1)])
    found = runner.wait_analysis([run_id])
    np.testing.assert_array_equal(STAGES["distances"].of(found).matrix("max_angle"), [[0.0]])
    assert STAGES["structure"].of(found).linkage("max_angle").shape == (0, 4)
    assert set(STAGES["structure"].of(found).coverage("max_angle")["covering"]) == {1}


def test_a_failed_analysis_says_why(runner, labelled, monkeypatch):
    def broken(*arguments):
        raise ZeroDivisionError("no way")

    changed = dataclasses.replace(STAGES["structure"], compute=broken)
    monkeypatch.setitem(STAGES, "structure", changed)
    run_ids = runner.start(labelled, [RESTARTS])
    with pytest.raises(RunError, match="ZeroDivisionError: no way"):
        runner.wait_analysis(run_ids)
    found = runner.analyse(run_ids)
    assert STAGES["distances"].ready(found) and not STAGES["structure"].ready(found)
    assert "no way" in (found.folder / "error.txt").read_text()


@pytest.mark.parametrize(("count", "most"), [(5, 9), (9, 9), (1000, 200), (201, 200), (3, 1)])
def test_members_are_evenly_spaced(count, most):
    chosen = evenly_spaced(count, most)
    assert chosen.size == min(count, most)
    assert chosen[0] == 0
    if most > 1:
        assert chosen[-1] == count - 1
        gaps = np.diff(chosen)
        assert gaps.max() - gaps.min() <= 1
