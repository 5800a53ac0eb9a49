"""Itakura–Saito likelihood, exponential priors: entries known up to a factor.

X_dn = (AW)_dn · e_dn with e ~ Exp(1), so that p(x | y) = exp(−x/y)/y. With the Itakura–Saito
divergence D = Σ x/y − log(x/y) − 1 this is exp(−D)/(e x): the noise of power spectra (Févotte,
Bertin & Durrieu 2009). D does not change when X and AW are multiplied by a number.
"""

from dataclasses import dataclass

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.problem import Problem
from bnmf_core.likelihoods import composed, priors
from bnmf_core.likelihoods.entrywise import Entrywise

LOSS = Entrywise(
    key="itakura_saito",
    label="Itakura–Saito divergence",
    measure="divergence per entry",
    axis="D(X ‖ AW) / entries, Itakura–Saito",
    value=lambda x, y: x / y - np.log(x / y) - 1.0,
    slope=lambda x, y: (1.0 - x / y) / y,
    bend=lambda x, y: (2.0 * x / y - 1.0) / y**2,
    of_size=lambda dataset: float(dataset.observed),
    raised=True,
)


@dataclass(frozen=True)
class Settings(priors.Rate):
    """Settings of the itakura_saito model."""


def unfit(dataset: Dataset) -> str:
    """Why the data do not fit: an entry of 0, which no factor above 0 can make; "" else."""
    X = dataset.dense()
    seen = np.ones(X.shape, dtype=bool) if dataset.mask is None else dataset.mask
    zeros = int((seen & (X == 0.0)).sum())
    if not zeros:
        return ""
    return (
        f"{dataset.name!r} holds {zeros:,} zero{'s' * (zeros > 1)}; the Itakura–Saito likelihood "
        "takes entries above 0 only. Choose another model, or read zeros as not seen."
    )


def constant(problem: Problem) -> float:
    """−Σ 1 + log x over the seen entries."""
    data = problem.dataset
    X = data.dense()
    seen = X if data.mask is None else X[data.mask]
    return -float((1.0 + np.log(seen)).sum())


def draw(problem: Problem, Y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Y times standard exponential numbers."""
    return Y * rng.exponential(size=Y.shape)


LIKELIHOOD = composed.Likelihood(
    loss=lambda settings: LOSS, constant=constant, draw=draw, unfit=unfit
)
MODEL = composed.model(
    LIKELIHOOD,
    priors.EXPONENTIAL,
    Settings,
    key="itakura_saito",
    label="Power spectra: Itakura–Saito divergence, exponential priors",
    summary="The error of every entry of X is relative to its size, as in the power spectra of "
    "sounds.",
    reference="Févotte, Bertin & Durrieu 2009",
)
