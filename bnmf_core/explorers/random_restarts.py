"""Random restarts: independent NMFs from random starts, the usual practice."""

from dataclasses import dataclass

import numpy as np

from bnmf_core.explorers import from_starts
from bnmf_core.nouns.algorithm import Shard
from bnmf_core.nouns.problem import Problem
from bnmf_core.solvers.starts import random_start


@dataclass(frozen=True)
class Settings(from_starts.SolverSettings):
    """Only the solver's settings."""


def starts(problem: Problem, settings: Settings, shard: Shard) -> tuple[np.ndarray, np.ndarray]:
    """One random start per particle, from the particle's own generator."""
    pairs = [
        random_start(problem.dataset, problem.rank, shard.particle_generator(i))
        for i in range(shard.size)
    ]
    return np.stack([A for A, _ in pairs]), np.stack([W for _, W in pairs])


ALGORITHM = from_starts.explorer(
    key="random_restarts",
    label="Random restarts",
    Settings=Settings,
    starts=starts,
    color="#E69F00",
    summary="Start at random, solve, repeat. Finds good factorizations, often the same ones.",
    reference="paper 1, §4.2; Cichocki & Phan 2009 for the solver",
)
