"""Which path leads to a model's posterior, and to which models none does."""

from typing import Protocol, TypeVar, cast

import numpy as np

from bnmf_core.core.model import Capability, Model
from bnmf_core.core.problem import Problem
from bnmf_core.evidence.annealing import Stopped
from bnmf_core.evidence.counts_posterior import CountsPosterior
from bnmf_core.evidence.hamiltonian_path import SmoothPosterior
from bnmf_core.numerics.populations import Path
from bnmf_core.samplers import sources
from bnmf_core.samplers.coordinates import SUPPORTS
from bnmf_core.samplers.gibbs_path import ConditionalPosterior


class Around(Protocol):
    """Surroundings of a factorization."""

    @property
    def centre(self) -> tuple[np.ndarray, np.ndarray]:
        """The mean of what chains drew there, Aᵀ (R, D) and W (R, N)."""


Known = TypeVar("Known", bound=Around)


class Posterior(Protocol[Known]):
    """A posterior that populations can be annealed to."""

    def around(
        self, A: np.ndarray, W: np.ndarray, rng: np.random.Generator, stopped: Stopped = ...
    ) -> Known:
        """Explore the surroundings of A (D, R), W (R, N) by chains."""

    def path(self, around: Known) -> Path:
        """The way from there to the posterior."""


def posterior_of(problem: Problem, beta: float) -> Posterior[Around]:
    """The posterior of the problem's model, its likelihood to the power ``beta``.

    What its ``around`` returns goes to its own ``path`` only.
    """
    if not by_sweeps(problem):
        return cast(Posterior[Around], SmoothPosterior(problem))
    if sources.serve(problem):
        return cast(Posterior[Around], CountsPosterior(problem))
    return cast(Posterior[Around], ConditionalPosterior(problem, beta))


def by_sweeps(problem: Problem) -> bool:
    """Whether Gibbs sweeps lead to the posterior of the problem's model.

    With a dispersion they hardly move where counts are large, as their latent g are tied to AW.
    """
    if sources.serve(problem) and sources.of(problem).dispersion is not None:
        return False
    return conditional(problem.model, problem.model_settings)


def why_not(model: Model, settings: object, beta: float = 1.0) -> str:
    """Why no mode can be weighed under a model with these settings, in a sentence; "" if one can.

    ``settings`` may be open still.
    """
    able = model.capabilities
    needed = model.improper(settings)
    if needed:
        return f"The mass of modes needs {needed}."
    if conditional(model, settings) and model.sources is None:
        return ""
    if not {Capability.SCORE, Capability.NOWHERE_ZERO} <= able or model.support not in SUPPORTS:
        return (
            f"Modes cannot be weighed under the model “{model.label}”: that takes conditional "
            "draws, or a likelihood with slopes that is nowhere zero."
        )
    if beta != 1.0:
        return (
            f"Under the model “{model.label}” modes are weighed with the whole likelihood only; "
            f"the likelihood power was {beta:g}."
        )
    return ""


def conditional(model: Model, settings: object) -> bool:
    """Whether every entry can be drawn given all others, under these settings."""
    return Capability.SWEEPS in model.capabilities and not model.unconditional(settings)
