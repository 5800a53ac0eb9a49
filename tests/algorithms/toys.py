"""Models that nobody has: each is this much, and works with every algorithm that can."""

from dataclasses import dataclass

import numpy as np

from bnmf_core.core.model import Conditionals, EntryPrior, Model, Support
from bnmf_core.core.settings import setting
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.explorers.transforms import equal_norms
from bnmf_core.likelihoods import gaussian

FIT = gaussian.LIKELIHOOD


@dataclass(frozen=True)
class BoxSettings:
    """There is no rate: every entry is uniform on [0, 1]."""

    sigma: float = setting(0.3, "Noise level σ", "Standard deviation of the noise.", minimum=1e-6)


def box_log_joint(problem, A, W, f=None):
    inside = [((F >= 0) & (F <= 1)).all(axis=(1, 2)) for F in (A, W)]
    values = FIT.log_likelihood(problem, A, W, f) + FIT.constant(problem)
    return np.where(inside[0] & inside[1], values, -np.inf)


def box_log_joint_and_score(problem, A, W):
    values, by_A, by_W = SQUARED_ERROR.values_and_gradients(problem, A, W)
    nats = -FIT.per_loss(problem.model_settings)
    return nats * values + FIT.constant(problem), nats * by_A, nats * by_W


def fit_along(problem, A, W, moved_A, moved_W):
    along = SQUARED_ERROR.gradients_along(problem, A, W, moved_A, moved_W)
    return tuple(-FIT.per_loss(problem.model_settings) * part for part in along)


def box_score(problem, A, W):
    return box_log_joint_and_score(problem, A, W)[1:]


def box_prior(problem, rng):
    data = problem.dataset
    return rng.random((data.D, problem.rank)), rng.random((problem.rank, data.N))


def box_scale(A, W):
    A, W = equal_norms(A, W)
    return np.minimum(A, 1.0), np.minimum(W, 1.0)


BOX = Model(
    key="box",
    label="Gaussian noise, entries between 0 and 1",
    Settings=BoxSettings,
    support_A=Support.UNIT_INTERVAL,
    support_W=Support.UNIT_INTERVAL,
    resolve=lambda dataset, rank, settings: settings,
    log_joint=box_log_joint,
    log_likelihood=FIT.log_likelihood,
    loss=FIT.loss,
    per_loss=FIT.per_loss,
    prior=box_prior,
    scale=box_scale,
    score=box_score,
    log_joint_and_score=box_log_joint_and_score,
    score_along=fit_along,
    conditionals=lambda settings: Conditionals(
        settings.sigma**2, EntryPrior(largest=1.0), EntryPrior(largest=1.0)
    ),
    noise_level=gaussian.noise_level,
    summary="Every entry of A and W is uniform on [0, 1].",
    reference="a test",
)


@dataclass(frozen=True)
class HalfNormalSettings(BoxSettings):
    """Half-normal entries."""

    precision: float = setting(2.0, "Precision π", "Of every entry of A and W.", minimum=1e-6)


def half_normal_prior(problem, rng):
    data, sd = problem.dataset, problem.model_settings.precision**-0.5
    A = np.abs(rng.normal(0, sd, (data.D, problem.rank)))
    return A, np.abs(rng.normal(0, sd, (problem.rank, data.N)))


def half_normal_log_prior(problem, A, W):
    precision = problem.model_settings.precision
    entries = A[0].size + W[0].size
    squares = np.square(A).sum(axis=(1, 2)) + np.square(W).sum(axis=(1, 2))
    return 0.5 * entries * np.log(2 * precision / np.pi) - 0.5 * precision * squares


def half_normal_log_joint(problem, A, W, f=None):
    fit = FIT.log_likelihood(problem, A, W, f) + FIT.constant(problem)
    return fit + half_normal_log_prior(problem, A, W)


def half_normal_log_joint_and_score(problem, A, W):
    values, by_A, by_W = box_log_joint_and_score(problem, A, W)
    precision = problem.model_settings.precision
    values = values + half_normal_log_prior(problem, A, W)
    return values, by_A - precision * A, by_W - precision * W


def half_normal_along(problem, A, W, moved_A, moved_W):
    along_A, along_W = fit_along(problem, A, W, moved_A, moved_W)
    precision = problem.model_settings.precision
    return along_A - precision * moved_A, along_W - precision * moved_W


def half_normal_curvature(problem, A, W):
    trace, by_A, by_W = gaussian.curvature(problem, A, W)
    return trace - problem.model_settings.precision * (A[0].size + W[0].size), by_A, by_W


def half_normal_conditionals(settings):
    prior = EntryPrior(precision=settings.precision)
    return Conditionals(settings.sigma**2, prior, prior)


HALF_NORMAL = Model(
    key="half_normal",
    label="Gaussian noise, half-normal priors",
    Settings=HalfNormalSettings,
    support_A=Support.POSITIVE,
    support_W=Support.POSITIVE,
    resolve=lambda dataset, rank, settings: settings,
    log_joint=half_normal_log_joint,
    log_likelihood=FIT.log_likelihood,
    loss=FIT.loss,
    per_loss=FIT.per_loss,
    prior=half_normal_prior,
    scale=equal_norms,
    score=lambda problem, A, W: half_normal_log_joint_and_score(problem, A, W)[1:],
    log_joint_and_score=half_normal_log_joint_and_score,
    score_along=half_normal_along,
    curvature=half_normal_curvature,
    conditionals=half_normal_conditionals,
    noise_level=gaussian.noise_level,
    summary="Every entry of A and W is half-normal.",
    reference="a test",
)
