"""Non-negative least squares against SciPy and the optimality conditions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy import sparse
from scipy.optimize import nnls

from bnmf_core.core.errors import DataError
from bnmf_core.solvers.nnls import solve_weights
from tests.generated import always

generated = always(80)


def reference(X, A):
    return np.stack([[nnls(basis, x)[0] for x in X.T] for basis in A]).swapaxes(1, 2)


@pytest.mark.parametrize("shape", [(20, 15, 5), (6, 12, 6), (64, 20, 30)])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csc_array])
def test_equals_scipy(shape, kind):
    D, N, R = shape
    rng = np.random.default_rng(D)
    X, A = rng.gamma(0.5, size=(D, N)), rng.gamma(0.5, size=(3, D, R))
    np.testing.assert_allclose(solve_weights(kind(X), A), reference(X, A), atol=1e-8)


def test_nearly_parallel_columns_are_solved_exactly():
    rng = np.random.default_rng(1)
    A = rng.gamma(0.5, size=(1, 40, 6))
    A[0, :, 1] = A[0, :, 0] * (1 + 1e-3 * rng.random(40))
    X = rng.gamma(0.5, size=(40, 25))
    assert np.linalg.cond(A[0]) > 1e3
    np.testing.assert_allclose(solve_weights(X, A), reference(X, A), atol=1e-8)


@given(
    A=npst.arrays(np.float64, (5, 4), elements=st.integers(0, 3).map(float)),
    X=npst.arrays(np.float64, (5, 3), elements=st.integers(0, 3).map(float)),
)
@generated
def test_optimality_conditions_hold_for_any_basis(A, X):
    # Whole numbers make zero, equal and dependent columns; the minimum is unique all the same.
    W = solve_weights(X, A[None])[0]
    gradient = A.T @ (A @ W - X)
    assert W.min() >= 0
    assert gradient.min() >= -1e-9
    assert np.abs(W * gradient).max() <= 1e-8
    best = [nnls(A, x)[1] for x in X.T]
    np.testing.assert_allclose(np.linalg.norm(A @ W - X, axis=0), best, atol=1e-8)


def test_the_scale_of_columns_is_taken_out():
    rng = np.random.default_rng(3)
    A, X = rng.random((1, 9, 4)), rng.random((9, 5))
    scale = np.array([1e-9, 1.0, 1e3, 1e9])
    plain = solve_weights(X, A)[0]
    np.testing.assert_allclose(
        solve_weights(X, A * scale)[0] * scale[:, None], plain, rtol=1e-9, atol=1e-12
    )


def test_an_empty_column_of_the_basis_gets_no_weight():
    A = np.array([[[1.0, 0.0], [1.0, 0.0]]])
    found = solve_weights(np.array([[2.0, 0.0], [4.0, 0.0]]), A)[0]
    np.testing.assert_allclose(found[0], [3, 0], rtol=1e-14)
    np.testing.assert_array_equal(found[1], 0.0)


def test_masked_entries_are_left_out():
    rng = np.random.default_rng(4)
    A, X = rng.random((2, 12, 3)), rng.random((12, 6))
    mask = rng.random(X.shape) < 0.7
    found = solve_weights(np.where(mask, X, 0.0), A, mask)
    for m in range(2):
        for n in range(6):
            seen = mask[:, n]
            expected = nnls(A[m][seen], X[seen, n])[0]
            np.testing.assert_allclose(found[m, :, n], expected, atol=1e-8)


def test_single_precision_read_only_bases_are_kept():
    rng = np.random.default_rng(5)
    A, X = rng.random((2, 9, 3)).astype(np.float32), rng.random((9, 4))
    A.flags.writeable = X.flags.writeable = False
    np.testing.assert_allclose(solve_weights(X, A), reference(X, A.astype(float)), atol=1e-8)


def test_what_does_not_fit_is_said():
    with pytest.raises(DataError, match="\\(M, 4, R\\)"):
        solve_weights(np.ones((4, 5)), np.ones((1, 3, 2)))
    with pytest.raises(DataError, match="finite"):
        solve_weights(np.ones((4, 5)), np.full((1, 4, 2), np.nan))
    with pytest.raises(DataError, match="dense"):
        solve_weights(sparse.csc_array(np.eye(4)), np.ones((1, 4, 2)), np.ones((4, 4), bool))
