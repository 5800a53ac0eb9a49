"""The variational stage: its numbers against proposals made by hand, and what it says."""

import numpy as np
import pytest

from bnmf_core import laurberg
from bnmf_core.compare.coverage import covering_numbers
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.compare.distances.pairwise import pairwise
from bnmf_core.core.errors import Cancelled
from bnmf_core.core.spec import RunSpec
from bnmf_core.posterior.places import problem_of
from bnmf_core.rrt.analysis import variational as stage
from bnmf_core.rrt.mixture import component_of, variance_alone
from bnmf_core.rrt.online import propose_all
from bnmf_core.store import files

pytestmark = pytest.mark.slow

FLAT = {"model": "uniform", "model_settings": {"epsilon": 0.08}}
SPECS = [
    RunSpec("gibbs", 3, particles=12, settings={"warm_up": 5, "thinning": 1}),
    RunSpec("hmc", 3, particles=12, settings={"warm_up": 20, "leapfrog_steps": 5}, **FLAT),
    RunSpec("nvi", 3, particles=3, settings={"iterations": 5, "together": 2}, **FLAT),
    RunSpec("random_restarts", 3, "silf", particles=4),
]


@pytest.fixture
def four(runner):
    """The analysis of a run of each kind, done."""
    data = laurberg("two", noise=0.01, rng=np.random.default_rng(0))
    return runner.wait_analysis(runner.start(data, SPECS), "variational")


def by_hand(analysis, position, variant, variance):
    """The mixture of a run and its decisions, one proposal after the other."""
    particles = analysis.particles[position]
    problem = problem_of(particles, analysis.dataset)
    pairs = zip(particles.A, particles.W, strict=True)
    components = [component_of(problem, A, W, variant == "best") for A, W in pairs]
    return propose_all(components, stage.TOLERANCE, variance)


@pytest.mark.slow
@pytest.mark.parametrize("variant", list(stage.VARIANTS))
def test_decisions_and_mixtures_are_those_made_by_hand(four, variant):
    found = stage.STAGE.of(four).proposals(variant)
    assert list(found) == [run.id for run in four.runs[:3]]
    # One variance for all runs under the same flat likelihood: the largest that one has alone.
    alone = [
        variance_alone(problem_of(p, four.dataset), A[None], W[None])
        for p in four.particles[1:3]
        for A, W, density in zip(p.A, p.W, p.log_joint, strict=True)
        if np.isfinite(density)
    ]
    for position, variance in enumerate([None, max(alone), max(alone)]):
        of_run = found[four.runs[position].id]
        assert of_run.fixed_variance == variance
        mixture, decisions = by_hand(four, position, variant, variance)
        made = of_run.decisions
        for name in ("number", "joined", "reason", "gain", "elbo", "entropy", "energy"):
            expected = [getattr(decision, name) for decision in decisions]
            np.testing.assert_array_equal(made[name], expected)
        for decision in decisions:
            left = made["number"][made["left"] == decision.number]
            assert set(left) == set(decision.removed)
        components = of_run.components.sort_values("number")
        np.testing.assert_array_equal(components["number"], np.sort(mixture.numbers))
        order = np.argsort(mixture.numbers)
        np.testing.assert_array_equal(components["weight"], mixture.weights[order])
        np.testing.assert_array_equal(components["variance"], mixture.variances[order])
        assert of_run.total == four.particles[position].M
    assert [of_run.model for of_run in found.values()] == [0, 1, 1]


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["max_angle", "frobenius_W"])
def test_components_are_as_far_apart_as_they_are(four, metric):
    for variant in stage.VARIANTS:
        for kind in stage.KINDS:
            curves, spread = stage.STAGE.of(four).coverage(metric, variant, kind)
            for position, run in enumerate(four.runs[:3]):
                made = stage.STAGE.of(four).proposals(variant)[run.id].decisions
                chosen = made["joined"] & ((made["left"] < 0) | (kind == "joined"))
                particles = four.particles[position].subset(chosen.to_numpy())
                matrix = pairwise(particles.A, particles.W, DISTANCES[metric])
                row = spread.set_index("run").loc[run.id]
                assert row["compared"] == chosen.sum()
                assert row["largest"] == pytest.approx(matrix.max(), abs=1e-9)
                assert row["mean"] == pytest.approx(matrix.mean(), abs=1e-9)
                curve = curves[curves["run"] == run.id]
                expected = covering_numbers(matrix, curve["epsilon"].to_numpy())
                np.testing.assert_array_equal(curve["covering"], expected)
            assert set(curves["run"]) == {run.id for run in four.runs[:3]}


def test_weights_of_members_are_those_of_the_best_mixture(four):
    found = stage.STAGE.of(four)
    weights = found.weights(four.members)
    assert weights.sum() == pytest.approx(1.0)
    # The others have another model.
    run = four.runs[0].id
    assert (weights[four.members["run"] != run] == 0).all()
    of_run = found.proposals("best")[run]
    for number, weight in zip(
        of_run.components["number"], of_run.components["weight"], strict=True
    ):
        (row,) = four.members.index[
            (four.members["run"] == run) & (four.members["particle"] == number)
        ]
        assert weights[row] == pytest.approx(weight)


def test_a_model_without_curvature_is_told_and_has_no_mixture(four):
    (told,) = stage.STAGE.of(four).without.items()
    assert told[0] == four.runs[3].id
    assert "columns of A sum to 1" in told[1] and "Fit and weights" in told[1]


def test_the_bounds_of_nvi_are_those_that_it_reported(four):
    found = stage.STAGE.of(four).proposals("best")
    bounds = four.particles[2].diagnostics["bound"]
    assert found[four.runs[2].id].own_bounds == list(dict.fromkeys(bounds))
    assert len(found[four.runs[2].id].own_bounds) == 2
    assert found[four.runs[0].id].own_bounds == []


def test_long_runs_are_proposed_evenly_spaced(four, tmp_path, monkeypatch):
    monkeypatch.setattr(stage, "MOST_PROPOSALS", 4)
    monkeypatch.setattr(stage, "MOST_COMPARED", 2)
    reported = []
    # In a folder of its own: later stages of the analysis still read the stored result.
    stage.compute(four, tmp_path, reported.append, lambda: False)
    mixtures = stage.read(four, tmp_path)
    found = mixtures.proposals("found")
    np.testing.assert_array_equal(found[four.runs[0].id].decisions["number"], [0, 4, 7, 11])
    assert found[four.runs[0].id].total == 12
    assert mixtures.coverage("wad", "found", "joined")[1]["compared"].max() <= 2
    assert reported == sorted(reported) and reported[-1] == pytest.approx(1.0)


def test_it_stops_between_blocks_when_cancelled(four, tmp_path, monkeypatch):
    monkeypatch.setattr(stage, "BLOCK", 5)
    before = files.read_json(stage.STAGE.folder(four) / "mixtures.json")
    asked = []

    def after_three() -> bool:
        asked.append(True)
        return len(asked) > 3

    with pytest.raises(Cancelled):
        stage.compute(four, tmp_path, lambda part: None, after_three)
    assert len(asked) == 4
    assert not (tmp_path / "mixtures.json").exists()
    stage.compute(four, tmp_path, lambda part: None, lambda: False)
    assert files.read_json(tmp_path / "mixtures.json") == before
