"""Sums over counts: against scipy's negative binomial, differences, and dense arrays."""

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.special import gammaln

from bnmf_core.numerics.counts import Counts


@pytest.fixture
def factors():
    rng = np.random.default_rng(0)
    return rng.gamma(1.0, 1.0, (6, 2)), rng.gamma(1.0, 3.0, (2, 5))


@pytest.mark.parametrize("gaps", [False, True])
def test_the_negative_binomial_is_that_of_scipy(factors, gaps):
    A, W = factors
    rng = np.random.default_rng(1)
    seen = (rng.random((6, 5)) < 0.6).astype(float) if gaps else None
    there = np.ones((6, 5)) if seen is None else seen
    X = rng.poisson(4.0, (6, 5)) * there
    counts = Counts.of(X, seen)
    for log_k in (-2.0, 0.0, 3.0):
        k = np.exp(log_k)
        expected = stats.nbinom.logpmf(X, k, k / (k + A @ W)) + gammaln(X + 1)
        found = counts.negative_binomial_value(A, W, log_k)
        assert found == pytest.approx((expected * there).sum(), rel=1e-12)
        slope, bend = counts.negative_binomial_bends(A, W, log_k)
        step = 1e-4
        up, down = (counts.negative_binomial_value(A, W, log_k + s) for s in (step, -step))
        assert slope == pytest.approx((up - down) / (2 * step), rel=1e-5, abs=1e-5)
        assert bend == pytest.approx((up - 2 * found + down) / step**2, rel=1e-3, abs=1e-3)


def test_a_large_dispersion_is_poisson(factors):
    A, W = factors
    X = np.random.default_rng(2).poisson(A @ W).astype(float)
    found = Counts.of(X, None).negative_binomial_value(A, W, np.log(1e9))
    poisson = stats.poisson.logpmf(X, A @ W).sum() + gammaln(X + 1).sum()
    assert found == pytest.approx(poisson, abs=1e-4)


def test_sparse_and_dense_counts_are_the_same(factors):
    A, W = factors
    X = np.random.default_rng(3).poisson(0.5, (6, 5)).astype(float)
    whole, of_sparse = Counts.of(X, None), Counts.of(sparse.csc_array(X), None)
    for name in ("rows", "columns", "values"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(of_sparse, name))
    fitted = (A @ W)[whole.rows, whole.columns]
    np.testing.assert_allclose(whole.fitted(A, W), fitted, rtol=1e-12)
    assert whole.total == X.sum()
