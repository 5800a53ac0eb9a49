"""Gaussian likelihood, columns of A on the simplex (paper 3, §5.2: the prior that fixes the scale).

X_dn ~ N((AW)_dn, σ²), every column of A ~ Dirichlet(1, …, 1), every entry of W ~ Exp(λ). The
density of a column is taken with respect to its first D − 1 entries, where it is (D − 1)!.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.model import Model, Support
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting
from bnmf_core.probability import gaussian, likelihood


@dataclass(frozen=True)
class Settings(gaussian.Settings):
    """Those of the gaussian model; the rate is that of W alone."""

    rate: float | None = setting(
        None,
        "Prior rate λ",
        "Rate of the exponential prior on every entry of W. Left open: R / (D × mean of X), at "
        "which AW has the mean of X; 1 is as published.",
        minimum=0,
    )


def resolve(dataset: Dataset, rank: int, settings: Settings) -> Settings:
    """Take an open λ from the mean of the data, an open σ from a reference NMF."""
    return gaussian.with_noise(dataset, rank, replace(settings, rate=rate(dataset, rank, settings)))


def rate(dataset: Dataset, rank: int, settings: gaussian.Rated) -> float:
    """λ of the prior on W; where it is open, AW, of mean R/(Dλ), has the mean of X."""
    if settings.rate is not None:
        return settings.rate
    return rank / (dataset.D * dataset.mean)


def log_joint(
    problem: Problem, A: np.ndarray, W: np.ndarray, squared: np.ndarray | None = None
) -> np.ndarray:
    """log p(X, A, W) with every normalising constant, in nats: (M,); A's columns sum to 1."""
    likelihoods = likelihood.log_likelihood(problem, A, W, squared)
    return likelihoods + likelihood.constant(problem) + log_prior(problem, W)


def log_joint_and_score(
    problem: Problem, A: np.ndarray, W: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The log joint (M,) and its gradients in A (M, D, R) and W (M, R, N)."""
    values, gradient_A, gradient_W = likelihood.log_likelihood_and_gradients(problem, A, W)
    gradient_W -= problem.model_settings.rate
    return values + likelihood.constant(problem) + log_prior(problem, W), gradient_A, gradient_W


def score(problem: Problem, A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradient of the log joint in A (M, D, R) and in W (M, R, N), all entries free."""
    return log_joint_and_score(problem, A, W)[1:]


def prior(problem: Problem, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """One draw from the prior: A (D, R) with columns that sum to 1, W (R, N)."""
    A = rng.exponential(size=(problem.dataset.D, problem.rank))
    W = rng.exponential(1 / problem.model_settings.rate, (problem.rank, problem.dataset.N))
    return A / A.sum(axis=0), W


def scale(A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Make every column of A sum to 1 and give its scale to the row of W.

    An empty column becomes the uniform one, and its row of W zero: AW stays what it was.
    """
    sums = A.sum(axis=1)
    empty = sums <= 0
    divided = A / np.where(empty, 1.0, sums)[:, None, :]
    return np.where(empty[:, None, :], 1 / A.shape[1], divided), W * sums[:, :, None]


def log_prior(problem: Problem, W: np.ndarray) -> np.ndarray:
    """log p(A, W) with every constant, in nats: (M,); the same for all A on the simplex."""
    rate, data = problem.model_settings.rate, problem.dataset
    normaliser = problem.rank * gammaln(data.D)
    if rate > 0:  # λ = 0: a flat, improper prior
        normaliser += problem.rank * data.N * np.log(rate)
    return normaliser - rate * W.sum(axis=(1, 2))


MODEL = Model(
    key="gaussian_simplex",
    label="Gaussian noise, columns of A sum to one",
    Settings=Settings,
    resolve=resolve,
    log_joint=log_joint,
    log_likelihood=likelihood.log_likelihood,
    support_A=Support.SIMPLEX,
    support_W=Support.POSITIVE,
    prior=prior,
    scale=scale,
    improper=gaussian.improper,
    score=score,
    log_joint_and_score=log_joint_and_score,
    score_along=likelihood.gradients_along,
    noise_level=gaussian.noise_level,
    summary="Every entry of X is measured with the same noise; every column of A is a "
    "distribution over the features, all equally probable, so scale is in W alone.",
    reference="paper 3, §5.2",
)
