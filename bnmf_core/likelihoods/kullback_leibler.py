"""Kullback–Leibler likelihood, exponential priors: entries whose variance equals their mean.

p(X | A, W) ∝ exp(−D), D = Σ x log(x/y) − x + y with y = AW, the generalised Kullback–Leibler
divergence (Lee & Seung 2001). For whole numbers this is the Poisson distribution, and its constant
is known (Cemgil 2009); for other X ≥ 0 it is a generalised posterior without one.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, xlogy

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.kullback_leibler import KULLBACK_LEIBLER
from bnmf_core.core.problem import Problem
from bnmf_core.data.kinds import Kind
from bnmf_core.likelihoods import composed, priors
from bnmf_core.numerics.matrix import stored

LOSS = KULLBACK_LEIBLER


@dataclass(frozen=True)
class Settings(priors.Rate):
    """Settings of the kl model."""


def _fractional(dataset: Dataset) -> np.ndarray:
    values = stored(dataset.X)
    return values[values != np.floor(values)]


def unnormalised(dataset: Dataset, settings: object) -> str:
    """Why there is no normaliser: entries that are no whole numbers; "" where all are."""
    fractions = _fractional(dataset)
    if not fractions.size:
        return ""
    return (
        f"{dataset.name!r} holds {float(fractions[0]):.4g}; the Kullback–Leibler likelihood is a "
        "distribution of whole numbers, and of others the size of the noise depends on their unit."
    )


def constant(problem: Problem) -> float:
    """Σ x log x − x − log x! over the seen entries, for counts; 0, in its place, for others."""
    if _fractional(problem.dataset).size:
        return 0.0
    x = stored(problem.dataset.X)
    return float((xlogy(x, x) - x - gammaln(x + 1.0)).sum())


def draw(problem: Problem, Y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Poisson counts."""
    return rng.poisson(Y).astype(np.float64)


LIKELIHOOD = composed.Likelihood(
    loss=lambda settings: LOSS,
    constant=constant,
    unnormalised=unnormalised,
    draw=draw,
    suits=(Kind.SCALED,),
)
MODEL = composed.model(
    LIKELIHOOD,
    priors.EXPONENTIAL,
    Settings,
    key="kl",
    label="Counts: Kullback–Leibler divergence, exponential priors",
    summary="The noise of an entry grows with its mean, as for counts: large entries may "
    "deviate more than small ones.",
    reference="Lee & Seung 2001; Cemgil 2009 for the Poisson model",
)
