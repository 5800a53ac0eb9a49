"""Smoothed Laplace likelihood: |x − y| off zero, so that a few wild entries count little.

φ(x, y) = √((x − y)² + 1) − 1, in units of b; the priors are exponential.
"""

from dataclasses import dataclass

import numpy as np

from bnmf_core.core.settings import setting
from bnmf_core.likelihoods import composed, priors
from bnmf_core.likelihoods.entrywise import Entrywise

SOFT = 1.0
UNKNOWN = "The smoothed Laplace likelihood has no known normaliser."


def _root(x, y):
    return np.sqrt((x - y) ** 2 + SOFT**2)


LOSS = Entrywise(
    key="smooth_laplace",
    label="smoothed absolute error",
    measure="absolute error per entry",
    axis="smoothed |X − AW| per entry",
    value=lambda x, y: _root(x, y) - SOFT,
    slope=lambda x, y: (y - x) / _root(x, y),
    bend=lambda x, y: SOFT**2 / _root(x, y) ** 3,
    of_size=lambda dataset: float(dataset.observed),
)


@dataclass(frozen=True)
class Scale:
    """The size of the noise."""

    b: float = setting(0.1, "Scale b", "Mean size of the noise on one entry.", minimum=1e-9)


@dataclass(frozen=True)
class Settings(priors.Rate, Scale):
    """Settings of the smooth_laplace model."""


MODEL = composed.model(
    composed.Likelihood(
        loss=lambda settings: LOSS,
        per_loss=lambda settings: 1.0 / settings.b,
        unnormalised=lambda dataset, settings: UNKNOWN,
    ),
    priors.EXPONENTIAL,
    Settings,
    key="smooth_laplace",
    label="Smoothed Laplace noise, exponential priors",
    summary="A few entries of X may be far off; they count by how far, not by its square.",
    reference="an example",
)
