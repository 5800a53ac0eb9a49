"""Stacking weights: those of a general optimizer, and the planted predictor wins."""

import numpy as np
import pytest
from scipy.optimize import minimize

from bnmf_core import Dataset
from bnmf_core.compare.stacking import (
    FOLDS,
    SETTLED,
    gain_of_mixture,
    hidden_predictions,
    stacking_weights,
)
from bnmf_core.core.errors import Cancelled
from bnmf_core.core.kullback_leibler import KULLBACK_LEIBLER
from bnmf_core.core.problem import Problem
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.solvers import usual_solver
from bnmf_core.solvers.solution import solve_with


@pytest.mark.parametrize("seed", range(4))
def test_weights_are_those_of_sequential_quadratic_programming(seed):
    rng = np.random.default_rng(seed)
    log_density = rng.normal(size=(4, 60)) + np.array([0.4, 0.2, 0.0, -0.5])[:, None]

    def score(w):
        return -np.log(w @ np.exp(log_density)).sum()

    best = minimize(
        score,
        np.full(4, 0.25),
        bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-12},
    )
    found = stacking_weights(log_density)
    assert found.sum() == pytest.approx(1) and score(found) <= best.fun + 1e-4
    np.testing.assert_allclose(found, best.x, atol=0.01)


def test_equal_predictors_share_and_a_dominated_one_gets_nothing():
    base = np.random.default_rng(0).normal(size=50)
    np.testing.assert_allclose(
        stacking_weights(np.stack([base, base, base - 5]))[:2], 0.5, atol=1e-6
    )
    assert stacking_weights(np.stack([base, base - 1000]))[1] == 0


def test_densities_of_a_squared_error_are_those_of_normals_about_the_fit_of_what_was_seen():
    rng = np.random.default_rng(2)
    X = rng.random((9, 2)) @ rng.random((2, 7)) + 0.05 * rng.random((9, 7))
    seen = rng.random(X.shape) < 0.95
    data = Dataset.from_array(X, mask=seen)
    A, W = rng.random((2, 9, 2)), rng.random((2, 2, 7))
    found = hidden_predictions(data, SQUARED_ERROR, A, W, np.random.default_rng(5))
    part = np.random.default_rng(5).integers(FOLDS, size=X.shape)
    for fold in range(FOLDS):
        hidden, rest = seen & (part == fold), seen & (part != fold)
        problem = Problem.without_model(Dataset.from_array(X, mask=rest), 2)
        fitted = np.matmul(*solve_with(usual_solver(problem), problem, A, W, SETTLED))
        variance = min(((X - one)[rest] ** 2).mean() for one in fitted)
        for k in range(2):
            for n in range(7):
                told = sum(
                    -((X[d, n] - fitted[k, d, n]) ** 2) / (2 * variance)
                    for d in range(9)
                    if hidden[d, n]
                )
                assert found[k, 7 * fold + n] == pytest.approx(told, rel=1e-6, abs=1e-9)


def test_counts_are_predicted_too_and_it_can_be_cancelled():
    rng = np.random.default_rng(1)
    X = rng.poisson(20 * rng.gamma(1, size=(12, 2)) @ rng.gamma(1, size=(2, 9))).astype(float)
    given = Dataset.from_array(X), KULLBACK_LEIBLER, rng.random((3, 12, 2)), rng.random((3, 2, 9))
    found = hidden_predictions(*given, np.random.default_rng(0))
    assert found.shape == (3, FOLDS * 9) and (found <= 0).all()
    np.testing.assert_array_equal(found, hidden_predictions(*given, np.random.default_rng(0)))
    with pytest.raises(Cancelled):
        hidden_predictions(*given, rng, cancel=lambda: True)


def test_a_mixture_gains_where_it_is_true_and_rarely_where_one_mode_is():
    rng = np.random.default_rng(1)

    def clear(means, both):
        x = rng.normal(size=200) + both * rng.choice(means, 200)
        log_density = -0.5 * (x - np.array(means)[:, None]) ** 2
        gain, error = gain_of_mixture(log_density, stacking_weights(log_density), 0)
        assert gain == pytest.approx(
            np.log(stacking_weights(log_density) @ np.exp(log_density)).sum() - log_density[0].sum()
        )
        return gain > 2 * error

    assert np.mean([clear([0.0, 0.3, -1.0], both=False) for _ in range(300)]) < 0.05
    assert np.mean([clear([-1.0, 1.0], both=True) for _ in range(50)]) > 0.95
