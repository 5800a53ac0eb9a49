"""PanPAL: its prox, an objective that never rises, gaps, and what it finds."""

import numpy as np
import pytest

from bnmf_core import Dataset, RunSpec, boolean_tiles
from bnmf_core.boolean import model as boolean
from bnmf_core.boolean import panpal
from bnmf_core.core.problem import Problem
from bnmf_core.numerics.matrix import boolean_product
from bnmf_core.runs import engine


def problem_of(gaps, R=3, D=14, N=11) -> Problem:
    rng = np.random.default_rng(0)
    X = (rng.random((D, N)) < 0.4).astype(float)
    if gaps:
        X[rng.random((D, N)) < 0.2] = np.nan
    return Problem(Dataset.from_array(X), boolean.MODEL, boolean.Settings(), R)


@pytest.mark.parametrize("rho", [0.0, 0.05, 0.3, 2.0])
def test_the_prox_is_the_least_of_all_places(rho):
    places = np.linspace(0, 1, 4001)
    for z in (-0.7, 0.0, 0.2, 0.4999, 0.61, 0.9, 1.0, 1.8):
        cost = 0.5 * (places - z) ** 2 + rho * (1 - np.abs(1 - 2 * places))
        found = panpal.prox(np.array([z]), rho)[0]
        here = 0.5 * (found - z) ** 2 + rho * (1 - abs(1 - 2 * found))
        assert 0 <= found <= 1 and here <= cost.min() + 1e-12


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("weight", [0.0, 0.1, 1.0])
def test_the_objective_never_rises_at_a_given_weight(weight, gaps):
    problem, rng = problem_of(gaps), np.random.default_rng(1)
    A, W = rng.random((4, 3, 14)), rng.random((4, 3, 11))
    before = panpal.objective(problem, A.transpose(0, 2, 1), W, weight)
    for _ in range(150):
        A, W = panpal.iterate(problem, A, W, weight)
        after = panpal.objective(problem, A.transpose(0, 2, 1), W, weight)
        assert (after <= before * (1 + 1e-12)).all()
        before = after


def test_an_empty_factor_gives_a_step_all_the_same():
    problem = problem_of(False)
    A, W = np.full((1, 3, 14), 0.7), np.zeros((1, 3, 11))
    A, W = panpal.iterate(problem, A, W, 0.1)
    assert np.isfinite(A).all() and np.isfinite(W).all()


def test_what_lies_under_a_gap_does_not_pull():
    problem, rng = problem_of(True), np.random.default_rng(2)
    A, W = rng.random((1, 3, 14)), rng.random((1, 3, 11))
    X, mask = problem.dataset.X, problem.dataset.mask
    residual = mask * (X - A[0].T @ W[0])
    G = W[0] @ W[0].T
    alpha = 1 / (panpal.SHORTER * np.linalg.norm(G, 2))
    expected = panpal.prox(A[0].T + alpha * (residual @ W[0].T - 0.5), 0.1 * alpha)
    found, _ = panpal.iterate(problem, A, W, 0.1)
    np.testing.assert_allclose(found[0].T, expected, atol=1e-13)


def test_the_weight_rises_over_the_ramp(monkeypatch):
    weights, iterate = [], panpal.iterate

    def noting(problem, A, W, weight):
        weights.append(weight)
        return iterate(problem, A, W, weight)

    monkeypatch.setattr(panpal, "iterate", noting)
    data = boolean_tiles(40, 50, 3, rng=np.random.default_rng(3))
    settings = {"weight": 0.5, "ramp": 10, "block": 1}
    particles = engine.run(data, RunSpec("panpal", 3, "boolean", 1, 1, settings))
    np.testing.assert_allclose(weights[:11], 0.05 * np.arange(11))
    assert set(weights[10:]) == {0.5} and particles.diagnostics["converged"].all()
    problem = Problem(data, boolean.MODEL, boolean.Settings(), 3)
    expected = panpal.objective(problem, particles.A, particles.W, 0.5)
    np.testing.assert_allclose(particles.diagnostics["objective"], expected)


def test_more_weight_leaves_fewer_entries_between_0_and_1():
    data = boolean_tiles(40, 50, 3, rng=np.random.default_rng(3))
    undecided = []
    for weight in (0.0, 0.2, 1.0):
        settings = {"weight": weight, "ramp": 10}
        particles = engine.run(data, RunSpec("panpal", 3, "boolean", 4, 1, settings))
        undecided.append(particles.diagnostics["undecided"].mean())
    assert undecided[0] > undecided[1] > undecided[2]


@pytest.mark.slow
def test_a_ramp_finds_more_than_the_whole_weight_from_the_beginning():
    data = boolean_tiles(128, 128, 5, 0.05, rng=np.random.default_rng(4))
    C = boolean_product(data.truth[0].A, data.truth[0].W)
    errors = []
    for ramp in (200, 0):
        settings = {"ramp": ramp, "max_iterations": 500}
        particles = engine.run(data, RunSpec("panpal", 5, "boolean", 8, 1, settings))
        found = boolean_product(particles.A > 0.5, particles.W > 0.5)
        errors.append(np.median((found != C).sum(axis=(1, 2))))
    assert errors[0] < errors[1]
