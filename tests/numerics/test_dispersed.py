"""The negative binomial log likelihood: against scipy's, and differences."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import digamma, gammaln, polygamma

from bnmf_core.numerics import dispersed
from bnmf_core.numerics.counts import Counts

K = np.exp([-2.0, 0.0, 3.0])


@pytest.fixture(params=[False, True], ids=["whole", "gaps"])
def case(request):
    """Counts (6, 5) with what was seen, and three factorizations."""
    rng = np.random.default_rng(0)
    A, W = rng.gamma(1.0, 1.0, (3, 6, 2)), rng.gamma(1.0, 3.0, (3, 2, 5))
    seen = (rng.random((6, 5)) < 0.6).astype(float) if request.param else np.ones((6, 5))
    X = rng.poisson(4.0, (6, 5)) * seen
    return X, seen, Counts.of(X, seen if request.param else None), A, W


def expected(X: np.ndarray, seen: np.ndarray, Y: np.ndarray, k: np.ndarray) -> np.ndarray:
    each = k[:, None, None]
    return ((stats.nbinom.logpmf(X, each, each / (each + Y)) + gammaln(X + 1)) * seen).sum((1, 2))


@pytest.mark.parametrize("together", [2**18, 12])  # all at once, and row by row
def test_values_are_those_of_scipy_and_slopes_those_of_differences(case, together, monkeypatch):
    monkeypatch.setattr(dispersed, "BLOCK_ENTRIES", together)
    X, seen, counts, A, W = case
    values, by_A, by_W, by_k = dispersed.log_likelihood(counts, A, W, K)
    np.testing.assert_allclose(values, expected(X, seen, A @ W, K), rtol=1e-12)
    alone, first, second = dispersed.of_dispersion(counts, A, W, K)
    np.testing.assert_array_equal(alone, values)
    np.testing.assert_array_equal(first, by_k)

    step, rng = 1e-4, np.random.default_rng(1)
    up, down = (expected(X, seen, A @ W, K * np.exp(s)) for s in (step, -step))
    np.testing.assert_allclose(first, (up - down) / (2 * step), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(second, (up - 2 * values + down) / step**2, rtol=1e-3, atol=1e-3)
    to_A, to_W = rng.standard_normal(A.shape), rng.standard_normal(W.shape)
    along = (by_A * to_A).sum((1, 2)) + (by_W * to_W).sum((1, 2))
    up, down = (expected(X, seen, (A + s * to_A) @ (W + s * to_W), K) for s in (1e-6, -1e-6))
    np.testing.assert_allclose(along, (up - down) / 2e-6, rtol=1e-6, atol=1e-6)


def test_a_large_dispersion_is_poisson(case):
    X, seen, counts, A, W = case
    found = dispersed.of_dispersion(counts, A, W, np.full(3, 1e9))[0]
    poisson = ((stats.poisson.logpmf(X, A @ W) + gammaln(X + 1)) * seen).sum((1, 2))
    np.testing.assert_allclose(found, poisson, atol=1e-4)


def test_counts_without_a_mean_are_all_but_impossible_and_no_error():
    X = np.array([[3.0, 0.0], [0.0, 1.0]])
    A, W = np.zeros((1, 2, 1)), np.ones((1, 1, 2))
    values, by_A, by_W, by_k = dispersed.log_likelihood(Counts.of(X, None), A, W, np.ones(1))
    assert values[0] < -1e3 and np.isfinite([values[0], by_k[0]]).all()
    assert (by_A > 0).all() and not np.isnan(by_W).any()


@pytest.mark.parametrize("z", [1e-3, 0.3, 1.0, 15.9, 16.0, 100.0, 1e9])
def test_log_gamma_and_its_derivatives_are_those_of_scipy(z):
    found = dispersed.log_gamma(z)
    wanted = [gammaln(z), digamma(z), polygamma(1, z)]
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)
