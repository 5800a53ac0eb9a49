"""Likelihoods of X given AW, and the models that they make with priors. One file each."""

from bnmf_core.core.model import Model
from bnmf_core.core.registry import Registry
from bnmf_core.likelihoods import (
    gaussian,
    gaussian_simplex,
    itakura_saito,
    known_noise,
    kullback_leibler,
    negative_binomial,
    poisson,
    silf,
    uniform,
)

MODELS = Registry(
    "model",
    Model,
    (
        gaussian.MODEL,
        gaussian_simplex.MODEL,
        silf.MODEL,
        uniform.MODEL,
        poisson.MODEL,
        negative_binomial.MODEL,
        kullback_leibler.MODEL,
        itakura_saito.MODEL,
        known_noise.MODEL,
    ),
    "bnmf.models",
)
