"""Bands of contributions: as wide as another optimizer makes them, and as two components allow."""

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize

from bnmf_core import Dataset, RunSpec, run
from bnmf_core.compare.contribution import (
    _NearContribution,
    displace_contributions,
)
from bnmf_core.compare.displacement import allowed_error, polished
from bnmf_core.compare.distances.scaling import component_shares
from bnmf_core.compare.feasible import Feasible
from bnmf_core.core.errors import Cancelled, SettingsError
from bnmf_core.core.kullback_leibler import KULLBACK_LEIBLER
from bnmf_core.core.problem import Problem
from bnmf_core.core.squared_error import SQUARED_ERROR


def solved(X, R, loss=SQUARED_ERROR):
    data = Dataset.from_array(X)
    particles = run(data, RunSpec("random_restarts", rank=R, particles=1))
    problem = Problem.without_model(data, R, loss=loss)
    return problem, *polished(problem, particles.A[0], particles.W[0])


def test_the_ends_are_those_of_sequential_quadratic_programming():
    rng = np.random.default_rng(2)
    X = rng.gamma(0.7, size=(5, 2)) @ rng.gamma(0.7, size=(2, 6)) + 0.05 * rng.random((5, 6))
    problem, A, W, error = solved(X, 2)
    allowed = allowed_error(error, 0.2)
    found = displace_contributions(problem, A, W, np.arange(2), allowed)

    total = (A @ W).sum()

    def split(x):
        return x[:10].reshape(5, 2), x[10:].reshape(2, 6)

    def amount(x, k):
        return split(x)[0][:, k].sum() * split(x)[1][k].sum() / total

    for k in range(2):
        for sign, reached in ((1.0, found.lower[k]), (-1.0, found.upper[k])):
            best = minimize(
                lambda x, k=k, sign=sign: sign * amount(x, k),
                np.concatenate([A.ravel(), W.ravel()]),
                bounds=[(0, None)] * 22,
                constraints={
                    "type": "ineq",
                    "fun": lambda x: (
                        allowed**2 - ((X - np.matmul(*split(x))) ** 2).sum() / (X**2).sum()
                    ),
                },
                method="SLSQP",
                options={"maxiter": 2000, "ftol": 1e-10},
            )
            assert best.success
            # An end is found to 97 % of the rise, so to about 1.5 % of the way.
            way = abs(sign * best.fun - found.value[k])
            assert abs(reached - sign * best.fun) < 0.03 * way


@pytest.mark.parametrize("seed", [2, 4, 6])
def test_bands_of_an_exact_product_are_its_rotations(seed):
    rng = np.random.default_rng(seed)
    A, W = rng.gamma(1.0, size=(6, 2)) + 0.2, rng.gamma(1.0, size=(2, 9)) + 0.2
    problem = Problem.without_model(Dataset.from_array(A @ W), 2)
    found = displace_contributions(problem, A, W, np.arange(2), 1e-5)
    (first_out, first_in), (second_in, second_out) = Feasible.of(A, W).intervals
    mean = component_shares(A[None], W[None])[0, 1]
    share = lambda one, two: (two - mean) / (two - one)  # noqa: E731
    assert found.lower[0] == pytest.approx(share(first_out, second_in), abs=2e-3)
    assert found.upper[0] == pytest.approx(share(first_in, second_out), abs=2e-3)
    assert found.lower + found.upper[::-1] == pytest.approx(1.0, abs=4e-3)


@pytest.mark.parametrize("loss", [SQUARED_ERROR, KULLBACK_LEIBLER])
def test_ends_are_allowed_and_nothing_is_below_zero(loss):
    rng = np.random.default_rng(0)
    X = rng.poisson(20 * rng.gamma(0.5, size=(12, 3)) @ rng.gamma(0.5, size=(3, 20))) + 0.0
    problem, A, W, error = solved(X, 3, loss)
    allowed = allowed_error(error, 0.1)
    found = displace_contributions(problem, A, W, np.array([0, 2]), allowed)
    for k in range(2):
        f = loss.values(problem, found.A[k], found.W[k])
        assert (loss.measured(problem.dataset, f) <= allowed * (1 + 1e-9)).all()
    assert found.A.min() >= 0 and found.W.min() >= 0
    assert (found.lower < found.value).all() and (found.value < found.upper).all()


def test_a_component_that_is_not_needed_may_be_nothing():
    rng = np.random.default_rng(1)
    X = np.outer(rng.random(8), rng.random(10)) + 0.01 * rng.random((8, 10))
    problem, A, W, error = solved(X, 2)
    found = displace_contributions(problem, A, W, np.arange(2), 3 * error)
    assert found.lower.min() < 1e-3


def test_slopes_of_what_is_made_small_are_right():
    rng = np.random.default_rng(3)
    A, W = rng.random((1, 4, 2)), rng.random((1, 2, 5))
    problem = Problem.without_model(Dataset.from_array(rng.random((4, 5))), 2)
    one = np.array([1])
    objective = _NearContribution(problem, one, np.array([0.7]), np.array([30.0]), 4.0)

    def split(x):
        return x[None, :8].reshape(1, 4, 2), x[None, 8:].reshape(1, 2, 5)

    def slope(x):
        _, by_A, by_W = objective.values_and_gradients(*split(x))
        return np.concatenate([by_A.ravel(), by_W.ravel()])

    x, d = np.concatenate([A.ravel(), W.ravel()]), rng.random(18)
    assert check_grad(lambda x: objective.values(*split(x))[0], slope, x) < 1e-5
    along = np.concatenate([g.ravel() for g in objective.gradients_along(A, W, *split(d))])
    assert along == pytest.approx((slope(x + 1e-6 * d) - slope(x - 1e-6 * d)) / 2e-6, rel=1e-6)


def test_it_can_be_cancelled_and_says_what_it_needs():
    problem, A, W, error = solved(np.random.default_rng(0).random((6, 7)), 2)
    with pytest.raises(Cancelled):
        displace_contributions(problem, A, W, np.arange(2), 2 * error, cancel=lambda: True)
    with pytest.raises(SettingsError, match="is not above"):
        displace_contributions(problem, A, W, np.arange(2), error / 2)
    with pytest.raises(SettingsError, match="One component"):
        displace_contributions(problem, A[:, :1], W[:1], np.arange(1), 1.0)
