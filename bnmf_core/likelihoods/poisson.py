"""Poisson counts, gamma priors (Cemgil 2009, Bayesian inference for NMF models).

X_dn ~ Poisson((AW)_dn), every entry of A ~ Gamma(a, aD) and of W ~ Gamma(c, λ), shape and rate. The
variance of an entry is its mean. A maximum likelihood fit makes the Kullback–Leibler divergence
smallest.
"""

from dataclasses import dataclass

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.model import Sources
from bnmf_core.data.kinds import Kind
from bnmf_core.likelihoods import composed, gammas, kullback_leibler
from bnmf_core.numerics.matrix import stored

# Whole numbers are exact up to here, also when they are added.
EXACT = 2.0**53


@dataclass(frozen=True)
class Settings(gammas.Gammas):
    """Settings of the poisson model."""


def unfit(dataset: Dataset) -> str:
    """Why X are no counts: an entry that is no whole number, or too many of them."""
    values = stored(dataset.X)
    fractions = values[values != np.floor(values)]
    if fractions.size:
        return (
            f"{dataset.name!r} holds {float(fractions[0]):.4g}, and counts are whole numbers; "
            "choose the Kullback–Leibler model for amounts whose noise grows with their mean, or "
            "the Gaussian one."
        )
    if dataset.total > EXACT:
        return (
            f"The counts of {dataset.name!r} sum to {dataset.total:.3g}; up to 9.007e15 (2^53) "
            "they can be added exactly, so divide them by a common number, and choose the "
            "Gaussian model."
        )
    return ""


LIKELIHOOD = composed.Likelihood(
    loss=lambda settings: kullback_leibler.LOSS,
    constant=kullback_leibler.constant,
    draw=kullback_leibler.draw,
    unfit=unfit,
    suits=(Kind.COUNTS,),
    extras={"sources": lambda settings, D: Sources(*gammas.of_entries(settings, D))},
)
MODEL = composed.model(
    LIKELIHOOD,
    gammas.GAMMA,
    Settings,
    key="poisson",
    label="Counts: Poisson noise, gamma priors",
    summary="Every entry of X is a count whose variance equals its mean.",
    reference="Cemgil 2009",
)
