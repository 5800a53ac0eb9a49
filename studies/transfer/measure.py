"""One cell of the transfer study: errors of starts, a race of starts, or a time."""

import time
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.problem import Problem
from bnmf_core.explorers import q_transform
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.solvers.solution import Stopping
from studies.runner import Cancel
from studies.stein.sources import learning
from studies.transfer import projection, starts, weight_times
from studies.transfer.starts import RANDOM

TRANSFER, LEARNING, PROJECTION = "q_transform", "learning", "projection"
# Default where it is not varied, as in the paper.
TRANSFER_RANK = q_transform.Settings().transfer_rank
# Where convergence is timed: at low noise all would reach the usual limit of iterations.
RACE = replace(starts.STOPPING, max_iterations=3000)
# Ratio to the median error of solved random restarts that counts as arrived.
ARRIVED = 1.01
# Stored digits of a measured number.
DIGITS = 5

Rows = list[tuple[int, str, float | None]]


@dataclass(frozen=True)
class TransferPlan:
    """What decides the numbers.

    Attributes
    ----------
    targets : target matrices of each kind. side : D = N of a target. starts : of each kind, for
        each target. solved : of them, for reference. raced : solved to convergence at each noise.
    rank, noisy_rank : of the targets of figures 11, 12, 14, and of figure 13.
    size : rows and columns of the sources, except for figure 13, which uses the default library.
    source_ranks, noises, transfer_ranks, particles : what is varied.
    """

    targets: int = 3
    side: int = 500
    starts: int = 100
    solved: int = 10
    raced: int = 20
    rank: int = 10
    noisy_rank: int = 20
    size: int = 15
    source_ranks: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15)
    noises: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
    transfer_ranks: tuple[int, ...] = tuple(range(1, 11))
    particles: tuple[int, ...] = (5, 10, 25, 50, 100, 250, 500, 1000)
    seed: int = 0


@dataclass(frozen=True)
class Place:
    """What a cell measures: a part of the study, a column of it, the varied value, a target."""

    problem: str
    column: str
    x: float | None
    target: int


def measured(place: Place, plan: TransferPlan, cancel: Cancel) -> Rows:
    """The numbers of one cell."""
    if place.problem == "weights":
        most = max(plan.particles)
        seconds = weight_times.measure(place.column, int(place.x or 0), most, plan.seed)
        return rows({"seconds": np.array(seconds, dtype=float)})
    with one_blas_thread():
        if place.problem == LEARNING:
            return rows({"seconds": np.array([learning(time.process_time)])})
        if place.problem == "noise":
            return _race(place, plan, cancel)
        problem = problem_of(plan.side, plan.rank, 0.0, plan.seed, place.target)
        seed, varied = plan.seed + place.target, int(place.x or 0)
        chosen: dict[str, str | int] = {
            "process": {"process": place.column},
            "source_rank": {"source_rank": varied},
            "transfer_rank": {"transfer_rank": varied},
        }.get(place.problem, {})
        if place.problem == PROJECTION:
            read = (place.column, varied, plan.size, plan.starts, seed)
            found = starts.errors(problem, *projection.starts(problem, *read))
            return rows(found, place.target * plan.starts)
        rank = varied or TRANSFER_RANK
        request = starts.Request(place.column, plan.starts, plan.solved, rank, seed)
        made = starts.made(problem, request, cancel, source_size=plan.size, **chosen)
        return rows(starts.errors(problem, *made), place.target * plan.starts)


def rows(found: dict[str, np.ndarray], first: int = 0) -> Rows:
    """One rounded row per value, numbered from ``first``, without missing values."""
    return [
        (first + i, quantity, float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None)
        for quantity, values in found.items()
        for i, value in enumerate(np.atleast_1d(values))
    ]


def target(side: int, rank: int, noise: float, rng: np.random.Generator) -> Dataset:
    """X = AW + ε N₀ (side, side) with ‖N₀‖ = ‖AW‖, entries below 0 made 0 (paper 3, §8.2)."""
    product = np.abs(rng.standard_normal((side, rank))) @ np.abs(rng.standard_normal((rank, side)))
    if noise:
        noisy = rng.standard_normal((side, side))
        noisy *= np.linalg.norm(product) / np.linalg.norm(noisy)
        product = np.maximum(product + noise * noisy, 0.0)
    return Dataset.from_array(product, name=f"rank {rank}, noise {noise:g}")


def _race(place: Place, plan: TransferPlan, cancel: Cancel) -> Rows:
    """Figure 13 at one noise: Q-Transform and random starts, pair by pair, and how they end."""
    problem = problem_of(plan.side, plan.noisy_rank, place.x, plan.seed, place.target)
    seed = plan.seed + place.target
    made = {
        RANDOM: starts.random(problem, plan.starts, seed),
        TRANSFER: starts.transferred(problem, plan.starts, seed),
    }
    # What all solves share, compiled code and a compressed X, is not timed.
    starts.solved(problem, starts.random(problem, 1, seed), Stopping(20))
    found: Rows = []
    arrived = RACE
    for name, (A, W) in made.items():
        measured = starts.errors(problem, A, W)
        raced = A[: plan.raced], W[: plan.raced]
        solution, seconds = starts.solved(problem, raced, RACE, cancel)
        final = np.sqrt(solution.squared_error / problem.dataset.squared_norm)
        if name == RANDOM:
            arrived = replace(RACE, good_enough=ARRIVED * float(np.median(final)))
        near, near_seconds = starts.solved(problem, raced, arrived, cancel)
        measured |= {"final": final, "iterations": solution.iterations, "arrival": near.iterations}
        named = {f"{quantity}_{name}": values for quantity, values in measured.items()}
        found += rows(named, place.target * plan.starts)
        totals = {"seconds": seconds, "arrival_seconds": near_seconds}
        totals["making_seconds"] = _making(name, place, plan)
        found += rows({f"{key}_{name}": value for key, value in totals.items()}, place.target)
    return found


def _making(name: str, place: Place, plan: TransferPlan) -> float:
    """Processor seconds to make the starts of one race, singular vectors of the target included."""
    make = {RANDOM: starts.random, TRANSFER: starts.transferred}[name]
    fresh = problem_of.__wrapped__(plan.side, plan.noisy_rank, place.x, plan.seed, place.target)
    began = time.process_time()
    make(fresh, plan.raced, plan.seed + place.target)
    return time.process_time() - began


@lru_cache(maxsize=2)
def problem_of(side: int, rank: int, noise: float, seed: int, number: int) -> Problem:
    """The target with this index."""
    rng = np.random.default_rng([seed, rank, number])
    return Problem.without_model(target(side, rank, noise, rng), rank)
