"""Newton's method where X is small, or long: one factor is a function of the other.

Variable projection (Golub & Pereyra 1973): with the longer factor H at its exact non-negative
least squares solution for the shorter one, F, the error is a function of F alone,

    φ(F) = min over H ≥ 0 of ½‖X − FᵀH‖², over the seen entries of X,

and what slows down methods that move both, a zero of H that appears or goes at every step, has no
part in it. On the zeros of H as they are, φ has the gradient of the error by F, and as second
derivatives the Schur complement of H's in the Hessian of the error: a few hundred numbers square.
A round minimises that quadratic over F ≥ 0, damped as far as needed for φ to fall (Levenberg 1944,
Marquardt 1963), and takes φ anew. The length of a component is of no consequence for φ; the
quadratic keeps it. A long X, of many more columns than rows or the other way round, has
another way to that quadratic, :mod:`bnmf_core.solvers.long_view`.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from bnmf_core.core.problem import Problem
from bnmf_core.numerics.matrix import dense
from bnmf_core.solvers import long_view
from bnmf_core.solvers.long_view import LongView
from bnmf_core.solvers.nnls import solve_columns
from bnmf_core.solvers.reduced import (
    answers,
    bounded_minimum,
    finish,
    largest_angle,
    normal_equations,
    residuals,
)
from bnmf_core.solvers.solution import FURTHEST, IDLE, Solution, Stopping, nats
from bnmf_core.solvers.stationarity import kkt_residuals, slopes

# Entries of the shorter factor up to which solving with their Hessian is worth it.
LARGEST = 300
# Damping, as part of the curvature of each entry by itself: least, first, and most.
LEAST, FIRST, MOST = 1e-6, 1e-2, 1e8
# How damping falls after a step that lowered φ as predicted, and rises after one that did not.
EASED, STIFFENED = 0.1, 4.0
ENOUGH, BROKEN = 0.5, 0.1
# Times the least damping that is tried where the quadratic has no minimum with that.
ROUGHER = 100.0
# What the distance to the quadratic's minimum is multiplied by: an entry of H that comes to 0 or
# leaves it on the way makes it another. Another step is cheap where so little is left.
CAUTION = 30.0
# An undamped minimum is computed when a damped one turns by at most so many times the target.
NEAR = 4.0


class Seen(Protocol):
    """X with its shorter side first: points of φ, its quadratic there, and that one's minimum."""

    @property
    def turned(self) -> bool:
        """Whether the shorter factor is W."""

    @property
    def least(self) -> float:
        """Damping, at least."""

    def again(self, F: np.ndarray, H: np.ndarray, half: float) -> Any:
        """A point that was left at these factors."""

    def at(self, F: np.ndarray, H: np.ndarray) -> Any:
        """The point with this shorter factor (R, s), found from the longer one H (R, n)."""

    def model(self, point: Any) -> Any:
        """The quadratic at a point."""

    def minimum(self, model: Any, F: np.ndarray, damping: float) -> tuple[np.ndarray, float, bool]:
        """Its minimum over F + d ≥ 0, damped; by how much it falls; whether there is one."""


@dataclass(frozen=True, eq=False)
class Point:
    """A factorization whose longer factor is the best for the shorter one.

    F : (R, s), rows of length 1. H : (R, n). residual : S ∘ (FᵀH) − X (s, n). gram : FFᵀ over the
    seen entries of each column of X, (1 or n, R, R). half : φ(F).
    """

    F: np.ndarray
    H: np.ndarray
    residual: np.ndarray
    gram: np.ndarray
    half: float


