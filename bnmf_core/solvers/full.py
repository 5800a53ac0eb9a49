"""Solvers that work on X itself by one kind of update."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bnmf_core.core.problem import Problem
from bnmf_core.solvers import newton
from bnmf_core.solvers.solution import (
    CHECK_EVERY,
    Solution,
    Solver,
    Stopping,
    Update,
    advance_full,
    product_work,
    start_full,
)

# Convergence is checked each time the iterations have grown by this factor.
CHECK_GROWTH = 1.5
# Typical number of iterations to convergence.
MANY = 1000.0


def full_solver(
    update: Update, work_per_iteration: Callable[[Problem], float], **described: str
) -> Solver:
    """The solver that works on X itself by one kind of update.

    ``work_per_iteration`` gives the multiply-adds of one iteration of one particle;
    ``described`` holds key, label and reference.
    """

    def advance(problem: Problem, solution: Solution, stopping: Stopping) -> Solution:
        work = work_per_iteration(problem)
        if stopping.tolerance is not None:
            return advance_full(problem, solution, stopping, work, update)
        done = int(solution.iterations[solution.active].min())
        most = max(CHECK_EVERY, int((CHECK_GROWTH - 1) * done))
        after = advance_full(problem, solution, stopping, work, update, most)
        return _settled(problem, solution, after, stopping)

    def work(problem: Problem, typical: float | None) -> float:
        return (MANY if typical is None else typical) * work_per_iteration(problem)

    return Solver(start=start_full, advance=advance, work=work, **described)  # type: ignore[arg-type]


def _settled(problem: Problem, before: Solution, after: Solution, stopping: Stopping) -> Solution:
    checks = [
        np.floor(np.log(np.maximum(state.iterations, 1)) / np.log(CHECK_GROWTH))
        for state in (before, after)
    ]
    chosen = np.flatnonzero(after.active & (checks[1] > checks[0]))
    if not chosen.size:
        return after
    A, W = after.particles
    kkt, movement, gain = after.kkt.copy(), after.movement.copy(), after.gain.copy()
    kkt[chosen], movement[chosen], gain[chosen] = newton.measured(problem, A[chosen], W[chosen])
    idle = after.idle.copy()
    found_idle = stopping.idle(kkt[chosen], movement[chosen] / newton.CAUTION, gain[chosen])
    idle[chosen] = np.where(found_idle, idle[chosen] + 1, 0)
    # Between two checks there are many iterations.
    ridge = idle >= 2
    certified = stopping.converged(kkt, movement, gain) | ridge
    kkt[~certified] = movement[~certified] = gain[~certified] = np.nan
    active = after.active & ~certified
    after = replace(after, kkt=kkt, movement=movement, gain=gain)
    return replace(after, ridge=ridge, idle=idle, active=active)


# Where the product falls below this the quotient could overflow; such an entry is left alone.
TINY = 1e-150


def _multiply(F: np.ndarray, linear: np.ndarray, G: np.ndarray, step: np.ndarray) -> np.ndarray:
    product = G @ F if G.ndim == 3 else np.einsum("mrsn,msn->mrn", G, F)
    return F * np.divide(linear, product, out=np.ones_like(F), where=product > TINY)


def work_per_iteration(problem: Problem) -> float:
    """Multiply-adds of one iteration of one particle."""
    length = problem.dataset.D + problem.dataset.N
    return product_work(problem) + problem.rank * length * (problem.rank + 30.0)


SOLVER = full_solver(
    _multiply,
    work_per_iteration,
    key="multiplicative",
    label="Multiplicative updates",
    reference="Lee & Seung 2001",
)
