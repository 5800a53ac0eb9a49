"""Gaussian likelihood of a binary matrix, factors between 0 and 1 (paper 4, §2.3 and §3.1).

X_dn ~ N((AW)_dn, σ²) over the cells that were seen, every entry of A and W in [0, 1] with one of
four priors. σ² is a number, or a parameter with an inverse gamma prior that is integrated out:

    p(X | A, W) ∝ (b + ½‖X − AW‖²)^−(a + n/2),   n cells seen.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, ndtr

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.model import Box, Conditionals, EntryPrior, InverseGamma, Support
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.likelihoods import composed, priors
from bnmf_core.numerics.matrix import stored

# Normal and Laplace are paper 4's, of scale 1 and 2, cut to [0, 1]; None: Beta(½, ½).
PRIORS: dict[str, EntryPrior | None] = {
    "flat": EntryPrior(largest=1.0),
    "normal": EntryPrior(precision=1.0, largest=1.0),
    "laplace": EntryPrior(rate=0.5, largest=1.0),
    "beta": None,
}
# log of the integral of each over [0, 1].
LOG_TOTALS = {
    "flat": 0.0,
    "normal": 0.5 * np.log(2 * np.pi) + np.log(ndtr(1.0) - 0.5),
    "laplace": np.log(2.0) + np.log1p(-np.exp(-0.5)),
    "beta": np.log(np.pi),
}
# An inferred σ²: as much is known of it before as two cells tell, each 0.3 off.
NOISE = InverseGamma(shape=1.0, scale=0.1)
# Beta(½, ½) has no value at 0 and at 1: what rounding has put there counts as this far away.
NEAREST = 2.0**-53


@dataclass(frozen=True)
class Settings:
    """Settings of the boolean model."""

    prior: str = setting(
        "flat",
        "Prior",
        "Prior of every entry of A and W between 0 and 1. “flat” is uniform; “normal” and "
        "“laplace” favour small entries; “beta” is Beta(½, ½), which favours entries near 0 and "
        "near 1.",
        choices=tuple(PRIORS),
    )
    sigma: float | None = setting(
        None,
        "Noise level σ",
        "Standard deviation of the noise in each cell. Empty: inferred with the factors. 1 is as "
        "published; so much noise hides the tiles.",
        minimum=1e-6,
    )


def unfit(dataset: Dataset) -> str:
    """Why the data are not a binary matrix; "" where they are."""
    values = stored(dataset.X)
    wrong = (values != 0.0) & (values != 1.0)
    if not wrong.any():
        return ""
    return (
        f"{dataset.name!r} holds {float(values[wrong][0]):g}; a Boolean model takes entries "
        "of 0 and 1 only. Choose another model, or other data."
    )


def _power(problem: Problem) -> float:
    return NOISE.shape + 0.5 * problem.dataset.observed


def _nats(problem: Problem, squared: np.ndarray) -> np.ndarray:
    """Minus the log likelihood of ‖X − AW‖², 0 where AW is X."""
    sigma = problem.model_settings.sigma
    if sigma is not None:
        return squared / (2 * sigma**2)
    return _power(problem) * np.log1p(squared / (2 * NOISE.scale))


def _slope(problem: Problem, squared: np.ndarray) -> np.ndarray:
    """1/(2σ²), or half the mean of 1/σ² given A and W."""
    sigma = problem.model_settings.sigma
    if sigma is not None:
        return np.full(squared.shape, 0.5 / sigma**2)
    return 0.5 * _power(problem) / (NOISE.scale + 0.5 * np.maximum(squared, 0.0))


def _bend(problem: Problem, squared: np.ndarray) -> np.ndarray:
    """The derivative of the slope."""
    if problem.model_settings.sigma is not None:
        return np.zeros(squared.shape)
    return -(_slope(problem, squared) ** 2) / _power(problem)


def constant(problem: Problem) -> float:
    """Constant of the full log density of X, besides :func:`log_likelihood`, in nats."""
    half, sigma = 0.5 * problem.dataset.observed, problem.model_settings.sigma
    if sigma is not None:
        return float(-half * np.log(2 * np.pi * sigma**2))
    gammas = gammaln(NOISE.shape + half) - gammaln(NOISE.shape)
    return float(gammas - half * np.log(2 * np.pi * NOISE.scale))


def log_prior(problem: Problem, A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """log p(A, W) with every constant, in nats: (M,)."""
    name = problem.model_settings.prior
    total = np.zeros(A.shape[0])
    for F in (A, W):
        total -= F[0].size * LOG_TOTALS[name]
        prior = PRIORS[name]
        if prior is None:
            x = np.clip(F, NEAREST, 1.0 - NEAREST)
            total -= 0.5 * (np.log(x) + np.log1p(-x)).sum(axis=(1, 2))
        elif prior.rate or prior.precision:
            total -= (prior.rate * F + 0.5 * prior.precision * F**2).sum(axis=(1, 2))
    return total


def prior_slope(name: str, F: np.ndarray) -> np.ndarray | float:
    """Derivative of the log prior of every entry of F; one number where all have the same."""
    prior = PRIORS[name]
    if prior is None:
        x = np.clip(F, NEAREST, 1.0 - NEAREST)
        return 0.5 / (1.0 - x) - 0.5 / x
    return -prior.rate - prior.precision * F if prior.precision else -prior.rate


def prior_bend(name: str, F: np.ndarray) -> np.ndarray:
    """Second derivative of the log prior of every entry of F."""
    prior = PRIORS[name]
    if prior is None:
        x = np.clip(F, NEAREST, 1.0 - NEAREST)
        return 0.5 / (1.0 - x) ** 2 + 0.5 / x**2
    return np.full(F.shape, -prior.precision)


def unconditional(settings: Settings) -> str:
    """Settings that every conditional would need to be a truncated normal; "" if met."""
    if settings.sigma is None:
        return "a noise level σ, as it does not infer one"
    if PRIORS[settings.prior] is None:
        return "another prior than Beta(½, ½), under which an entry given all others is no normal"
    return ""


def conditionals(settings: Settings) -> Conditionals:
    """Every entry is drawn from a normal cut to [0, 1]; see :func:`unconditional`."""
    prior_of_both = PRIORS[settings.prior]
    assert settings.sigma is not None and prior_of_both is not None
    return Conditionals(settings.sigma**2, prior_of_both, prior_of_both)


def box(settings: Settings) -> Box:
    """Conditional distributions of entries, and of an open σ²."""
    noise = NOISE if settings.sigma is None else settings.sigma**2
    return Box(PRIORS[settings.prior], noise)


def prior(problem: Problem, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """One draw from the prior: A (D, R), W (R, N)."""
    data, R = problem.dataset, problem.rank
    name = problem.model_settings.prior
    return _drawn(name, (data.D, R), rng), _drawn(name, (R, data.N), rng)


def _drawn(name: str, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    if name == "beta":
        return np.sin(0.5 * np.pi * rng.random(shape)) ** 2
    F = rng.random(shape)
    if name == "laplace":
        return -2.0 * np.log1p(F * np.expm1(-0.5))
    if name == "normal":  # by rejection: two of five proposals at most
        left = rng.random(shape) >= np.exp(-0.5 * F**2)
        while left.any():
            again = rng.random(int(left.sum()))
            F[left] = again
            left[left] = rng.random(again.size) >= np.exp(-0.5 * again**2)
    return F


def scale(A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each component with the same largest entry in A and in W, at most 1.

    Where they would be larger, entries are cut to 1, and products change.
    """
    largest_A, largest_W = A.max(axis=1), W.max(axis=2)
    both = (largest_A > 0) & (largest_W > 0)
    s = np.sqrt(np.where(both, largest_W, 1.0) / np.where(both, largest_A, 1.0))
    return np.minimum(A * s[:, None, :], 1.0), np.minimum(W / s[:, :, None], 1.0)


LIKELIHOOD = composed.Likelihood(
    loss=lambda settings: SQUARED_ERROR,
    curve=(_nats, _slope, _bend),
    constant=constant,
    unfit=unfit,
    extras={"conditionals": conditionals, "unconditional": unconditional, "box": box},
)
BETWEEN = priors.Prior(
    support_A=Support.UNIT_INTERVAL,
    support_W=Support.UNIT_INTERVAL,
    log_density=log_prior,
    slopes=lambda settings, A, W: (prior_slope(settings.prior, A), prior_slope(settings.prior, W)),
    bends=lambda settings, A, W: (prior_bend(settings.prior, A), prior_bend(settings.prior, W)),
    draw=prior,
    scale=scale,
)
MODEL = composed.model(
    LIKELIHOOD,
    BETWEEN,
    Settings,
    key="boolean",
    label="Boolean: Gaussian noise, entries between 0 and 1",
    summary="X holds 0 and 1. Every component is a tile: a set of features and a set of "
    "observations, each with a degree between 0 and 1.",
    reference="paper 4, §2.3 and §3.1",
)
