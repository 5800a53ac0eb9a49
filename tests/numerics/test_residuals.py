"""Reconstruction errors against the plain formula."""

import numpy as np
import pytest
from scipy import sparse

from bnmf_core.core.errors import DataError
from bnmf_core.numerics.residuals import relative_errors, squared_errors


def problem(seed=0, M=3, D=8, R=2, N=11):
    rng = np.random.default_rng(seed)
    X = rng.random((D, N)) * (rng.random((D, N)) < 0.5)
    return X, rng.random((M, D, R)), rng.random((M, R, N))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csc_array, sparse.csr_array])
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_equals_the_plain_formula(kind, precision):
    X, A, W = problem()
    A, W = A.astype(precision), W.astype(precision)
    A.flags.writeable = W.flags.writeable = False
    residual = X - A.astype(float) @ W.astype(float)
    expected = (residual**2).sum(axis=(1, 2))
    np.testing.assert_allclose(squared_errors(kind(X), A, W), expected, rtol=1e-12)
    relative = np.sqrt(expected) / np.linalg.norm(X)
    np.testing.assert_allclose(relative_errors(kind(X), A, W), relative, rtol=1e-12)


def test_only_observed_entries_count():
    X, A, W = problem(seed=1)
    mask = np.random.default_rng(2).random(X.shape) < 0.7
    expected = [((X - a @ w)[mask] ** 2).sum() for a, w in zip(A, W, strict=True)]
    hidden = np.where(mask, X, 0.0)
    np.testing.assert_allclose(squared_errors(hidden, A, W, mask), expected, rtol=1e-12)
    relative = np.sqrt(expected) / np.linalg.norm(X[mask])
    np.testing.assert_allclose(relative_errors(hidden, A, W, mask), relative, rtol=1e-12)


def test_an_exact_factorization_has_no_error():
    _, A, W = problem(seed=3)
    X = A[0] @ W[0]
    assert relative_errors(X, A[:1], W[:1])[0] == 0.0
    assert relative_errors(sparse.csc_array(X), A[:1], W[:1])[0] < 1e-7


def test_what_does_not_fit_is_said():
    X, A, W = problem()
    with pytest.raises(DataError, match="8×11"):
        squared_errors(X, A[:, :-1], W)
    with pytest.raises(DataError, match="dense"):
        squared_errors(sparse.csc_array(X), A, W, np.ones(X.shape, bool))
    with pytest.raises(DataError, match="mask is"):
        squared_errors(X, A, W, np.ones((2, 2), bool))
    with pytest.raises(DataError, match="zero"):
        relative_errors(np.zeros_like(X), A, W)
