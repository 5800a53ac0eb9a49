"""Gaussian likelihood, exponential priors (Schmidt, Winther & Hansen 2009; paper 3, §5.1).

X_dn ~ N((AW)_dn, σ²), every entry of A and W ~ Exp(λ).
"""

from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.model import Conditionals, EntryPrior, Model, Support
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting
from bnmf_core.probability import likelihood
from bnmf_core.probability.reference import reference_errors

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
    rate: float | None = setting(
        None,
        "Prior rate λ",
        "Rate of the exponential prior on every entry of A and W. Left open: √(R / mean of X), at "
        "which AW has the mean of X; 1 is as published, and fits data whose entries are about R.",
        minimum=0,
    )


SettingsT = TypeVar("SettingsT", bound=Settings)


class Rated(Protocol):
    """Settings with the rate of exponential priors among them."""

    @property
    def rate(self) -> float | None:
        """Of the priors, λ; None: from the data."""


class Resolved(Protocol):
    """Settings with nothing left open."""

    @property
    def rate(self) -> float:
        """Of the priors, λ."""

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise."""


def resolve(dataset: Dataset, rank: int, settings: Settings) -> Settings:
    """Take an open σ from the data: paper 3, §6.1 (residual of a reference NMF), and λ."""
    rate = typical_rate(dataset, rank) if settings.rate is None else settings.rate
    return with_noise(dataset, rank, replace(settings, rate=rate))


def typical_rate(dataset: Dataset, rank: int) -> float:
    """λ at which AW has the mean of X, as its mean under the prior is R/λ².

    Of one component that fits exactly, it maximizes the marginal likelihood with the scale
    integrated out, up to a part of order 1/D + 1/N.
    """
    return float(np.sqrt(rank / dataset.mean))


def with_noise(dataset: Dataset, rank: int, settings: SettingsT) -> SettingsT:
    """The settings with σ, where it is open, from the residual of a reference NMF."""
    if settings.sigma is not None:
        return settings
    squared = float(reference_errors(dataset, rank, restarts=1)[0])
    typical = np.sqrt(dataset.squared_norm / dataset.observed)
    sigma = max(np.sqrt(squared / dataset.observed), SMALLEST_RELATIVE_SIGMA * typical)
    return replace(settings, sigma=float(sigma))


def log_joint(
    problem: Problem, A: np.ndarray, W: np.ndarray, squared: np.ndarray | None = None
) -> np.ndarray:
    """log p(X, A, W) with every normalising constant, in nats: (M,)."""
    likelihoods = likelihood.log_likelihood(problem, A, W, squared)
    return likelihoods + likelihood.constant(problem) + log_prior(problem, A, W)


def log_joint_and_score(
    problem: Problem, A: np.ndarray, W: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The log joint (M,) and its gradients in A (M, D, R) and W (M, R, N)."""
    values, gradient_A, gradient_W = likelihood.log_likelihood_and_gradients(problem, A, W)
    gradient_A -= problem.model_settings.rate
    gradient_W -= problem.model_settings.rate
    values += likelihood.constant(problem) + log_prior(problem, A, W)
    return values, gradient_A, gradient_W


def score(problem: Problem, A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradient of the log joint in A (M, D, R) and in W (M, R, N)."""
    return log_joint_and_score(problem, A, W)[1:]


def curvature(
    problem: Problem, A: np.ndarray, W: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Trace of the log joint's second derivatives, (M,), and its gradients (paper 2, §3.2).

    −∂²/∂A_dr² is Σ_n W_rn²/σ² over the entries of row d that were seen, and likewise for W, so that
    −σ² Tr H = Σ_n s_n ‖W_n‖² + Σ_d s_d ‖A_d‖² with s the numbers of seen entries: D and N.
    """
    data, precision = problem.dataset, problem.model_settings.sigma**-2
    of_rows, of_columns = np.full(data.D, float(data.N)), np.full(data.N, float(data.D))
    if data.mask is not None:
        of_rows, of_columns = data.mask.sum(axis=1), data.mask.sum(axis=0)
    by_A, by_W = A * (-2 * precision * of_rows[:, None]), W * (-2 * precision * of_columns)
    trace = 0.5 * (np.einsum("mdr,mdr->m", A, by_A) + np.einsum("mrn,mrn->m", W, by_W))
    return trace, by_A, by_W


def improper(settings: Rated) -> str:
    """What a flat prior on positive entries would need for a posterior with a finite total."""
    if settings.rate is None or settings.rate > 0:
        return ""
    return "a prior rate λ above 0: with a flat prior the posterior has no finite total"


def conditionals(settings: Resolved) -> Conditionals:
    """Every entry is drawn from a normal cut to x ≥ 0 (Schmidt, Winther & Hansen 2009)."""
    prior_of_both = EntryPrior(settings.rate)
    return Conditionals(settings.sigma**2, prior_of_both, prior_of_both)


def noise_level(settings: Resolved) -> float:
    """σ."""
    return settings.sigma


def prior(problem: Problem, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """One draw from the prior: A (D, R), W (R, N)."""
    scale = 1 / problem.model_settings.rate
    A = rng.exponential(scale, (problem.dataset.D, problem.rank))
    return A, rng.exponential(scale, (problem.rank, problem.dataset.N))


def log_prior(problem: Problem, A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """log p(A, W) with every constant, in nats: (M,)."""
    rate, data = problem.model_settings.rate, problem.dataset
    parameters = problem.rank * (data.D + data.N)
    normaliser = parameters * np.log(rate) if rate > 0 else 0.0  # λ = 0: a flat, improper prior
    return normaliser - rate * (A.sum(axis=(1, 2)) + W.sum(axis=(1, 2)))


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
    log_likelihood=likelihood.log_likelihood,
    support_A=Support.POSITIVE,
    support_W=Support.POSITIVE,
    prior=prior,
    scale=scale,
    improper=improper,
    score=score,
    log_joint_and_score=log_joint_and_score,
    score_along=likelihood.gradients_along,
    curvature=curvature,
    conditionals=conditionals,
    noise_level=noise_level,
    summary="Every entry of X is measured with the same noise; small entries of A and W are "
    "more probable than large ones.",
    reference="Schmidt, Winther & Hansen 2009",
)
