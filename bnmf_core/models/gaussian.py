"""Gaussian likelihood, exponential priors (Schmidt, Winther & Hansen 2009; paper 3, §5.1).

X_dn ~ N((AW)_dn, σ²), every entry of A and W ~ Exp(λ).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bnmf_core.dataset import Dataset
from bnmf_core.models.reference import reference_errors
from bnmf_core.residuals import squared_errors
from bnmf_core.settings import setting
from bnmf_core.types import Model

# An exact factorization leaves no residual; a smaller σ than this would be rounding noise.
SMALLEST_RELATIVE_SIGMA = 1e-3


@dataclass(frozen=True)
class Settings:
    """Settings of the gaussian model."""

    sigma: float | None = setting(
        None,
        "Noise level σ",
        "Standard deviation of the noise on one entry of X, in X's unit. Left open: the "
        "residual standard deviation of a reference NMF of the same rank.",
        minimum=1e-12,
    )
    rate: float = setting(
        1.0, "Prior rate λ", "Rate of the exponential prior on every entry of A and W.", minimum=0
    )


def resolve(dataset: Dataset, rank: int, settings: Settings) -> Settings:
    """Take an open σ from the data: paper 3, §6.1 (residual of a reference NMF)."""
    if settings.sigma is not None:
        return settings
    squared = float(reference_errors(dataset, rank, restarts=1)[0])
    entries = dataset.D * dataset.N
    typical = np.sqrt(dataset.squared_norm / entries)
    sigma = max(np.sqrt(squared / entries), SMALLEST_RELATIVE_SIGMA * typical)
    return replace(settings, sigma=float(sigma))


def log_likelihood(
    problem: Any, A: np.ndarray, W: np.ndarray, squared: np.ndarray | None = None
) -> np.ndarray:
    """−‖X − AW‖²/(2σ²) of each particle, without the constant: the papers' tables print this."""
    if squared is None:
        squared = squared_errors(problem.dataset.X, A, W, problem.dataset.mask)
    return -squared / (2 * problem.model_settings.sigma**2)


def log_joint(
    problem: Any, A: np.ndarray, W: np.ndarray, squared: np.ndarray | None = None
) -> np.ndarray:
    """log p(X, A, W) with every normalising constant, in nats: (M,)."""
    sigma, rate = problem.model_settings.sigma, problem.model_settings.rate
    data = problem.dataset
    observed = data.D * data.N - data.missing
    constant = -0.5 * observed * np.log(2 * np.pi * sigma**2)
    parameters = problem.rank * (data.D + data.N)
    prior = parameters * np.log(rate) if rate > 0 else 0.0  # λ = 0: a flat, improper prior
    prior = prior - rate * (A.sum(axis=(1, 2)) + W.sum(axis=(1, 2)))
    return constant + log_likelihood(problem, A, W, squared) + prior


def score(problem: Any, A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradient of the log joint in A (M, D, R) and in W (M, R, N)."""
    precision, rate = problem.model_settings.sigma**-2, problem.model_settings.rate
    gradient_A, gradient_W = np.empty_like(A), np.empty_like(W)
    for m in range(A.shape[0]):
        XW = problem.rows @ W[m].T
        XA = problem.columns @ A[m]
        gradient_A[m] = precision * (XW - A[m] @ (W[m] @ W[m].T)) - rate
        gradient_W[m] = precision * (XA.T - (A[m].T @ A[m]) @ W[m]) - rate
    return gradient_A, gradient_W


def scale(A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Move each component's scale to where the equal exponential priors are largest.

    A_r → s A_r, W_r → W_r / s leaves AW alone; −λ(s ΣA_r + ΣW_r / s) is largest where both
    sums are equal. A component with an empty side stays as it is.
    """
    sum_A, sum_W = A.sum(axis=1), W.sum(axis=2)
    both = (sum_A > 0) & (sum_W > 0)
    s = np.where(both, np.sqrt(np.where(both, sum_W, 1.0) / np.where(both, sum_A, 1.0)), 1.0)
    return A * s[:, None, :], W / s[:, :, None]


MODEL = Model(
    key="gaussian",
    label="Gaussian noise, exponential priors",
    Settings=Settings,
    resolve=resolve,
    log_joint=log_joint,
    log_likelihood=log_likelihood,
    score=score,
    scale=scale,
    summary="Every entry of X is measured with the same noise; small entries of A and W are "
    "more probable than large ones.",
    reference="Schmidt, Winther & Hansen 2009",
)
