"""Gaussian likelihood, exponential priors (Schmidt, Winther & Hansen 2009; paper 3, §5.1).

X_dn ~ N((AW)_dn, σ²) for every entry that was seen, every entry of A and W ~ Exp(λ). An entry that
was not seen has been integrated out: it adds nothing to any sum.
"""

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting
from bnmf_core.core.squared_error import SMALLEST_RELATIVE_NOISE, SQUARED_ERROR
from bnmf_core.likelihoods import composed, priors
from bnmf_core.likelihoods.reference import reference_variance


@dataclass(frozen=True)
class Noise:
    """The size of the noise."""

    sigma: float | None = setting(
        None,
        "Noise level σ",
        "Standard deviation of the noise in each entry of X, in the unit of X. Empty: from the "
        "squared error of the best of three NMFs, over the number of entries less the number of "
        "fitted parameters.",
        minimum=1e-12,
    )


@dataclass(frozen=True)
class Settings(priors.Rate, Noise):
    """Settings of the gaussian model."""


NoiseT = TypeVar("NoiseT", bound=Noise)


def with_noise(dataset: Dataset, rank: int, settings: NoiseT) -> NoiseT:
    """The settings with σ, where it is open: see :func:`reference_variance`."""
    if settings.sigma is not None:
        return settings
    typical = np.sqrt(dataset.squared_norm / dataset.observed)
    sigma = max(np.sqrt(reference_variance(dataset, rank)), SMALLEST_RELATIVE_NOISE * typical)
    return replace(settings, sigma=float(sigma))


def constant(problem: Problem) -> float:
    """−log of the normaliser, in nats."""
    data = problem.dataset
    return -0.5 * data.observed * float(np.log(2 * np.pi * problem.model_settings.sigma**2))


def draw(problem: Problem, Y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """X = Y and noise; entries may be negative."""
    return Y + problem.model_settings.sigma * rng.standard_normal(Y.shape)


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


def noise_level(settings: Any) -> float:
    """σ."""
    return float(settings.sigma)


LIKELIHOOD = composed.Likelihood(
    loss=lambda settings: SQUARED_ERROR,
    resolve=with_noise,
    per_loss=lambda settings: 0.5 / settings.sigma**2,
    constant=constant,
    draw=draw,
    noise_variance=lambda settings: settings.sigma**2,
    extras={"noise_level": noise_level, "curvature": curvature},
)

MODEL = composed.model(
    LIKELIHOOD,
    priors.EXPONENTIAL,
    Settings,
    key="gaussian",
    label="Gaussian noise, exponential priors",
    summary="Every entry of X has the same noise variance; small entries of A and W are more "
    "probable than large ones.",
    reference="Schmidt, Winther & Hansen 2009",
)
