"""Counts as a list: against dense arrays."""

import numpy as np
import pytest
from scipy import sparse

from bnmf_core.numerics.counts import Counts


@pytest.fixture
def factors():
    rng = np.random.default_rng(0)
    return rng.gamma(1.0, 1.0, (6, 2)), rng.gamma(1.0, 3.0, (2, 5))


def test_sparse_and_dense_counts_are_the_same(factors):
    A, W = factors
    X = np.random.default_rng(3).poisson(0.5, (6, 5)).astype(float)
    whole, of_sparse = Counts.of(X, None), Counts.of(sparse.csc_array(X), None)
    for name in ("rows", "columns", "values"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(of_sparse, name))
    fitted = (A @ W)[whole.rows, whole.columns]
    np.testing.assert_allclose(whole.fitted(A, W), fitted, rtol=1e-12)
    assert whole.total == X.sum()
