"""Coordinate descent on the Kullback–Leibler divergence: counts, many factorizations at once.

Minimises D(X ‖ AW) over A, W ≥ 0, which is maximum likelihood of Poisson counts. Two phases:

1. *Approach*: every entry of A, then every entry of W, takes a step towards its own minimum, with
   the rest fixed (Hsieh & Dhillon 2011), and the factor moves on the same way (Ang & Gillis 2019;
   for counts Carbonetto and others 2021). One factorization after the other, in single precision,
   over the stored entries of a sparse X (``coordinate_kernels``).
2. *Full*: the projected Newton method of ``second_order``, in double precision, from there to its
   certificate.
"""

from dataclasses import replace

import numpy as np

from bnmf_core.core.algorithm import unshared
from bnmf_core.core.kullback_leibler import FLOOR, KULLBACK_LEIBLER
from bnmf_core.core.problem import Problem
from bnmf_core.solvers import second_order
from bnmf_core.solvers import solution as shared
from bnmf_core.solvers.coordinate_kernels import NOISE, accelerated_rounds
from bnmf_core.solvers.solution import (
    CHECK_EVERY,
    FIRST_STEP,
    Solution,
    Solver,
    Stopping,
    start_approach,
)
from bnmf_core.solvers.ties import TiedSolution

# Iterations between two looks at the divergence in double precision, and steps of each entry in
# one iteration.
ROUND, SWEEPS = 5, 2
# The approach ends when an iteration lowers the divergence by less than this part of it: Newton's
# method is then quicker. A required drop below the second number is left to it as well.
APPROACH_TOLERANCE, SINGLE = 1e-8, 1e-6
# A divergence below this part of ΣX is not known well in single precision: it is left to Newton's
# method however the factorization is to stop.
EXACT = 1e-4
# A round of Newton's method that lowers it by more than this part of it has left a saddle, or what
# it was shaken by: coordinate steps are quicker again.
FAR = 1e-7
# Iterations of the approach, and products with the Hessian after it, of a typical factorization.
APPROACH, PRODUCTS = 40.0, 150.0
# Multiply-adds that an entry takes in an iteration, and those for each component.
ENTRY_WORK, COMPONENT_WORK = 30.0, 8.0


def advance(problem: Problem, solution: Solution, stopping: Stopping) -> Solution:
    """Run one bounded step; particles that have settled are left as they are."""
    if isinstance(solution, TiedSolution):
        return second_order.SOLVER.advance(problem, solution, stopping)
    if not solution.approaching:
        return _advance_full(problem, solution, stopping)
    solution = _approach(problem, solution, stopping)
    if solution.active.any():
        return solution
    settled = solution.iterations >= stopping.max_iterations
    if stopping.tolerance is not None and stopping.tolerance >= SINGLE:
        settled |= solution.squared_error > EXACT * problem.dataset.total
    if stopping.good_enough > 0.0:
        shown = problem.loss.measured(problem.dataset, solution.squared_error)
        settled |= shown <= stopping.good_enough
    unknown = np.full_like(solution.step, np.nan)
    return replace(solution, approaching=False, active=~settled, step=unknown, limit=unknown)


def _advance_full(problem: Problem, solution: Solution, stopping: Stopping) -> Solution:
    """A round of Newton's method, or coordinate steps where it has just come a long way."""
    # The limit of a momentum is NaN where no coordinate steps are made.
    near = np.isnan(solution.limit)
    going = solution.active & ~near
    if going.any():
        after = _approach(problem, replace(solution, active=going), stopping)
        over = going & ~after.active
        after.step[over], after.limit[over] = np.nan, np.nan
        return replace(after, active=solution.active)
    after = unshared(second_order.SOLVER.advance(problem, solution, stopping))
    shaken = (after.sure == 1) & (solution.sure == 0)
    after.squared_error[shaken] = np.inf
    drop = solution.squared_error - after.squared_error
    again = after.active & (shaken | (drop > FAR * after.squared_error))
    after.step[again], after.limit[again] = FIRST_STEP, 1.0
    return after


