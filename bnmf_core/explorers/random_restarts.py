"""Random restarts: independent NMFs from random starts, the usual practice."""

from dataclasses import dataclass

import numpy as np

from bnmf_core.core.algorithm import Shard
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting
from bnmf_core.explorers import from_starts
from bnmf_core.solvers.solution import random_start


@dataclass(frozen=True)
class Settings(from_starts.SolverSettings):
    """The solver's settings, and what is drawn."""

    start: str = setting(
        "scaled",
        "Start of a factorization",
        "“scaled”: |N(0, 1)| entries at the scale of the data. “uniform”: entries uniform on (0, "
        "1), whatever the scale of the data, as is common practice.",
        choices=("scaled", "uniform"),
        advanced=True,
    )


def starts(problem: Problem, settings: Settings, shard: Shard) -> tuple[np.ndarray, np.ndarray]:
    """One random start per particle, from the particle's own generator."""
    generators = [shard.particle_generator(i) for i in range(shard.size)]
    D, N, R = problem.dataset.D, problem.dataset.N, problem.rank
    if settings.start == "uniform":
        pairs = [(rng.random((D, R)), rng.random((R, N))) for rng in generators]
    else:
        pairs = [random_start(problem.dataset, R, rng) for rng in generators]
    return np.stack([A for A, _ in pairs]), np.stack([W for _, W in pairs])


ALGORITHM = from_starts.explorer(
    key="random_restarts",
    label="Random restarts",
    Settings=Settings,
    starts=starts,
    color="#E39600",
    symbol="circle",
    summary="Start from random factors and solve, repeatedly. Gives good factorizations, often "
    "the same ones.",
    reference="paper 1, §4.2",
)
