"""Errors of unsolved starts: ‖X − A₀W₀‖/‖X‖ (paper 3, §8)."""

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bnmf_core.core.algorithm import Shard
from bnmf_core.core.errors import raise_if_cancelled
from bnmf_core.core.problem import Problem
from bnmf_core.explorers import q_transform, random_restarts
from bnmf_core.explorers.processes import PROCESSES
from bnmf_core.numerics.residuals import squared_errors
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.solvers import SOLVERS
from bnmf_core.solvers.solution import Solution, Stopping
from studies.runner import Cancel

RANDOM, SOLVED, BEST = "random", "solved", "best"
LABELS = {key: process.label for key, process in PROCESSES.items()} | {
    RANDOM: "Random starts",
    SOLVED: "Solved NMFs",
    BEST: "SVD of the transfer rank",
}
# Default stopping of the explorers.
STOPPING = Stopping(300, 5e-5)

Factors = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Request:
    """Requested starts: a process of the transforms, or ``RANDOM``, ``SOLVED`` or ``BEST``.

    Attributes
    ----------
    count : number of starts. solved : number of solved random ones. transfer_rank : of the best.
    """

    column: str
    count: int
    solved: int
    transfer_rank: int
    seed: int


def made(problem: Problem, request: Request, cancel: Cancel = None, **settings: Any) -> Factors:
    """Make the requested starts; ``settings`` of Q-Transform are for those that it makes.

    Raises
    ------
    RunError
        When a process finds nothing but zeros in the problem's data.
    Cancelled
        When ``cancel()`` returned True while random starts were solved.
    """
    if request.column == SOLVED:
        begin = random(problem, request.solved, request.seed)
        return solved(problem, begin, cancel=cancel)[0].particles
    if request.column == BEST:
        return best(problem, request.transfer_rank)
    if request.column == RANDOM:
        return random(problem, request.count, request.seed)
    return transferred(problem, request.count, request.seed, **settings)


def transferred(problem: Problem, count: int, seed: int, **settings: Any) -> Factors:
    """Q-Transform's starts: A (count, D, R), W (count, R, N)."""
    chosen = replace(q_transform.Settings(), **settings)
    return q_transform.starts(problem, chosen, Shard(0, 0, count, seed))


def random(problem: Problem, count: int, seed: int) -> Factors:
    """Random starts: A (count, D, R), W (count, R, N)."""
    return random_restarts.starts(problem, random_restarts.Settings(), Shard(0, 0, count, seed))


def best(problem: Problem, transfer_rank: int) -> Factors:
    """The SVD of the transfer rank, which no start without padding can beat: one A and W."""
    A, W = problem.svd(transfer_rank)
    return A[None], W[None]


def solved(
    problem: Problem, starts: Factors, stopping: Stopping = STOPPING, cancel: Cancel = None
) -> tuple[Solution, float]:
    """Solve the starts together; return them and the seconds of processor time.

    Raises
    ------
    Cancelled
        When ``cancel()`` returned True; it is polled about three times a second.
    """
    with one_blas_thread():
        solver = SOLVERS["hals"]
        began = time.process_time()
        solution = solver.start(problem, *starts)
        while solution.active.any():
            solution = solver.advance(problem, solution, stopping)
            raise_if_cancelled(cancel, "solved factorizations")
        return solution, time.process_time() - began


def errors(problem: Problem, A: np.ndarray, W: np.ndarray) -> dict[str, np.ndarray]:
    """Relative errors of A (m, D, R), W (m, R, N) as they are, and at the best common scale.

    Returns
    -------
    ``error`` (m,): ‖X − AW‖/‖X‖. ``scaled`` (m,): the least ‖X − sAW‖/‖X‖ over s ≥ 0. A solver
    corrects s at once, so the second tells more of a start; the paper does not say which it shows.
    """
    X, mask = problem.dataset.X, problem.dataset.mask
    whole = problem.dataset.squared_norm
    once, twice = squared_errors(X, A, W, mask), squared_errors(X, 2.0 * A, W, mask)
    # ‖X − sAW‖² = whole − 2s·inner + s²·square, known at s = 1 and s = 2.
    square = np.maximum((twice - 2.0 * once + whole) / 2.0, np.finfo(float).tiny)
    inner = (whole + square - once) / 2.0
    least = np.maximum(whole - np.maximum(inner, 0.0) ** 2 / square, 0.0)
    return {"error": np.sqrt(once / whole), "scaled": np.sqrt(least / whole)}
