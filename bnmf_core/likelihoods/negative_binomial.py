"""Negative binomial counts, gamma priors: counts that vary more than Poisson allows.

X_dn ~ Poisson(g_dn (AW)_dn) with g_dn ~ Gamma(k, k), so that the variance of a count with mean y is
y + y²/k (NB2; Zhou & Carin 2015). The dispersion k is unknown: log k ~ N(log m, s²), with m from a
Kullback–Leibler fit unless it is given. Samplers draw k; the log joint and its slopes have it
integrated out by Gauss–Hermite quadrature around its most probable value. A maximum likelihood fit
takes k = m.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numba
import numpy as np
from scipy.special import logsumexp

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.loss import AS_DEVIANCE
from bnmf_core.core.model import LogNormal, Sources
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting
from bnmf_core.data.kinds import Kind
from bnmf_core.likelihoods import composed, gammas, kullback_leibler, poisson
from bnmf_core.likelihoods.entrywise import Entrywise
from bnmf_core.likelihoods.reference import reference_factors
from bnmf_core.numerics import dispersed

# Nodes of the integral over log k, and their weights; Newton steps to its most probable value, and
# how near, in standard deviations.
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(5)
STEPS, NEAR = 30, 0.01
# A dispersion is no further than this from the mean count, as a factor: beyond, counts are Poisson.
FARTHEST = 1e4


@dataclass(frozen=True)
class Settings(gammas.Gammas):
    """Settings of the negative_binomial model."""

    dispersion: float | None = setting(
        None,
        "Dispersion k",
        "A count with the mean y has the variance y + y²/k. Empty: that of a reference fit.",
        minimum=1e-6,
    )
    spread: float = setting(
        1.0,
        "Uncertainty of log k",
        "Prior standard deviation of log k around the dispersion above; 0: k is fixed. Otherwise "
        "samplers draw it.",
        minimum=0,
        maximum=10,
        advanced=True,
    )


def resolve(dataset: Dataset, rank: int, settings: Settings) -> Settings:
    """Take an open dispersion from a Kullback–Leibler fit."""
    if settings.dispersion is not None:
        return settings
    A, W = reference_factors(dataset, rank, 1, kullback_leibler.LOSS)
    counts = Problem.without_model(dataset, rank).counts
    lowest, highest = (np.log(dataset.mean) + side * np.log(FARTHEST) for side in (-1, 1))
    log_k = float(np.log(dataset.mean))
    for _ in range(STEPS):
        _, (slope,), (bend,) = dispersed.of_dispersion(counts, A, W, np.exp([log_k]))
        step = float(np.clip(slope / max(-bend, 1e-3 * abs(slope) + 1e-9), -2.0, 2.0))
        log_k = float(np.clip(log_k + step, lowest, highest))
        if abs(step) < NEAR**2:
            break
    return replace(settings, dispersion=float(np.exp(log_k)))


@numba.vectorize("float64(float64, float64, float64)", cache=True)
def _deviance(x: float, y: float, k: float) -> float:
    """Half the deviance of a count x from its mean y, in one pass."""
    missed = -(x + k) * np.log((x + k) / (y + k))
    return missed + x * np.log(x / y) if x > 0.0 else missed


@lru_cache(maxsize=64)
def _loss(k: float) -> Entrywise:
    return Entrywise(
        key=f"negative_binomial_{k:g}",
        label="negative binomial deviance",
        axis="D(X ‖ AW) / D(X ‖ mean of X), negative binomial",
        value=lambda x, y: _deviance(x, y, k),
        slope=lambda x, y: k * (y - x) / (y * (y + k)),
        bend=lambda x, y: x / y**2 - (x + k) / (y + k) ** 2,
        of_size=lambda dataset: dataset.total,
        raised=True,
        **AS_DEVIANCE,
    )


def loss(settings: Settings) -> Entrywise:
    """Half the deviance at k; where the dispersion is open, as if it were 1."""
    return _loss(1.0 if settings.dispersion is None else settings.dispersion)


def _nodes(problem: Problem, A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes of log k, and logarithms of weights with the prior's density: (nodes, M)."""
    chosen = problem.model_settings
    centre = float(np.log(chosen.dispersion))
    if not chosen.spread:
        return np.full((1, A.shape[0]), centre), np.zeros((1, A.shape[0]))
    precision, log_k = chosen.spread**-2.0, np.full(A.shape[0], centre)
    for _ in range(STEPS):
        _, slope, bend = dispersed.of_dispersion(problem.counts, A, W, np.exp(log_k))
        sharp = np.maximum(precision - bend, precision)
        step = np.clip((slope - precision * (log_k - centre)) / sharp, -2.0, 2.0)
        log_k += step
        if (np.abs(step) * np.sqrt(sharp) < NEAR).all():
            break
    nodes = log_k + NODES[:, None] / np.sqrt(sharp)
    weights = (np.log(WEIGHTS) + 0.5 * NODES**2 - 0.5 * np.log(2.0 * np.pi))[:, None]
    return nodes, weights + 0.5 * (np.log(precision / sharp) - precision * (nodes - centre) ** 2)


