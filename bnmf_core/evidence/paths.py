"""Which path leads to a model's posterior, and to which models none does."""

from typing import Protocol, TypeVar

import numpy as np

from bnmf_core.evidence.annealing import Path, Stopped
from bnmf_core.evidence.gibbs_path import ConditionalPosterior
from bnmf_core.nouns.model import Capability, Model
from bnmf_core.nouns.problem import Problem

Around = TypeVar("Around", bound="HasCentre")


class HasCentre(Protocol):
    """What is known of the neighbourhood of a factorization."""

    @property
    def centre(self) -> tuple[np.ndarray, np.ndarray]:
        """The mean of what chains drew there, Aᵀ (R, D) and W (R, N)."""


class Posterior(Protocol[Around]):
    """A posterior that populations can be annealed to."""

    def around(
        self, A: np.ndarray, W: np.ndarray, rng: np.random.Generator, stopped: Stopped
    ) -> Around:
        """What chains meet that set out at A (D, R), W (R, N)."""

    def path(self, around: Around) -> Path:
        """The way from there to the posterior."""


def posterior_of(problem: Problem, belief: float) -> ConditionalPosterior:
    """The posterior of the problem's model, its likelihood to the power ``belief``."""
    return ConditionalPosterior(problem, belief)


def why_not(model: Model, settings: object) -> str:
    """Why no mode can be weighed under a model with these settings, in a sentence; "" if one can.

    ``settings`` may be open still.
    """
    if Capability.CONDITIONALS not in model.capabilities:
        return (
            f"The mass of modes is computed by conditional draws, which the model “{model.label}” "
            "does not have."
        )
    needed = model.improper(settings)
    return f"The mass of modes needs {needed}." if needed else ""
