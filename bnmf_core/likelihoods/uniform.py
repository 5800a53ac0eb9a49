"""Uniform likelihood, exponential priors (paper 2, §4.1).

Every entry of X lies within ε of that of AW, everywhere with the same density; every entry of A and
W ~ Exp(λ). The posterior is flat, but for the prior, over all factorizations that are good enough,
and zero elsewhere.
"""

from dataclasses import dataclass, replace

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.model import Model, Support
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.core.threshold import Threshold
from bnmf_core.likelihoods import gaussian, priors
from bnmf_core.likelihoods.reference import reference_factors
from bnmf_core.numerics.deviations import culprits, largest_deviations

# Paper 2, §6: as many restarts give ε.
REFERENCES = 10
# An exact factorization leaves no deviation; a smaller ε than this part of the largest entry would
# be rounding noise.
SMALLEST_RELATIVE_EPSILON = 1e-6


@dataclass(frozen=True)
class Tolerance:
    """Allowed deviation of an entry."""

    epsilon: float | None = setting(
        None,
        "Threshold ε",
        "Largest deviation of an entry of AW from X, in the unit of X. Empty: the largest "
        "deviation of any entry over ten reference NMFs.",
        minimum=1e-200,
    )
    times: float = setting(
        1.0,
        "Times",
        "Factor of an empty ε; the paper also tries 2 and 8.",
        minimum=0.01,
        maximum=1000,
        advanced=True,
    )

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise on one entry: that of a uniform one on (−ε, ε)."""
        return self.epsilon / np.sqrt(3.0)


@dataclass(frozen=True)
class Settings(priors.Rate, Tolerance):
    """Settings of the uniform model."""


def resolve(dataset: Dataset, rank: int, settings: Settings) -> Settings:
    """Take an open ε from reference NMFs: paper 2, §6; an open λ from the mean of the data."""
    settings = priors.EXPONENTIAL.resolved(dataset, rank, settings)
    if settings.epsilon is not None:
        return settings
    A, W = reference_factors(dataset, rank, REFERENCES)
    largest = float(largest_deviations(dataset.X, A, W, dataset.mask).max())
    smallest = SMALLEST_RELATIVE_EPSILON * float(dataset.X.max())
    return replace(settings, epsilon=settings.times * max(largest, smallest), times=1.0)


def offending(
    problem: Problem, A: np.ndarray, W: np.ndarray, suspects: np.ndarray | None = None
) -> np.ndarray:
    """A row (of a sparse X a column) with an entry beyond ε, −1 where there is none: (M,)."""
    data = problem.dataset
    return culprits(data.X, A, W, problem.model_settings.epsilon, data.mask, suspects)


def log_likelihood(
    problem: Problem, A: np.ndarray, W: np.ndarray, f: np.ndarray | None = None
) -> np.ndarray:
    """0 where every entry is within ε, −∞ elsewhere: (M,), without the constant."""
    return np.where(offending(problem, A, W) < 0, 0.0, -np.inf)


def constant(problem: Problem) -> float:
    """Constant of the full log density of X, besides :func:`log_likelihood`, in nats."""
    return -problem.dataset.observed * np.log(2 * problem.model_settings.epsilon)


def log_joint(
    problem: Problem, A: np.ndarray, W: np.ndarray, f: np.ndarray | None = None
) -> np.ndarray:
    """log p(X, A, W) with every normalising constant, in nats: (M,)."""
    return (
        log_likelihood(problem, A, W)
        + constant(problem)
        + priors.EXPONENTIAL.log_density(problem, A, W)
    )


def log_joint_and_score(
    problem: Problem, A: np.ndarray, W: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The log joint (M,) and the prior's slopes, (M, D, R) and (M, R, N), also beyond ε.

    A trajectory that leaves the feasible region can so come back to it.
    """
    by_A, by_W = (np.full(F.shape, -problem.model_settings.rate) for F in (A, W))
    return log_joint(problem, A, W), by_A, by_W


def score(problem: Problem, A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradient of the log joint in A (M, D, R) and in W (M, R, N); NaN where it is −∞."""
    values, by_A, by_W = log_joint_and_score(problem, A, W)
    by_A[~np.isfinite(values)] = np.nan
    by_W[~np.isfinite(values)] = np.nan
    return by_A, by_W


def curvature(
    problem: Problem, A: np.ndarray, W: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Trace of the log joint's second derivatives, and its gradients: 0, it is linear inside."""
    return np.zeros(A.shape[0]), np.zeros(A.shape), np.zeros(W.shape)


def draw(problem: Problem, Y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """X = Y and uniform noise up to ε; entries may be negative."""
    epsilon = problem.model_settings.epsilon
    return Y + rng.uniform(-epsilon, epsilon, Y.shape)


def deviations(problem: Problem, A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Largest deviation of AW from X at observed entries: (M,), in X's unit."""
    return largest_deviations(problem.dataset.X, A, W, problem.dataset.mask)


THRESHOLD = Threshold(
    values=deviations,
    epsilon=lambda settings: settings.epsilon,
    label=lambda settings: "largest deviation of an entry",
    likelihood=lambda settings, f: np.where(f <= settings.epsilon, 1.0, 0.0),
    softness=lambda settings: 0.0,
    relative_error=lambda settings, squared_norm: None,
    help="Left of the threshold every factorization is equally likely, beyond it impossible.",
)

MODEL = Model(
    key="uniform",
    label="Uniform (ε-threshold), exponential priors",
    Settings=Settings,
    resolve=resolve,
    log_joint=log_joint,
    log_likelihood=log_likelihood,
    # Restarts look for what fits by least squares; what counts is then every entry's deviation.
    loss=lambda settings: SQUARED_ERROR,
    draw=draw,
    support_A=Support.POSITIVE,
    support_W=Support.POSITIVE,
    prior=priors.EXPONENTIAL.draw,
    scale=priors.EXPONENTIAL.scale,
    improper=priors.improper,
    score=score,
    log_joint_and_score=log_joint_and_score,
    curvature=curvature,
    noise_curvature=gaussian.curvature,
    threshold=THRESHOLD,
    offending=offending,
    summary="A factorization is possible if it reproduces every entry of X within ε; all "
    "possible ones have the same likelihood, and the prior alone distinguishes them.",
    reference="paper 2, §4.1",
)