def log_joint(
    problem: Problem, A: np.ndarray, W: np.ndarray, f: np.ndarray | None = None
) -> np.ndarray:
    """Log p(X, A, W), k integrated out; A (M, D, R), W (M, R, N) → (M,)."""
    nodes, weights = _nodes(problem, A, W)
    heights = [dispersed.of_dispersion(problem.counts, A, W, np.exp(t))[0] for t in nodes]
    fit = logsumexp(heights + weights, axis=0) - problem.counts.log_factorials
    return np.asarray(fit + gammas.GAMMA.log_density(problem, A, W))


def log_joint_and_score(
    problem: Problem, A: np.ndarray, W: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The log joint and its gradients in A and W."""
    nodes, weights = _nodes(problem, A, W)
    made = [dispersed.log_likelihood(problem.counts, A, W, np.exp(t)) for t in nodes]
    terms = np.array([values for values, *_ in made]) + weights
    fit = logsumexp(terms, axis=0)
    parts = np.exp(terms - fit)[:, :, None, None]
    slope_A, slope_W = gammas.GAMMA.slopes(problem.model_settings, A, W)
    by_A, by_W = slope_A + np.zeros(A.shape), slope_W + np.zeros(W.shape)
    for part, (_, of_A, of_W, _) in zip(parts, made, strict=True):
        by_A += part * of_A
        by_W += part * of_W
    values = fit - problem.counts.log_factorials + gammas.GAMMA.log_density(problem, A, W)
    return values, by_A, by_W


def draw(problem: Problem, Y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Counts with mean Y (D, N), at the median of the dispersion."""
    k = problem.model_settings.dispersion
    return rng.poisson(Y * rng.gamma(k, 1 / k, Y.shape)).astype(np.float64)


def sources(settings: Settings, D: int) -> Sources:
    """The latent sources, with the prior of k."""
    median = 1.0 if settings.dispersion is None else settings.dispersion
    return Sources(*gammas.of_entries(settings, D), LogNormal(median, settings.spread))


COMPOSED = composed.model(
    composed.Likelihood(
        loss=loss,
        resolve=resolve,
        draw=draw,
        unfit=poisson.unfit,
        suits=(Kind.VARIED,),
        extras={"sources": sources},
    ),
    gammas.GAMMA,
    Settings,
    key="negative_binomial",
    label="Counts: negative binomial noise, gamma priors",
    summary="Overdispersed counts: an entry with mean y has the variance y + y²/k, and the "
    "dispersion k is estimated.",
    reference="Zhou & Carin 2015",
)
# The likelihood is no function of the loss at one k.
MODEL = replace(
    COMPOSED,
    log_joint=log_joint,
    log_joint_and_score=log_joint_and_score,
    score=lambda problem, A, W: log_joint_and_score(problem, A, W)[1:],
    score_along=None,
)
