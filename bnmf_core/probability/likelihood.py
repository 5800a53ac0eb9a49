"""What models with Gaussian noise share: X_dn ~ N((AW)_dn, σ²), for every entry that was seen.

An entry that was not seen has been integrated out: it adds nothing to any sum.
"""

from collections.abc import Iterator

import numpy as np

from bnmf_core.core.problem import Problem
from bnmf_core.numerics.linalg import blocks
from bnmf_core.numerics.matrix import dense
from bnmf_core.numerics.residuals import squared_errors

# Entries of a residual (512 kB) that are worked on together: they stay in the cache.
RESIDUAL_ENTRIES = 2**16


def log_likelihood(
    problem: Problem, A: np.ndarray, W: np.ndarray, squared: np.ndarray | None = None
) -> np.ndarray:
    """−‖X − AW‖²/(2σ²) of each particle, without the constant: the papers' tables print this."""
    if squared is None:
        squared = squared_errors(problem.dataset.X, A, W, problem.dataset.mask)
    return -squared / (2 * problem.model_settings.sigma**2)


def constant(problem: Problem) -> float:
    """What the full log density of X adds to :func:`log_likelihood`, in nats."""
    data = problem.dataset
    return -0.5 * data.observed * np.log(2 * np.pi * problem.model_settings.sigma**2)


def log_likelihood_and_gradients(
    problem: Problem, A: np.ndarray, W: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """:func:`log_likelihood` (M,) and its gradients in A (M, D, R) and W (M, R, N)."""
    return fit_and_gradients(problem, A, W, problem.model_settings.sigma**-2)


def fit_and_gradients(
    problem: Problem, A: np.ndarray, W: np.ndarray, precision: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """−½·precision·‖X − AW‖² (M,) and its gradients in A (M, D, R) and W (M, R, N).

    One product of X with all A and one with all W. ‖X − AW‖² comes from the same products as
    ‖X‖² − 2⟨XWᵀ, A⟩ + ⟨AᵀA, WWᵀ⟩, exact to about 1e-15·‖X‖². Where X has gaps, the residual E of
    the seen entries is formed instead: ‖E‖², EWᵀ and AᵀE.
    """
    if problem.dataset.missing:
        return _seen_fit_and_gradients(problem, A, W, precision)
    transposed = A.transpose(0, 2, 1)
    gram_A, gram_W = transposed @ A, W @ W.transpose(0, 2, 1)
    gradient_A = problem.times_rows(W)
    M = gradient_A.shape[0]
    product = np.vecdot(gradient_A, transposed).sum(axis=1)
    square = np.vecdot(gram_A.reshape(M, -1), gram_W.reshape(M, -1))
    gradient_A -= gram_W @ transposed
    gradient_A *= precision
    gradient_W = problem.times_columns(transposed)
    gradient_W -= gram_A @ W
    gradient_W *= precision
    squared = problem.dataset.squared_norm - 2.0 * product + square
    return -0.5 * precision * squared, gradient_A.transpose(0, 2, 1), gradient_W


def gradients_along(
    problem: Problem, A: np.ndarray, W: np.ndarray, moved_A: np.ndarray, moved_W: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Derivative of the gradients of :func:`log_likelihood` along (moved_A, moved_W)."""
    precision = problem.model_settings.sigma**-2
    return fit_gradients_along(problem, A, W, moved_A, moved_W, precision)


def fit_gradients_along(
    problem: Problem,
    A: np.ndarray,
    W: np.ndarray,
    moved_A: np.ndarray,
    moved_W: np.ndarray,
    precision: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Derivative of the gradients of :func:`fit_and_gradients` along (moved_A, moved_W).

    With E = X − AW, Ȧ and Ẇ the direction and σ the noise, the gradients EWᵀ/σ² and AᵀE/σ² change
    by (XẆᵀ − Ȧ WWᵀ − A(ẆWᵀ + WẆᵀ))/σ² and (ȦᵀX − (ȦᵀA + AᵀȦ)W − AᵀA Ẇ)/σ²: the Hessian times
    the direction, without the Hessian. Shapes (M, D, R) and (M, R, N), in and out. Where X has
    gaps, by ĖWᵀ + EẆᵀ and ȦᵀE + AᵀĖ with Ė = −(ȦW + AẆ), over the seen entries.
    """
    if problem.dataset.missing:
        return _seen_gradients_along(problem, A, W, moved_A, moved_W, precision)
    transposed, moved = A.transpose(0, 2, 1), moved_A.transpose(0, 2, 1)
    mixed_A, mixed_W = moved @ A, moved_W @ W.transpose(0, 2, 1)
    along_A = problem.times_rows(moved_W)
    along_A -= (W @ W.transpose(0, 2, 1)) @ moved
    along_A -= (mixed_W + mixed_W.transpose(0, 2, 1)) @ transposed
    along_W = problem.times_columns(np.ascontiguousarray(moved))
    along_W -= (mixed_A + mixed_A.transpose(0, 2, 1)) @ W
    along_W -= (transposed @ A) @ moved_W
    along_A *= precision
    along_W *= precision
    return along_A.transpose(0, 2, 1), along_W


def _seen_fit_and_gradients(
    problem: Problem, A: np.ndarray, W: np.ndarray, precision: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    squared, by_A, by_W = np.zeros(A.shape[0]), np.zeros(A.shape), np.zeros(W.shape)
    for m, rows, columns, seen in _seen_blocks(problem, A.shape[0]):
        basis, weights = A[m, rows], W[m][:, columns]
        E = problem.dataset.X[rows, columns] - basis @ weights
        E *= seen
        squared[m] += np.vdot(E, E)
        by_A[m, rows] += E @ weights.T
        by_W[m][:, columns] += basis.T @ E
    return -0.5 * precision * squared, precision * by_A, precision * by_W


def _seen_gradients_along(
    problem: Problem,
    A: np.ndarray,
    W: np.ndarray,
    moved_A: np.ndarray,
    moved_W: np.ndarray,
    precision: float,
) -> tuple[np.ndarray, np.ndarray]:
    along_A, along_W = np.zeros(A.shape), np.zeros(W.shape)
    for m, rows, columns, seen in _seen_blocks(problem, A.shape[0]):
        basis, weights = A[m, rows], W[m][:, columns]
        moved_basis, moved_weights = moved_A[m, rows], moved_W[m][:, columns]
        E = (problem.dataset.X[rows, columns] - basis @ weights) * seen
        moved_E = (moved_basis @ weights + basis @ moved_weights) * -seen
        along_A[m, rows] += moved_E @ weights.T + E @ moved_weights.T
        along_W[m][:, columns] += moved_basis.T @ E + basis.T @ moved_E
    return precision * along_A, precision * along_W


def _seen_blocks(problem: Problem, M: int) -> Iterator[tuple[int, slice, slice, np.ndarray]]:
    """Each particle with each block of X, and 1 where the block was seen."""
    seen = problem.seen
    assert seen is not None
    for rows, columns in blocks(dense(problem.dataset.X), RESIDUAL_ENTRIES):
        for m in range(M):
            yield m, rows, columns, seen[rows, columns]
