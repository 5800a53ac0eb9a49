"""Gaussian noise of a known size in every entry, exponential priors (Paatero & Tapper 1994).

X_dn ~ N((AW)_dn, s_dn²) with s² = a² + (b x)², as EPA PMF takes it from a method's detection limit
and its error fraction. The loss is Q = Σ (x − y)²/s², so that Q/2 is in nats; of a fit with nothing
left but noise Q is about the number of entries, less the numbers that were free to fit them.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting
from bnmf_core.likelihoods import composed, priors
from bnmf_core.likelihoods.entrywise import Entrywise
from bnmf_core.numerics.matrix import stored


@dataclass(frozen=True)
class Sizes:
    """Size of the noise of an entry."""

    fraction: float = setting(0.1, "Error fraction b", "Relative error of an entry.", minimum=0)
    floor: float | None = setting(
        None,
        "Error of small entries a",
        "Error of an entry near 0, in the unit of X, such as half a detection limit. Empty: the "
        "relative error times the median of the entries above 0.",
        minimum=1e-12,
    )


@dataclass(frozen=True)
class Settings(priors.Rate, Sizes):
    """Settings of the known_noise model."""


def resolve(dataset: Dataset, rank: int, settings: Settings) -> Settings:
    """Take an open error of small entries from the data."""
    if settings.floor is not None:
        return settings
    values = stored(dataset.X)
    off = (settings.fraction or 0.1) * float(np.median(values[values > 0]))
    return replace(settings, floor=off)


@lru_cache(maxsize=64)
def _loss(fraction: float, floor: float) -> Entrywise:
    def precision(x: np.ndarray) -> np.ndarray:
        return 1.0 / (floor**2 + (fraction * x) ** 2)

    return Entrywise(
        key=f"known_noise_{fraction:g}_{floor:g}",
        label="weighted squared error Q",
        measure="weighted squared error per entry",
        axis="Q / entries, Q = Σ (X − AW)² / s²",
        expected=1.0,
        value=lambda x, y: precision(x) * (x - y) ** 2,
        slope=lambda x, y: 2.0 * precision(x) * (y - x),
        bend=lambda x, y: 2.0 * precision(x),
        of_size=lambda dataset: float(dataset.observed),
        per_nat=2.0,
    )


def loss(settings: Settings) -> Entrywise:
    """Q; where the error of small entries is open, as if it were 1."""
    return _loss(settings.fraction, 1.0 if settings.floor is None else settings.floor)


def constant(problem: Problem) -> float:
    """−½ Σ log 2πs² over the seen entries."""
    data, chosen = problem.dataset, problem.model_settings
    X = data.dense()
    seen = X if data.mask is None else X[data.mask]
    squares = chosen.floor**2 + (chosen.fraction * seen) ** 2
    return -0.5 * float(np.log(2 * np.pi * squares).sum())


def draw(problem: Problem, Y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """X around Y, with noise of the size that an entry of Y has; entries may be negative."""
    chosen = problem.model_settings
    return Y + np.hypot(chosen.floor, chosen.fraction * Y) * rng.standard_normal(Y.shape)


MODEL = composed.model(
    composed.Likelihood(
        loss=loss, resolve=resolve, per_loss=lambda settings: 0.5, constant=constant, draw=draw
    ),
    priors.EXPONENTIAL,
    Settings,
    key="known_noise",
    label="Known errors: Gaussian noise with a known σ for every entry, exponential priors",
    summary="The error of every entry of X is known: a share of its value, and at least the "
    "detection limit.",
    reference="Paatero & Tapper 1994",
)
