"""Explorers that differ only in where they start: a start each, then the same solver."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bnmf_core.problem import Problem
from bnmf_core.settings import setting
from bnmf_core.solvers import hals
from bnmf_core.types import Algorithm, Batch, Shard


@dataclass(frozen=True)
class SolverSettings:
    """What every explorer that solves from a start can be told."""

    max_iterations: int = setting(
        300,
        "Most iterations",
        "A factorization stops here at the latest.",
        minimum=10,
        maximum=100_000,
    )
    tolerance: float = setting(
        1e-4,
        "Stopping tolerance",
        "A factorization stops when ten iterations lower its squared error by less than this "
        "part of it.",
        minimum=0,
        maximum=0.1,
    )
    block: int = setting(
        20,
        "Factorizations side by side",
        "How many are solved together; they share every product with X.",
        minimum=1,
        maximum=1000,
        advanced=True,
    )


def explorer(
    starts: Callable[[Problem, Any, Shard], tuple[np.ndarray, np.ndarray]], **described: Any
) -> Algorithm:
    """The algorithm that solves from ``starts(problem, settings, shard)``.

    ``starts`` returns A (m, D, R) and W (m, R, N) for the shard's m particles;
    ``described`` holds key, label, Settings, color, summary and reference.
    """

    def init(problem: Problem, settings: Any, shard: Shard, rng: np.random.Generator):
        return hals.start(*starts(problem, settings, shard))

    return Algorithm(
        family="explorer",
        State=hals.Solution,
        init=init,
        step=step,
        shard_sizes=shard_sizes,
        work=work,
        fraction=fraction,
        models=("gaussian",),
        **described,
    )


def step(problem: Problem, state: hals.Solution, settings: Any, rng: np.random.Generator):
    """Iterate the whole block; hand over all of it once the last one has converged."""
    state = hals.advance(problem, state, settings.max_iterations, settings.tolerance)
    if state.active.any():
        D, N, R = problem.dataset.D, problem.dataset.N, problem.rank
        return state, Batch(np.empty((0, D, R)), np.empty((0, R, N)))
    A, W = problem.model.scale(*state.particles)
    converged = state.iterations < settings.max_iterations
    return state, Batch(A, W, {"iterations": state.iterations, "converged": converged})


def shard_sizes(settings: Any, particles: int) -> list[int]:
    """Blocks of at most ``settings.block`` particles."""
    full, rest = divmod(particles, settings.block)
    return [settings.block] * full + [rest] * (rest > 0)


def fraction(state: hals.Solution, settings: Any) -> float:
    """Part of the block's work that is done: settled particles count in full."""
    part = np.where(state.active, state.iteration / settings.max_iterations, 1.0)
    return float(part.mean())


def work(problem: Problem, settings: Any) -> float:
    """Multiply-adds per particle if a typical one needs a third of the iterations allowed."""
    return settings.max_iterations / 3 * hals.work_per_iteration(problem, problem.rank)
