"""Restarts that begin at draws of the model's prior."""

from dataclasses import dataclass

import numpy as np

from bnmf_core.core.algorithm import Shard
from bnmf_core.core.problem import Problem
from bnmf_core.explorers import from_starts


@dataclass(frozen=True)
class Settings(from_starts.SolverSettings):
    """Only the solver's settings."""


def starts(problem: Problem, settings: Settings, shard: Shard) -> tuple[np.ndarray, np.ndarray]:
    """One draw of the prior per particle, from the particle's own generator."""
    generators = [shard.particle_generator(i) for i in range(shard.size)]
    pairs = [problem.model.prior(problem, generator) for generator in generators]
    return np.stack([A for A, _ in pairs]), np.stack([W for _, W in pairs])


ALGORITHM = from_starts.explorer(
    key="prior_starts",
    label="Restarts from the prior",
    Settings=Settings,
    starts=starts,
    color="#444444",
    summary="Start at a draw of the prior, solve, repeat.",
    reference="an example",
)
