"""Probability models of X given (A, W). One file each, one line here."""

from bnmf_core.models import gaussian, gaussian_simplex, silf, uniform
from bnmf_core.nouns.model import Model

MODELS: dict[str, Model] = {
    model.key: model
    for model in (gaussian.MODEL, gaussian_simplex.MODEL, silf.MODEL, uniform.MODEL)
}
