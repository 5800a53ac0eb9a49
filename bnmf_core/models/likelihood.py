"""What models with Gaussian noise share: X_dn ~ N((AW)_dn, σ²)."""

from typing import Any

import numpy as np

from bnmf_core.residuals import squared_errors


def log_likelihood(
    problem: Any, A: np.ndarray, W: np.ndarray, squared: np.ndarray | None = None
) -> np.ndarray:
    """−‖X − AW‖²/(2σ²) of each particle, without the constant: the papers' tables print this."""
    if squared is None:
        squared = squared_errors(problem.dataset.X, A, W, problem.dataset.mask)
    return -squared / (2 * problem.model_settings.sigma**2)


def constant(problem: Any) -> float:
    """What the full log density of X adds to :func:`log_likelihood`, in nats."""
    data = problem.dataset
    observed = data.D * data.N - data.missing
    return -0.5 * observed * np.log(2 * np.pi * problem.model_settings.sigma**2)


def log_likelihood_and_gradients(
    problem: Any, A: np.ndarray, W: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """:func:`log_likelihood` (M,) and its gradients in A (M, D, R) and W (M, R, N)."""
    return fit_and_gradients(problem, A, W, problem.model_settings.sigma**-2)


def fit_and_gradients(
    problem: Any, A: np.ndarray, W: np.ndarray, precision: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """−½·precision·‖X − AW‖² (M,) and its gradients in A (M, D, R) and W (M, R, N).

    One product of X with all A and one with all W. ‖X − AW‖² comes from the same products as
    ‖X‖² − 2⟨XWᵀ, A⟩ + ⟨AᵀA, WWᵀ⟩, exact to about 1e-15·‖X‖².
    """
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
    problem: Any, A: np.ndarray, W: np.ndarray, moved_A: np.ndarray, moved_W: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Derivative of the gradients of :func:`log_likelihood` along (moved_A, moved_W).

    With E = X − AW, Ȧ and Ẇ the direction and σ the noise, the gradients EWᵀ/σ² and AᵀE/σ² change
    by (XẆᵀ − Ȧ WWᵀ − A(ẆWᵀ + WẆᵀ))/σ² and (ȦᵀX − (ȦᵀA + AᵀȦ)W − AᵀA Ẇ)/σ²: the Hessian times
    the direction, without the Hessian. Shapes (M, D, R) and (M, R, N), in and out.
    """
    precision = problem.model_settings.sigma**-2
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
