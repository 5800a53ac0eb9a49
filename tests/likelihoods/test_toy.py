"""A likelihood of one file goes from restarts to findings."""

from contextlib import closing

import numpy as np
import pytest

from bnmf_core.analysis import posterior
from bnmf_core.analysis.by_hand import DisplacementExploration, LockedExploration
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.analysis.stages import STAGES, compute
from bnmf_core.analysis.structure import modes_at
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.repair import hide_entries
from bnmf_core.evidence.rank_study import rank_study
from bnmf_core.findings.answer import Answer
from bnmf_core.findings.ranks import recommend
from bnmf_core.likelihoods import MODELS
from bnmf_core.runs import engine
from bnmf_core.runs.runner import JobRunner
from bnmf_core.store.run_store import RunStore
from tests.package.bnmf_example import smooth_laplace

pytestmark = pytest.mark.slow
KEY = smooth_laplace.MODEL.key
SCALE = {"b": 0.5}


@pytest.fixture(autouse=True, scope="module")
def registered():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(MODELS, KEY, smooth_laplace.MODEL)
        yield


@pytest.fixture(scope="module")
def wild() -> Dataset:
    """Rank 2 with a few wild entries, which squared errors would follow."""
    rng = np.random.default_rng(0)
    A, W = rng.gamma(0.5, 4.0, (14, 2)), rng.gamma(0.5, 4.0, (2, 24))
    X = A @ W + rng.laplace(0.0, 0.3, (14, 24))
    X[rng.integers(14, size=8), rng.integers(24, size=8)] += 60.0
    labels = {"side": np.where(W[0] > W[1], "left", "right").tolist()}
    return Dataset.from_array(np.maximum(X, 0.0), name="wild", labels=labels)


def spec(algorithm, particles=8, **more):
    return RunSpec(algorithm, 2, KEY, particles, model_settings=SCALE, **more)


@pytest.fixture(scope="module")
def compared(wild, tmp_path_factory):
    store = RunStore(tmp_path_factory.mktemp("toy"))
    asked = [spec("random_restarts"), spec("q_transform"), spec("nndsvdar", 4)]
    asked.append(spec("hmc", 60, settings={"chains": 2, "warm_up": 100}))
    with closing(JobRunner(store)) as runner:
        ids = runner.start(wild, asked)
        runner.wait(ids)
        found = [store.run(one) for one in ids]
        assert {one.status for one in found} == {"complete"}, [one.message for one in found]
    comparison = open_comparison(store, ids)
    compute(comparison, lambda part, stage: None, lambda: False)
    return comparison


def test_restarts_minimise_its_own_loss(wild, compared):
    problem = compared.fit
    assert problem.loss is smooth_laplace.LOSS
    squares = engine.run(wild, RunSpec("random_restarts", 2, particles=8))
    ours = compared.particles[0]
    f = problem.loss.values(problem, ours.A, ours.W)
    np.testing.assert_allclose(ours.error, f / wild.observed, rtol=1e-12)
    assert f.min() < 0.9 * problem.loss.values(problem, squares.A, squares.W).min()
    assert ours.diagnostics["converged"].all()


def test_every_stage_is_computed_and_findings_are_told(compared):
    assert all(stage.ready(compared) for stage in STAGES.values())
    drawn = posterior.STAGE.of(compared)
    assert drawn.problem == "" and drawn.modes
    findings = Answer(compared, "max_angle", modes_at(compared, "max_angle", 15.0)).findings
    assert len(findings) >= 3
    said = " ".join(one.sentence + " " + one.doubt for one in findings)
    assert "squared" not in said


def test_what_was_held_back_and_hidden_is_told(wild):
    rng = np.random.default_rng(1)
    held = engine.run(wild, spec("random_restarts", 4, holdout=0.25))
    hidden = engine.run(hide_entries(wild, 0.1, rng), spec("random_restarts", 4))
    assert held.diagnostics["converged"].all() and hidden.diagnostics["converged"].all()


def test_components_are_displaced_and_locked(compared):
    row = int(compared.members["log_joint"].idxmax())
    for question in (
        DisplacementExploration(compared, row, component=0, most=3),
        LockedExploration(compared, row, held=(0,), starts=4),
    ):
        found = question.part(question.parts[0], lambda part: None, lambda: False)
        assert all(np.isfinite(values).all() for values in found.values())


def test_ranks_are_compared_without_an_evidence(wild):
    study = rank_study(
        wild, [1, 2, 3], model=KEY, rng=np.random.default_rng(0), restarts=6, most_modes=1
    )
    assert study.criteria["evidence"].problem == (
        "The smoothed Laplace likelihood has no known normaliser."
    )
    assert study.criteria["hidden"].chosen == 2 and recommend(study).rank == 2
