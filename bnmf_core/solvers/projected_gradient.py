"""Alternating projected gradients (Lin 2007), the solver of papers 1 and 2."""

import numba
import numpy as np

from bnmf_core.core.problem import Problem
from bnmf_core.solvers.full import full_solver
from bnmf_core.solvers.solution import product_work

# Projected gradient steps on one factor before the other one has its turn.
INNER = 5
# The part of the predicted decrease that a step must reach.
SUFFICIENT = 0.01


@numba.njit(cache=True, nogil=True, fastmath=True, forceinline=True)
def _inner_product(a: np.ndarray, b: np.ndarray) -> float:
    total = 0.0
    for r in range(a.shape[0]):
        for i in range(a.shape[1]):
            total += a[r, i] * b[r, i]
    return total


@numba.njit(cache=True, nogil=True, forceinline=True)
def _apply(G: np.ndarray, F: np.ndarray, result: np.ndarray) -> None:
    """G F, with one G (R, R) for all columns of F (R, n), or one for each, (R, R, n)."""
    if G.ndim == 2:
        np.dot(G, F, result)
    else:
        R, n = F.shape
        result[:] = 0.0
        for r in range(R):
            for k in range(R):
                for i in range(n):
                    result[r, i] += G[r, k, i] * F[k, i]


@numba.njit(cache=True, nogil=True)
def projected_gradient(  # noqa: PLR0912 (one line search)
    F: np.ndarray, C: np.ndarray, G: np.ndarray, step: np.ndarray, iterations: int
) -> None:
    """Projected gradient steps on ½ ⟨F, G F⟩ − ⟨C, F⟩ over F ≥ 0, in place, per particle.

    Lin (2007), algorithm 4: the step is the largest power of 1/10, from the last one on, that
    gives sufficient decrease; for a quadratic that is (1 − σ)⟨∇, d⟩ + ½⟨d, G d⟩ ≤ 0.

    Parameters
    ----------
    F, C : (m, R, n). G : (m, R, R), or (m, R, R, n) with one matrix for each column of F.
    step : (m,) last step of each particle, updated.
    """
    m, R, n = F.shape
    gradient, move, moved = np.empty((R, n)), np.empty((R, n)), np.empty((R, n))
    for p in range(m):
        for _ in range(iterations):
            _apply(G[p], F[p], gradient)
            gradient -= C[p]
            growing = accepted = False
            for trial in range(30):
                for r in range(R):
                    for i in range(n):
                        value = F[p, r, i] - step[p] * gradient[r, i]
                        move[r, i] = (value if value > 0.0 else 0.0) - F[p, r, i]
                _apply(G[p], move, moved)
                slope, curvature = _inner_product(gradient, move), _inner_product(move, moved)
                enough = (1.0 - SUFFICIENT) * slope + 0.5 * curvature <= 0.0
                if trial == 0:
                    growing = accepted = enough
                if growing and enough and trial < 10 and slope < 0.0:
                    step[p] *= 10.0
                elif growing:
                    step[p] /= 10.0
                    break
                elif enough:
                    accepted = True
                    break
                else:
                    step[p] /= 10.0
            if not accepted:  # no step was short enough yet; the next call goes on from here
                break
            for r in range(R):
                for i in range(n):
                    value = F[p, r, i] - step[p] * gradient[r, i]
                    F[p, r, i] = value if value > 0.0 else 0.0


def _descend(F: np.ndarray, linear: np.ndarray, G: np.ndarray, step: np.ndarray) -> np.ndarray:
    projected_gradient(F, np.ascontiguousarray(linear), G, step, INNER)
    return F


def work_per_iteration(problem: Problem) -> float:
    """Multiply-adds of one iteration of one particle; about three trials per gradient step."""
    length = problem.dataset.D + problem.dataset.N
    return product_work(problem) + 4.0 * INNER * problem.rank * length * (problem.rank + 20.0)


SOLVER = full_solver(
    _descend,
    work_per_iteration,
    key="projected_gradient",
    label="Projected gradient",
    reference="Lin 2007",
)
