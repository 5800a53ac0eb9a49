"""Box restarts: a climb that never falls, where it ends, gaps, and how far it says it still is."""

import numpy as np
import pytest
from scipy.optimize import minimize

from bnmf_core import Dataset, RunSpec, boolean_tiles, distances, find_modes
from bnmf_core.boolean import box_restarts
from bnmf_core.boolean import model as boolean
from bnmf_core.core.errors import SettingsError
from bnmf_core.core.problem import Problem
from bnmf_core.runs import engine
from bnmf_core.solvers.stationarity import turned

PRIORS = ("flat", "normal", "laplace")


def problem_of(gaps, prior="flat", sigma=None, R=3, D=14, N=11) -> Problem:
    rng = np.random.default_rng(0)
    X = (rng.random((D, N)) < 0.4).astype(float)
    if gaps:
        X[rng.random((D, N)) < 0.2] = np.nan
    return Problem(Dataset.from_array(X), boolean.MODEL, boolean.Settings(prior, sigma), R)


def random_pair(m=4, R=3, D=14, N=11):
    rng = np.random.default_rng(1)
    return rng.random((m, R, D)), rng.random((m, R, N))


def log_joint(problem, A, W):
    return boolean.MODEL.log_joint(problem, A.transpose(0, 2, 1), W)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("sigma", [None, 0.4])
@pytest.mark.parametrize("prior", PRIORS)
def test_the_log_joint_never_falls_and_ends_at_a_maximum(prior, sigma, gaps):
    """At the end no entry of a factorization has a slope that leads anywhere inside [0, 1]."""
    problem = problem_of(gaps, prior, sigma)
    A, W = random_pair()
    before = log_joint(problem, A, W)
    for _ in range(1500):
        A, W = box_restarts.sweep(problem, A, W)
        after = log_joint(problem, A, W)
        assert (after >= before - 1e-9 * np.abs(before)).all()
        before = after
    by_A, by_W = boolean.MODEL.score(problem, A.transpose(0, 2, 1), W)
    for F, slope in ((A, by_A.transpose(0, 2, 1)), (W, by_W)):
        uphill = np.where(
            F <= 0, np.maximum(slope, 0), np.where(F >= 1, np.minimum(slope, 0), slope)
        )
        assert np.abs(uphill).max() < 2e-3


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("prior", PRIORS)
def test_every_entry_goes_to_the_best_place_given_all_others(prior, gaps):
    """The last row of A, which is moved last, against a search on the log joint itself."""
    problem = problem_of(gaps, prior, sigma=0.5)
    A, W = random_pair(m=1)
    found, _ = box_restarts.sweep(problem, A, W)
    for d in (0, 5, 13):

        def density(x, d=d):
            trial = found.copy()
            trial[0, 2, d] = x
            return float(log_joint(problem, trial, W)[0])

        grid = np.linspace(0, 1, 2001)
        best = max(map(density, grid))
        assert density(found[0, 2, d]) >= best - 1e-9
        assert abs(grid[np.argmax([density(x) for x in grid])] - found[0, 2, d]) < 1e-3


def test_the_end_is_that_of_a_general_optimizer():
    """From near the end, a bounded quasi-Newton search finds no higher place."""
    problem = problem_of(True, "normal")
    data, spec = (
        problem.dataset,
        RunSpec("box_restarts", 3, "boolean", 6, 1, {}, {"prior": "normal"}),
    )
    particles = engine.run(data, spec)
    assert particles.diagnostics["converged"].all() and (particles.movement < 1).all()
    for A, W, height in zip(particles.A, particles.W, particles.log_joint, strict=True):

        def downhill(x, D=data.D, N=data.N):
            a, w = x[: D * 3].reshape(1, D, 3), x[D * 3 :].reshape(1, 3, N)
            value, by_A, by_W = boolean.MODEL.log_joint_and_score(problem, a, w)
            return -value[0], -np.concatenate([by_A.ravel(), by_W.ravel()])

        start = np.concatenate([A.ravel(), W.ravel()])
        end = minimize(downhill, start, jac=True, method="L-BFGS-B", bounds=[(0, 1)] * start.size)
        assert -end.fun <= height + 1e-3
        reached = end.x[: data.D * 3].reshape(1, data.D, 3)
        assert turned(A.T[None], reached.transpose(0, 2, 1))[0] < 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prior", "gaps"), [("flat", True), pytest.param("laplace", False, marks=pytest.mark.long)]
)
def test_a_factorization_turns_no_further_than_it_says(prior, gaps):
    data = problem_of(gaps).dataset
    spec = RunSpec("box_restarts", 3, "boolean", 12, 2, {"block": 6}, {"prior": prior})
    particles = engine.run(data, spec)
    problem = problem_of(gaps, prior)
    A, W = np.ascontiguousarray(particles.A.transpose(0, 2, 1)), np.array(particles.W)
    end = A, W
    for _ in range(6000):
        end = box_restarts.sweep(problem, *end)
    left = turned(A, end[0])
    assert particles.diagnostics["converged"].all()
    assert (left <= np.maximum(particles.movement, 0.1)).mean() >= 11 / 12


def test_a_factorization_that_is_stopped_early_has_not_converged():
    data = boolean_tiles(40, 50, 3, rng=np.random.default_rng(3))
    spec = RunSpec("box_restarts", 3, "boolean", 4, 1, {"max_iterations": 10, "movement": 1e-3})
    particles = engine.run(data, spec)
    assert not particles.diagnostics["converged"].any()
    assert (particles.diagnostics["iterations"] == 10).all()


@pytest.mark.slow
def test_planted_tiles_are_the_mode_that_most_restarts_find():
    data = boolean_tiles(60, 80, 4, 0.15, rng=np.random.default_rng(4))
    particles = engine.run(data, RunSpec("box_restarts", 4, "boolean", 20, 1))
    modes = find_modes(distances(particles, "jaccard"), 0.3)
    truth = data.truth[0]
    largest = particles.subset(modes.representative[:1])
    found = (largest.A[0] > 0.5).astype(int) @ (largest.W[0] > 0.5).astype(int) > 0
    wrong = (found != (truth.A @ truth.W > 0)).mean()
    assert np.mean(modes.labels == 0) > 0.5 and wrong < 0.02
    assert particles.log_joint[modes.representative[0]] >= particles.log_joint.max() - 1e-3


def test_a_prior_without_a_largest_density_is_refused():
    data = problem_of(False).dataset
    spec = RunSpec("box_restarts", 3, "boolean", 2, 1, {}, {"prior": "beta"})
    with pytest.raises(SettingsError, match="has no bound"):
        engine.run(data, spec)
