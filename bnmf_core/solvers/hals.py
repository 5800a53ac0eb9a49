"""Hierarchical alternating least squares for many factorizations at once.

Minimises ‖X − A W‖²_F over A, W ≥ 0 (Cichocki & Phan 2009): each row of Aᵀ, then each row of
W, takes its exact minimiser with the rest fixed. Two phases:

1. *Approach*: where it pays, X is compressed once to U Vᵀ of rank R + 10, and every particle
   is brought near its minimum on that, in single precision, with extrapolation, one particle
   after the other inside the cache; of a long X on a part first (``sampling``). A small X is
   approached as it is.
2. *Full*: on X itself in double precision, until each has settled: Newton's method (``newton``,
   for a small or a long X ``projection``), or, to stop at a drop in error, all particles side by
   side, one product of X with all of them per update, without an approach where X is small.

Where X has gaps, the approach works on a completed X (``Problem.completed``), for half of the
iterations at most, and the full phase on the seen entries only.
"""

from dataclasses import replace

import numpy as np

from bnmf_core.core.algorithm import unshared
from bnmf_core.core.problem import Problem
from bnmf_core.solvers import long_view, newton, projection, sampling
from bnmf_core.solvers import solution as shared
from bnmf_core.solvers.kernels import accelerated_round, sweep, sweep_each
from bnmf_core.solvers.solution import (
    CHECK_EVERY,
    FIRST_STEP,
    Solution,
    Solver,
    Stopping,
    advance_full,
    product_work,
    solve_with,
    start_approach,
)

ROUND = 10
FULL_SWEEPS, APPROACH_SWEEPS = 3, 3
# Rounds of Newton's method, and of variable projection of a small X, that a typical factorization
# takes (0.6 to 22 on data of many kinds and ranks), of a long X (5 to 200), and iterations of its
# approach, in single precision.
ROUNDS, PROJECTIONS, LONG_PROJECTIONS, APPROACH = 3.0, 7.0, 30.0, 16.0
# The approach ends, and Newton's method begins, when five iterations gain less than this part:
# on a compressed X, and on X itself, where Newton's method is cheap.
APPROACH_TOLERANCE, SHORT_APPROACH = 5e-5, 2e-4


def advance(problem: Problem, solution: Solution, stopping: Stopping) -> Solution:
    """Run one bounded step; particles that have settled are left as they are."""
    if not solution.approaching and stopping.tolerance is None:
        each = work_per_round(problem)
        rounds = max(1, int(shared.STEP_WORK / (each * max(1, solution.active.sum()))))
        method = projection if projection.suits(problem) else newton
        return method.advance(problem, solution, stopping, rounds)
    if not solution.approaching:
        near = problem.compression_rank is not None and problem.seen is None
        descend = _polish if near else _descend
        each = work_per_iteration(problem)
        return advance_full(problem, solution, stopping, each, descend, single=near)
    if (solution.part >= 0).any():
        solution = _advance_sampled(problem, solution, stopping)
    elif problem.compression_rank is not None:
        solution = _advance_approach(problem, solution, stopping)
    elif stopping.tolerance is not None:
        return advance(problem, replace(solution, approaching=False), stopping)
    else:
        short = replace(stopping, tolerance=SHORT_APPROACH)
        work_each = work_per_iteration(problem)
        solution = advance_full(problem, solution, short, work_each, _descend)
    if solution.active.any():
        return solution
    # The error of a completed X is not that of the seen entries.
    known = solution.squared_error if problem.seen is None else np.inf
    # Newton's method trusts any step at first, and knows of no step before.
    trusted = 1.0 / projection.FIRST if projection.suits(problem) else np.inf
    return replace(
        solution,
        approaching=False,
        active=np.ones_like(solution.active),
        squared_error=np.full(solution.active.size, known),
        step=np.full_like(solution.step, trusted),
        limit=np.full_like(solution.limit, np.inf),
    )


def solve(
    problem: Problem,
    A: np.ndarray,
    W: np.ndarray,
    max_iterations: int = 300,
    tolerance: float = 5e-5,
) -> tuple[np.ndarray, np.ndarray]:
    """Improve A (m, D, R), W (m, R, N) until each particle settles; same shapes back."""
    return solve_with(SOLVER, problem, A, W, Stopping(max_iterations, tolerance))


