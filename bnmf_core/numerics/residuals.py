"""Squared and relative Frobenius errors of factorizations."""

import numpy as np
from scipy import sparse

from bnmf_core.core.errors import DataError
from bnmf_core.numerics.linalg import blocks
from bnmf_core.numerics.matrix import Matrix, is_sparse

# Entries below this fraction of the largest count as zero.
ZERO = 1e-9


def squared_errors(
    X: Matrix, A: np.ndarray, W: np.ndarray, mask: np.ndarray | None = None
) -> np.ndarray:
    """Squared Frobenius error ‖X − A W‖²_F of each factorization.

    Parameters
    ----------
    X : (D, N) array or scipy sparse matrix. A : (M, D, R). W : (M, R, N).
    mask : (D, N) bool, True where X was observed; other entries are left out of the sum.

    Returns
    -------
    (M,) float64. A dense X is subtracted entry by entry, in blocks of 8 MB. For a sparse X the
    expanded form ‖X‖² − 2⟨AᵀX, W⟩ + ⟨AᵀA, WWᵀ⟩ avoids a dense D×N matrix; it is exact to
    about 1e-15·‖X‖², so relative errors below 1e-7 are not resolved there.

    Raises
    ------
    DataError
        When the shapes do not fit, or a mask comes with a sparse X.
    """
    _check(X, A, W, mask)
    errors = np.empty(A.shape[0])
    if is_sparse(X):
        X = sparse.csc_array(X, dtype=np.float64)
        norm = float(np.vdot(X.data, X.data))
        transposed = X.T
        for m in range(A.shape[0]):
            basis = np.asarray(A[m], dtype=np.float64)
            weights = np.asarray(W[m], dtype=np.float64)
            product = np.vdot(np.asarray(transposed @ basis), weights.T)
            square = np.vdot(basis.T @ basis, weights @ weights.T)
            errors[m] = max(norm - 2.0 * product + square, 0.0)
        return errors
    for m in range(A.shape[0]):
        basis = np.asarray(A[m], dtype=np.float64)
        weights = np.asarray(W[m], dtype=np.float64)
        errors[m] = 0.0
        for rows, columns in blocks(X):
            residual = basis[rows] @ weights[:, columns]
            residual -= X[rows, columns]
            if mask is not None:
                residual *= mask[rows, columns]
            errors[m] += np.vdot(residual, residual)
    return errors


def free_numbers(A: np.ndarray, W: np.ndarray) -> int:
    """Entries of A (D, R) and W (R, N) that are not zero, less one scale for each component."""
    return sum(int((F > ZERO * F.max()).sum()) for F in (A, W)) - len(W)


def relative_errors(
    X: Matrix, A: np.ndarray, W: np.ndarray, mask: np.ndarray | None = None
) -> np.ndarray:
    """Relative Frobenius error ‖X − A W‖_F / ‖X‖_F of each factorization: (M,).

    The arguments are those of :func:`squared_errors`; with a mask both norms are over
    the observed entries.

    Raises
    ------
    DataError
        When the shapes do not fit, or X holds nothing but zeros.
    """
    errors = squared_errors(X, A, W, mask)
    norm = _squared_norm(X, mask)
    if norm == 0.0:
        raise DataError("Every entry of the matrix is zero; a relative error is not defined.")
    return np.sqrt(errors / norm)


def _squared_norm(X: Matrix, mask: np.ndarray | None) -> float:
    if is_sparse(X):
        return float(np.vdot(X.data, X.data))
    norm = 0.0
    for rows, columns in blocks(X):
        values = np.asarray(X[rows, columns], dtype=np.float64)
        if mask is not None:
            values = np.where(mask[rows, columns], values, 0.0)
        norm += float(np.vdot(values, values))
    return norm


def _check(X: Matrix, A: np.ndarray, W: np.ndarray, mask: np.ndarray | None) -> None:
    D, N = X.shape
    fits = A.ndim == 3 and W.ndim == 3 and A.shape[0] == W.shape[0] and A.shape[2] == W.shape[1]
    if not fits or A.shape[1] != D or W.shape[2] != N:
        raise DataError(
            f"A {A.shape} and W {W.shape} do not reproduce a {D}×{N} matrix; A is (M, {D}, R) "
            f"and W (M, R, {N})."
        )
    if mask is not None and is_sparse(X):
        raise DataError("A mask needs a dense matrix; this one is sparse.")
    if mask is not None and mask.shape != X.shape:
        raise DataError(f"The mask is {mask.shape}, but the matrix is {X.shape}.")
