"""Models that nobody has: each is this much, and works with every algorithm that can."""

from dataclasses import dataclass, replace

import numpy as np

from bnmf_core.core.model import EntryPrior, Support
from bnmf_core.core.settings import setting
from bnmf_core.explorers.transforms import equal_norms
from bnmf_core.likelihoods import composed, gaussian, priors


@dataclass(frozen=True)
class BoxSettings:
    """There is no rate: every entry is uniform on [0, 1]."""

    sigma: float = setting(0.3, "Noise level σ", "Standard deviation of the noise.", minimum=1e-6)


def box_log_prior(problem, A, W):
    inside = [((F >= 0) & (F <= 1)).all(axis=(1, 2)) for F in (A, W)]
    return np.where(inside[0] & inside[1], 0.0, -np.inf)


def box_prior(problem, rng):
    data = problem.dataset
    return rng.random((data.D, problem.rank)), rng.random((problem.rank, data.N))


def box_scale(A, W):
    A, W = equal_norms(A, W)
    return np.minimum(A, 1.0), np.minimum(W, 1.0)


BOX = composed.model(
    replace(gaussian.LIKELIHOOD, extras={"noise_level": gaussian.noise_level}),
    priors.Prior(
        support_A=Support.UNIT_INTERVAL,
        support_W=Support.UNIT_INTERVAL,
        log_density=box_log_prior,
        slopes=lambda settings, A, W: (0.0, 0.0),
        draw=box_prior,
        scale=box_scale,
        entry=lambda settings: EntryPrior(largest=1.0),
    ),
    BoxSettings,
    key="box",
    label="Gaussian noise, entries between 0 and 1",
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


def half_normal_curvature(problem, A, W):
    trace, by_A, by_W = gaussian.curvature(problem, A, W)
    return trace - problem.model_settings.precision * (A[0].size + W[0].size), by_A, by_W


HALF_NORMAL = composed.model(
    replace(
        gaussian.LIKELIHOOD,
        extras={"noise_level": gaussian.noise_level, "curvature": half_normal_curvature},
    ),
    priors.Prior(
        support_A=Support.POSITIVE,
        support_W=Support.POSITIVE,
        log_density=half_normal_log_prior,
        slopes=lambda settings, A, W: (-settings.precision * A, -settings.precision * W),
        bends=lambda settings, A, W: (-settings.precision, -settings.precision),
        draw=half_normal_prior,
        scale=equal_norms,
        entry=lambda settings: EntryPrior(precision=settings.precision),
    ),
    HalfNormalSettings,
    key="half_normal",
    label="Gaussian noise, half-normal priors",
    summary="Every entry of A and W is half-normal.",
    reference="a test",
)