def _advance_sampled(problem: Problem, solution: Solution, stopping: Stopping) -> Solution:
    """Approach particles on their parts of X, one after the other, and then extend each to all."""
    tolerance = APPROACH_TOLERANCE if stopping.tolerance is None else stopping.tolerance
    parts = sampling.count(problem)
    fit = int(
        parts * shared.STEP_WORK / (ROUND * work_per_iteration(problem, problem.compression_rank))
    )
    solution = unshared(solution)
    for _ in range(max(1, fit)):
        waiting = np.flatnonzero(solution.part >= 0)
        if not waiting.size:
            break
        p = int(waiting[0])
        settled = solution.iterations[p] + ROUND > stopping.max_iterations // 2
        if not settled:
            now, whole = sampling.sampled_round(problem, solution, p, ROUND, APPROACH_SWEEPS)
            # An iteration counts by the part of X that it sees.
            solution.iterations[p] += -(-ROUND // parts)
            gained = solution.squared_error[p] - now
            settled = gained <= ROUND / CHECK_EVERY * tolerance * now
            settled |= now <= stopping.good_enough**2 * whole
            solution.squared_error[p] = now
            if settled:
                sampling.extend(problem, solution, p)
        if settled:
            solution.part[p], solution.squared_error[p] = -1, np.inf
            solution.step[p], solution.limit[p] = FIRST_STEP, 1.0
    return solution


def _advance_approach(problem: Problem, solution: Solution, stopping: Stopping) -> Solution:
    tolerance = APPROACH_TOLERANCE if stopping.tolerance is None else stopping.tolerance
    target = stopping.good_enough**2 * problem.completed_squared_norm
    # The full phase needs room for one check of its own, and with gaps more to do.
    whole = problem.seen is None
    most = stopping.max_iterations - (CHECK_EVERY if whole else stopping.max_iterations // 2)
    after = unshared(solution)
    A, W, iterations, active = after.A, after.W, after.iterations, after.active
    active &= iterations + ROUND <= most
    fit = int(shared.STEP_WORK / (ROUND * work_per_iteration(problem, problem.compression_rank)))
    # One round of as many particles as fit, those that have done the least first.
    for _ in range(max(1, fit // max(1, active.sum()))):
        waiting = np.flatnonzero(active)
        chosen = waiting[np.argsort(iterations[waiting], kind="stable")][: max(1, fit)]
        if not chosen.size:
            break
        compression = problem.compression  # made when it is first needed
        single_A, single_W = A[chosen].astype(np.float32), W[chosen].astype(np.float32)
        now_step, now_limit = after.step[chosen], after.limit[chosen]
        now = accelerated_round(
            compression.U,
            compression.V,
            compression.squared_norm,
            single_A,
            single_W,
            now_step,
            now_limit,
            ROUND,
            APPROACH_SWEEPS,
            np.zeros(problem.rank, dtype=bool) if problem.held is None else problem.held,
        )
        # What compression leaves out of X stays an error to the end.
        now += problem.completed_squared_norm - compression.squared_norm
        gained = after.squared_error[chosen] - now
        A[chosen], W[chosen] = single_A, single_W
        if problem.held is not None:  # single precision has rounded them
            A[:, problem.held] = solution.A[:, problem.held]
        after.step[chosen], after.limit[chosen] = now_step, now_limit
        iterations[chosen] += ROUND
        after.squared_error[chosen] = now
        settled = (gained <= ROUND / CHECK_EVERY * tolerance * now) | (now <= target)
        active[chosen[settled | (iterations[chosen] + ROUND > most)]] = False
    return after


def work_per_round(problem: Problem) -> float:
    """Multiply-adds of one round of Newton's method, or of variable projection in its place."""
    D, N, R = problem.dataset.D, problem.dataset.N, problem.rank
    if long_view.suits(problem):
        # Weights of least squares twice, and systems with what second derivatives are made of.
        return (
            2.0 * product_work(problem)
            + 20.0 * R**3 * max(D, N)
            + 8.0 * long_view.table(problem) ** 3
        )
    if projection.suits(problem):
        # Processor time of a round over that of these multiply-adds, measured.
        return 4.0 * R**3 * max(D, N) * min(D, N) ** 2
    # Rows that X is reduced to, see ``Problem.reduced``.
    compressed = np.inf if problem.compression_rank is None else 2 * problem.compression_rank
    K = min(D, N, compressed) if problem.seen is None else D * N / (D + N)
    return 3.0 * product_work(problem) + 40.0 * R * (D + N) * (K + 3 * R)


def _descend(F: np.ndarray, linear: np.ndarray, G: np.ndarray, step: np.ndarray) -> np.ndarray:
    if G.ndim == 3:
        sweep(F, linear, G, FULL_SWEEPS)
    else:
        sweep_each(F, linear, G, FULL_SWEEPS)
    return F


def _polish(F: np.ndarray, linear: np.ndarray, G: np.ndarray, step: np.ndarray) -> np.ndarray:
    sweep(F, linear, G, 1)  # near the minimum one sweep does what several do
    return F


def work_per_iteration(problem: Problem, compressed_to: int | None = None) -> float:
    """Multiply-adds of one iteration of one particle, in units of a fast dense product.

    On X itself, or on X compressed to this rank.
    """
    R, length = problem.rank, problem.dataset.D + problem.dataset.N
    if compressed_to is not None:
        return 4.0 * R * length * (compressed_to + APPROACH_SWEEPS * R)
    # Sweeps reach about an eighth of a product's rate.
    return product_work(problem) + 16.0 * FULL_SWEEPS * R * R * length


def work(problem: Problem, typical: float | None) -> float:
    """Multiply-adds of a particle that takes the typical number of iterations."""
    if typical is None:
        rounds = PROJECTIONS if projection.suits(problem) else ROUNDS
        rounds = LONG_PROJECTIONS if long_view.suits(problem) else rounds
        approach = APPROACH * work_per_iteration(problem, problem.compression_rank)
        return approach + rounds * work_per_round(problem)
    if problem.compression_rank is None:
        return typical * work_per_iteration(problem)
    approach = work_per_iteration(problem, problem.compression_rank)
    return typical * approach + 2 * CHECK_EVERY * work_per_iteration(problem)


SOLVER = Solver(
    key="hals",
    label="Hierarchical alternating least squares",
    reference="Cichocki & Phan 2009; Ang & Gillis 2019",
    start=start_approach,
    advance=advance,
    work=work,
)