@dataclass(frozen=True, eq=False)
class View:
    """X (s, n) with its shorter side first, and what was seen of it, (s, n) or (0, 0) for all."""

    X: np.ndarray
    seen: np.ndarray
    turned: bool
    least: ClassVar[float] = LEAST

    def again(self, F: np.ndarray, H: np.ndarray, half: float) -> Point:
        """A point that was left at these factors."""
        return self.at(F)

    def at(self, F: np.ndarray, H: np.ndarray | None = None) -> Point:
        """The point with this shorter factor (R, s), wherever the longer one was."""
        F, gram, target = normal_equations(F, self.X, self.seen)
        H = np.ascontiguousarray(solve_columns(gram, target).T)
        residual, squared = residuals(F, H, self.X, self.seen)
        return Point(F, H, residual, gram, 0.5 * squared)

    def model(self, point: Point) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Second derivatives of φ (R s, R s), its gradient and those of the error, H held (R s,).

        Along F_r itself, where only lengths change, a curvature is put in place of none.
        """
        taken = answers(point.F, point.H, point.residual, point.gram, self.seen)
        second = taken.T @ taken
        gradient, curvature = finish(second, point.F, point.H, point.residual, self.seen)
        return second, gradient, curvature

    def minimum(
        self, model: tuple[np.ndarray, np.ndarray, np.ndarray], F: np.ndarray, damping: float
    ) -> tuple[np.ndarray, float, bool]:
        """See :func:`bnmf_core.solvers.reduced.bounded_minimum`."""
        return bounded_minimum(*model, F, damping)


def suits(problem: Problem) -> bool:
    """Whether X is so small, or so long, that this is the fastest method; it removes lengths from
    components, and so holds none.
    """
    if long_view.suits(problem):
        return True
    shorter = min(problem.dataset.D, problem.dataset.N)
    small = problem.compression_rank is None and problem.rank * shorter <= LARGEST
    return small and problem.held is None


def view(problem: Problem) -> Seen:
    """X with its shorter side first."""
    if long_view.suits(problem):
        return LongView.of(problem)
    X = np.asarray(dense(problem.dataset.X), dtype=np.float64)
    seen = np.empty((0, 0)) if problem.seen is None else problem.seen
    if X.shape[0] <= X.shape[1]:
        return View(np.ascontiguousarray(X), np.ascontiguousarray(seen), False)
    return View(np.ascontiguousarray(X.T), np.ascontiguousarray(seen.T), True)


def advance(problem: Problem, solution: Solution, stopping: Stopping, rounds: int) -> Solution:
    """So many rounds of every factorization that is active, or fewer where it settles."""
    seen_from = view(problem)
    columns = {
        name: getattr(solution, name).copy()
        for name in (
            "A",
            "W",
            "iterations",
            "squared_error",
            "active",
            "step",
            "limit",
            "kkt",
            "movement",
            "gain",
            "ridge",
            "idle",
        )
    }
    for p in np.flatnonzero(solution.active):
        one = replace(
            solution, **{name: column[p : p + 1].copy() for name, column in columns.items()}
        )
        # Every round begins with the state between steps, so that no bit depends on how many
        # rounds a step has.
        for _ in range(rounds):
            one = _advance_one(problem, seen_from, one, stopping)
            if not one.active[0]:  # rounds of a tiny X are millions
                break
        for name, column in columns.items():
            column[p] = getattr(one, name)[0]
    return replace(solution, **columns)


def _advance_one(problem: Problem, seen_from: Seen, one: Solution, stopping: Stopping) -> Solution:
    """One round of one factorization."""
    F, H = (one.W[0], one.A[0]) if seen_from.turned else (one.A[0], one.W[0])
    # Before the first round the longer factor is not the best for the shorter one.
    left = np.isfinite(one.limit[0])
    point = seen_from.again(F, H, 0.5 * float(one.squared_error[0])) if left else seen_from.at(F, H)
    damping = max(1.0 / float(one.step[0]), seen_from.least)
    iterations = int(one.iterations[0])
    squared_norm = problem.dataset.squared_norm
    enough = 0.5 * max(stopping.good_enough**2, 1e-15) * squared_norm
    kkt = movement = gain = np.nan
    idle = 0
    if point.half > enough and iterations < stopping.max_iterations:
        most = stopping.max_iterations - iterations
        point, damping, tries, known = _stepped(problem, seen_from, point, damping, stopping, most)
        iterations += tries
        movement, gain = (np.inf, np.inf) if known is None else known
        if damping > MOST:  # no step leads anywhere, and none to another quadratic
            movement /= CAUTION
        if stopping.by_residual or gain <= stopping.gain:
            A, W = factors(seen_from, point)
            kkt = float(kkt_residuals(A, W, slopes(problem, A, W))[0])
        if stopping.idle(kkt, movement / CAUTION, gain):
            idle = int(one.idle[0]) + 1
        elif known is not None and np.isinf(gain):  # a round may not know
            idle = int(one.idle[0])
    ridge = idle >= IDLE or (damping > MOST and stopping.idle(kkt, movement, gain))
    settled = ridge or bool(stopping.converged(kkt, movement, gain))
    A, W = factors(seen_from, point)
    over = settled or point.half <= enough or iterations >= stopping.max_iterations
    over = over or damping > MOST
    return replace(
        one,
        A=A,
        W=W,
        iterations=np.array([iterations]),
        squared_error=np.array([2.0 * point.half]),
        active=np.array([not over]),
        step=np.array([1.0 / damping]),
        limit=np.ones(1),
        kkt=np.array([kkt if settled else np.nan]),
        movement=np.array([movement if settled and np.isfinite(movement) else np.nan]),
        gain=np.array([gain if settled and np.isfinite(gain) else np.nan]),
        ridge=np.array([bool(ridge)]),
        idle=np.array([idle]),
    )


def _stepped(
    problem: Problem,
    seen_from: Seen,
    point: Any,
    damping: float,
    stopping: Stopping,
    most: int,
) -> tuple[Any, float, int, tuple[float, float] | None]:
    """The next point, the damping for it, and how many were tried, ``most`` at most.

    Also degrees that were left to turn and nats to gain before it, infinite where the quadratic has
    no minimum; None where they are many, or nobody asks.
    """
    model = seen_from.model(point)
    known, failed, tries = None, False, 0
    while tries < most and damping <= MOST:
        tries += 1
        towards, promised, found = seen_from.minimum(model, point.F, damping)
        if not found:
            damping = max(STIFFENED * damping, ROUGHER * seen_from.least)
            failed = True
            continue
        trial = seen_from.at(towards, point.H)
        near = _turn(seen_from, point, trial) <= NEAR * stopping.movement / CAUTION
        near |= nats(problem, promised, 2.0 * point.half) <= stopping.little
        if near and known is None and not stopping.by_residual:
            movement, gain = _left(seen_from, point, model)
            known = movement, float(nats(problem, gain, 2.0 * point.half))
        gained = point.half - trial.half
        if gained > 0.0:
            if gained >= ENOUGH * promised and not failed:
                damping = max(EASED * damping, seen_from.least)
            elif gained < BROKEN * promised:
                damping *= STIFFENED
            return trial, damping, tries, known
        if known is not None and known[0] <= stopping.movement and known[1] <= stopping.gain:
            break
        damping *= STIFFENED
        failed = True
    return point, damping, tries, known


def factors(seen_from: Seen, point: Any) -> tuple[np.ndarray, np.ndarray]:
    """A (1, R, D), W (1, R, N)."""
    A, W = (point.H, point.F) if seen_from.turned else (point.F, point.H)
    return A[None], W[None]


def _turn(seen_from: Seen, point: Any, other: Any) -> float:
    A, after = (factors(seen_from, one)[0][0] for one in (point, other))
    return float(np.degrees(largest_angle(A, after)))


def _left(seen_from: Seen, point: Any, model: Any) -> tuple[float, float]:
    """Degrees that are left to turn, and by how much φ would fall; infinite without a minimum."""
    for damping in (seen_from.least, ROUGHER * seen_from.least):
        towards, promised, found = seen_from.minimum(model, point.F, damping)
        if found and promised >= 0.0:  # else it has no minimum, or its zeros did not settle
            turn = CAUTION * _turn(seen_from, point, seen_from.at(towards, point.H))
            return min(turn, FURTHEST), promised
    return np.inf, np.inf
