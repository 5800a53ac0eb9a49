"""Priors of A and W that models share."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import gammaln

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.model import EntryPrior, Pair, Support, fine
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting

# Of the density by the entries of A and of W.
Slopes = Callable[[Any, np.ndarray, np.ndarray], tuple[np.ndarray | float, np.ndarray | float]]


@dataclass(frozen=True)
class Rate:
    """The rate of exponential priors on A and W."""

    rate: float | None = setting(
        None,
        "Prior rate λ",
        "Rate of the exponential prior on every entry of A and W. Empty: √(R / mean of X), at "
        "which AW has the mean of X; 1 is as published, and suits data whose entries are about R.",
        minimum=0,
    )


@dataclass(frozen=True)
class RateOfWeights:
    """The rate of an exponential prior on W alone."""

    rate: float | None = setting(
        None,
        "Prior rate λ",
        "Rate of the exponential prior on every entry of W. Empty: R / (D × mean of X), at which "
        "AW has the mean of X; 1 is as published, and on large entries favours AW near 0.",
        minimum=0,
    )


@dataclass(frozen=True)
class Prior:
    """p(A, W), up to scale invariances that the support leaves.

    Attributes
    ----------
    support_A, support_W : where A and W live.
    log_density : ``(problem, A (M, D, R), W (M, R, N)) → (M,)`` nats, with every constant.
    slopes, bends : ``(settings, A, W) →`` its derivative by every entry of A and of W, and the
        second one, arrays or one number for all; None: no bends.
    draw : ``(problem, rng) → A (D, R), W (R, N)``. scale, improper : see ``Model``.
    typical_rate : ``(dataset, rank, settings) → λ`` at which AW has the mean of X; None without a
        rate.
    entry : ``settings → EntryPrior`` of every entry; None where entries depend on each other.
    """

    support_A: Support
    support_W: Support
    log_density: Callable[[Problem, np.ndarray, np.ndarray], np.ndarray]
    slopes: Slopes
    draw: Callable[[Problem, np.random.Generator], Pair]
    scale: Callable[[np.ndarray, np.ndarray], Pair]
    bends: Slopes | None = None
    improper: Callable[[Any], str] = fine
    typical_rate: Callable[[Dataset, int, Any], float] | None = None
    entry: Callable[[Any], EntryPrior] | None = None

    def resolved(self, dataset: Dataset, rank: int, settings: Any) -> Any:
        """The settings with an open λ from the data."""
        if self.typical_rate is None or settings.rate is not None:
            return settings
        return replace(settings, rate=self.typical_rate(dataset, rank, settings))


def improper(settings: Any) -> str:
    """Settings that a flat prior needs for a proper posterior; "" if met."""
    if settings.rate is None or settings.rate > 0:
        return ""
    return "a prior rate λ above 0: with a flat prior the posterior has no finite total"


def typical_rate(dataset: Dataset, rank: int, settings: object) -> float:
    """λ at which AW has the mean of X, as its mean under exponential priors is R/λ².

    Of one component that fits exactly, it maximizes the marginal likelihood with the scale
    integrated out, up to a part of order 1/D + 1/N.
    """
    return float(np.sqrt(rank / dataset.mean))


def _log_exponential(problem: Problem, A: np.ndarray, W: np.ndarray) -> np.ndarray:
    rate, data = problem.model_settings.rate, problem.dataset
    parameters = problem.rank * (data.D + data.N)
    normaliser = parameters * np.log(rate) if rate > 0 else 0.0  # λ = 0: a flat, improper prior
    return normaliser - rate * (A.sum(axis=(1, 2)) + W.sum(axis=(1, 2)))


def _draw_exponential(problem: Problem, rng: np.random.Generator) -> Pair:
    scale = 1 / problem.model_settings.rate
    A = rng.exponential(scale, (problem.dataset.D, problem.rank))
    return A, rng.exponential(scale, (problem.rank, problem.dataset.N))


def equal_sums(A: np.ndarray, W: np.ndarray) -> Pair:
    """Move each component's scale to where equal exponential priors are largest.

    A_r → s A_r, W_r → W_r / s leaves AW alone; −λ(s ΣA_r + ΣW_r / s) is largest where both
    sums are equal. A component with an empty side stays as it is.
    """
    sum_A, sum_W = A.sum(axis=1), W.sum(axis=2)
    both = (sum_A > 0) & (sum_W > 0)
    s = np.where(both, np.sqrt(np.where(both, sum_W, 1.0) / np.where(both, sum_A, 1.0)), 1.0)
    return A * s[:, None, :], W / s[:, :, None]


def _log_simplex(problem: Problem, A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """The density of a column of A with respect to its first D − 1 entries: (D − 1)! everywhere."""
    rate, data = problem.model_settings.rate, problem.dataset
    normaliser = problem.rank * gammaln(data.D)
    if rate > 0:  # λ = 0: a flat, improper prior
        normaliser += problem.rank * data.N * np.log(rate)
    return normaliser - rate * W.sum(axis=(1, 2))


def _draw_simplex(problem: Problem, rng: np.random.Generator) -> Pair:
    A = rng.exponential(size=(problem.dataset.D, problem.rank))
    W = rng.exponential(1 / problem.model_settings.rate, (problem.rank, problem.dataset.N))
    return A / A.sum(axis=0), W


def columns_sum_to_one(A: np.ndarray, W: np.ndarray) -> Pair:
    """Make every column of A sum to 1 and give its scale to the row of W.

    An empty column becomes the uniform one, and its row of W zero: AW stays what it was.
    """
    sums = A.sum(axis=1)
    empty = sums <= 0
    divided = A / np.where(empty, 1.0, sums)[:, None, :]
    return np.where(empty[:, None, :], 1 / A.shape[1], divided), W * sums[:, :, None]


EXPONENTIAL = Prior(
    support_A=Support.POSITIVE,
    support_W=Support.POSITIVE,
    log_density=_log_exponential,
    slopes=lambda settings, A, W: (-settings.rate, -settings.rate),
    draw=_draw_exponential,
    scale=equal_sums,
    improper=improper,
    typical_rate=typical_rate,
    entry=lambda settings: EntryPrior(settings.rate),
)
# Every column of A ~ Dirichlet(1, …, 1): the prior that fixes the scale (paper 3, §5.2).
SIMPLEX = Prior(
    support_A=Support.SIMPLEX,
    support_W=Support.POSITIVE,
    log_density=_log_simplex,
    slopes=lambda settings, A, W: (0.0, -settings.rate),
    draw=_draw_simplex,
    scale=columns_sum_to_one,
    improper=improper,
    typical_rate=lambda dataset, rank, settings: rank / (dataset.D * dataset.mean),
)