def _approach(problem: Problem, solution: Solution, stopping: Stopping) -> Solution:
    """Rounds of as many active particles as fit, those that have done the least first."""
    after = unshared(solution)
    exact = stopping.tolerance is None or stopping.tolerance < SINGLE
    # Where a certificate is wanted, half of the iterations are left for it.
    half = exact and solution.approaching
    most = max(1, stopping.max_iterations // 2) if half else stopping.max_iterations
    tolerance = APPROACH_TOLERANCE if exact else (stopping.tolerance or 0.0) / CHECK_EVERY
    fit = max(1, int(shared.STEP_WORK / (ROUND * work_per_iteration(problem))))
    while fit > 0 and after.active.any():
        waiting = np.flatnonzero(after.active)
        chosen = waiting[np.argsort(after.iterations[waiting], kind="stable")][:fit]
        count = np.minimum(ROUND, most - after.iterations[chosen])
        before = after.squared_error[chosen]
        now = _round(problem, after, chosen, count)
        after.iterations[chosen] += count
        after.squared_error[chosen] = now
        settled = before - now <= count * tolerance * now
        settled |= after.iterations[chosen] >= most
        if stopping.good_enough > 0.0:
            settled |= problem.loss.measured(problem.dataset, now) <= stopping.good_enough
        after.active[chosen] = ~settled
        fit -= chosen.size
    return after


def _round(
    problem: Problem, after: Solution, chosen: np.ndarray, iterations: np.ndarray
) -> np.ndarray:
    """Improve particles in place, those that single precision can; their divergences."""
    lines, scale = problem.count_lines, problem.dataset.mean or 1.0
    held = np.zeros(problem.rank, dtype=bool) if problem.held is None else problem.held
    old_A, old_W, before = after.A[chosen], after.W[chosen], after.squared_error[chosen]
    fresh = ~np.isfinite(before)
    if fresh.any():
        before[fresh] = _divergences(problem, old_A[fresh], old_W[fresh])
    # In single precision columns of A reach up to 1, and X has the mean 1.
    largest = old_A.max(axis=2, keepdims=True)
    unit = np.where(largest > 0.0, largest, 1.0)
    A = np.ascontiguousarray((old_A / unit).swapaxes(1, 2), dtype=np.float32)
    W = np.ascontiguousarray((old_W * (unit / scale)).swapaxes(1, 2), dtype=np.float32)
    steps, limits = after.step[chosen], after.limit[chosen]
    accelerated_rounds(
        lines.rows,
        lines.columns,
        A,
        W,
        held,
        steps,
        limits,
        iterations,
        SWEEPS,
        FLOOR,
        NOISE * problem.dataset.total / scale,
    )
    after.step[chosen], after.limit[chosen] = steps, limits
    new_A = A.swapaxes(1, 2).astype(np.float64) * unit
    new_W = W.swapaxes(1, 2).astype(np.float64) * (scale / unit)
    new_A[:, held] = old_A[:, held]  # single precision has rounded them
    now = _divergences(problem, new_A, new_W)
    lower = now < before
    after.A[chosen[lower]], after.W[chosen[lower]] = new_A[lower], new_W[lower]
    return np.where(lower, now, before)


def _divergences(problem: Problem, A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Divergences of factors A (m, R, D) and W (m, R, N)."""
    return problem.loss.values(problem, A.swapaxes(1, 2), W)


def work_per_iteration(problem: Problem) -> float:
    """Multiply-adds of one iteration of one particle, in units of a fast dense product."""
    return (ENTRY_WORK + COMPONENT_WORK * problem.rank) * problem.dataset.stored_entries


def work(problem: Problem, typical: float | None) -> float:
    """Multiply-adds of a particle that takes the typical number of iterations."""
    if typical is not None:
        return typical * work_per_iteration(problem)
    product = second_order.PRODUCT * problem.loss.work(problem)
    return APPROACH * work_per_iteration(problem) + PRODUCTS * product


SOLVER = Solver(
    key="coordinate_descent",
    label="Coordinate descent on the divergence",
    reference="Hsieh & Dhillon 2011; Ang & Gillis 2019; Carbonetto and others 2021",
    start=start_approach,
    advance=advance,
    work=work,
    serves=lambda loss: loss is KULLBACK_LEIBLER,
)
