"""Probability models of X given (A, W). One file each, one line here."""

from bnmf_core.core.model import Model
from bnmf_core.core.registry import Registry
from bnmf_core.probability import gaussian, gaussian_simplex, silf, uniform

MODELS = Registry(
    "model",
    Model,
    (gaussian.MODEL, gaussian_simplex.MODEL, silf.MODEL, uniform.MODEL),
    "bnmf.models",
)
