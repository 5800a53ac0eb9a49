"""Gamma priors on the entries of A and W, at a scale where columns of A sum to about one."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.model import GammaPrior, Pair, Support
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting
from bnmf_core.likelihoods.priors import Prior, columns_sum_to_one, improper


@dataclass(frozen=True)
class Gammas:
    """The gamma priors on A and W."""

    rate: float | None = setting(
        None,
        "Prior rate of W",
        "Rate of the gamma prior on every entry of W. Empty: shape × R / (D × mean of X), at "
        "which AW has the mean of X. Entries of A have the rate shape × D, so a column of A sums "
        "to about one.",
        minimum=0,
    )
    shape_A: float = setting(
        1.0,
        "Prior shape of A",
        "Shape of the gamma prior on every entry of A. 1: exponential; below 1, most entries of a "
        "component are near zero and a few are large.",
        minimum=0.01,
        maximum=100,
        advanced=True,
    )
    shape_W: float = setting(
        1.0,
        "Prior shape of W",
        "Shape of the gamma prior on every entry of W. 1: exponential; below 1, every observation "
        "has few components.",
        minimum=0.01,
        maximum=100,
        advanced=True,
    )


def of_entries(settings: Any, D: int) -> tuple[GammaPrior, GammaPrior]:
    """Priors of every entry of A (D, R) and of every entry of W."""
    of_W = GammaPrior(settings.shape_W, settings.rate)
    return GammaPrior(settings.shape_A, settings.shape_A * D), of_W


def _log_density(problem: Problem, A: np.ndarray, W: np.ndarray) -> np.ndarray:
    of_A, of_W = of_entries(problem.model_settings, problem.dataset.D)
    return of_A.log_density(A) + of_W.log_density(W)


def _slopes(
    settings: Any, A: np.ndarray, W: np.ndarray
) -> tuple[np.ndarray | float, np.ndarray | float]:
    of_A, of_W = of_entries(settings, A.shape[-2])
    return of_A.slope(A), of_W.slope(W)


def _bends(
    settings: Any, A: np.ndarray, W: np.ndarray
) -> tuple[np.ndarray | float, np.ndarray | float]:
    of_A, of_W = of_entries(settings, A.shape[-2])
    return of_A.bend(A), of_W.bend(W)


def _draw(problem: Problem, rng: np.random.Generator) -> Pair:
    data, R = problem.dataset, problem.rank
    of_A, of_W = of_entries(problem.model_settings, data.D)
    A = rng.gamma(of_A.shape, 1 / of_A.rate, (data.D, R))
    return A, rng.gamma(of_W.shape, 1 / of_W.rate, (R, data.N))


def typical_rate(dataset: Dataset, rank: int, settings: Any) -> float:
    """The rate of W at which AW has the mean of X."""
    return float(settings.shape_W * rank / (dataset.D * dataset.mean))


GAMMA = Prior(
    support_A=Support.POSITIVE,
    support_W=Support.POSITIVE,
    log_density=_log_density,
    slopes=_slopes,
    bends=_bends,
    draw=_draw,
    scale=columns_sum_to_one,
    improper=improper,
    typical_rate=typical_rate,
)
