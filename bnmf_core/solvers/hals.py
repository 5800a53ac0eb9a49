"""Hierarchical alternating least squares for many factorizations at once.

Minimises ‖X − A W‖²_F over A, W ≥ 0 (Cichocki & Phan 2009): each column of A, then each row
of W, takes its exact minimiser with the rest fixed. The factors of all particles lie side by
side, so that X is multiplied once with all of them; the sweeps then need only the R×R Gram
matrices and run on tiles that stay in the first-level cache.
"""

from dataclasses import dataclass, replace

import numba
import numpy as np

from bnmf_core.problem import Problem

TILE = 64
CHECK_EVERY = 10
INNER_SWEEPS = 3
# Multiply-adds of one step: about a third of a second on one core.
STEP_WORK = 1.5e9
# The inverse of a smaller Gram diagonal would overflow.
EMPTY = 1e-300


@dataclass(frozen=True)
class Solution:
    """Factorizations being solved side by side.

    Attributes
    ----------
    A : (D, m, R), W : (N, m, R), both feature- or observation-first so that X multiplies
    all particles at once. iteration : iterations done. squared_error : (m,) at the last check.
    iterations : (m,) used by each particle. active : (m,) still being improved.
    """

    A: np.ndarray
    W: np.ndarray
    iteration: int
    squared_error: np.ndarray
    iterations: np.ndarray
    active: np.ndarray

    @property
    def particles(self) -> tuple[np.ndarray, np.ndarray]:
        """Particle-first copies: A (m, D, R), W (m, R, N)."""
        A = np.ascontiguousarray(self.A.transpose(1, 0, 2))
        W = np.ascontiguousarray(self.W.transpose(1, 2, 0))
        return A, W


def start(A: np.ndarray, W: np.ndarray) -> Solution:
    """Set out from A (m, D, R) and W (m, R, N)."""
    m = A.shape[0]
    return Solution(
        A=np.ascontiguousarray(A.transpose(1, 0, 2)),
        W=np.ascontiguousarray(W.transpose(2, 0, 1)),
        iteration=0,
        squared_error=np.full(m, np.inf),
        iterations=np.zeros(m, dtype=np.int64),
        active=np.ones(m, dtype=bool),
    )


def iterations_per_step(problem: Problem, particles: int, rank: int) -> int:
    """Iterations that fit in one bounded step, a multiple of the checking interval if possible."""
    fit = int(STEP_WORK / (work_per_iteration(problem, rank) * particles))
    return max(1, fit if fit < CHECK_EVERY else fit // CHECK_EVERY * CHECK_EVERY)


def work_per_iteration(problem: Problem, rank: int) -> float:
    """Multiply-adds of one iteration of one particle."""
    data = problem.dataset
    sweeps = 2.0 * INNER_SWEEPS * rank * rank * (data.D + data.N)
    # Sparse products and sweeps reach about an eighth of a dense product's rate.
    return 2.0 * data.stored_entries * rank * (8 if data.is_sparse else 1) + 8 * sweeps


def advance(
    problem: Problem, solution: Solution, max_iterations: int, tolerance: float
) -> Solution:
    """Run one bounded step; particles that have converged are left as they are.

    A particle stops when ten iterations lower its squared error by less than ``tolerance``
    times the error, or after ``max_iterations``.
    """
    X, Xt = problem.rows, problem.columns
    squared_norm = problem.dataset.squared_norm
    chosen = np.flatnonzero(solution.active)
    m, R = chosen.size, solution.A.shape[2]
    A = np.ascontiguousarray(solution.A[:, chosen])
    W = np.ascontiguousarray(solution.W[:, chosen])
    squared_error = solution.squared_error.copy()
    iterations, active = solution.iterations.copy(), solution.active.copy()
    iteration = solution.iteration
    for _ in range(iterations_per_step(problem, m, R)):
        XW = (X @ W.reshape(-1, m * R)).reshape(-1, m, R)
        sweep(A, XW, gram(W), INNER_SWEEPS)
        XA = (Xt @ A.reshape(-1, m * R)).reshape(-1, m, R)
        gram_A = gram(A)
        sweep(W, XA, gram_A, INNER_SWEEPS)
        iteration += 1
        if iteration % CHECK_EVERY and iteration < max_iterations:
            continue
        # ‖X − AW‖² from products that are already there.
        now = squared_norm - 2 * np.einsum("nmr,nmr->m", W, XA)
        now = np.maximum(now + np.einsum("mrs,mrs->m", gram_A, gram(W)), 0.0)
        # Below the floor the expanded error is rounding.
        settled = (squared_error[chosen] - now <= tolerance * now) | (now <= 1e-15 * squared_norm)
        settled |= iteration >= max_iterations
        squared_error[chosen] = now
        iterations[chosen] = iteration
        active[chosen[settled]] = False
        if settled.any():
            break
    result_A, result_W = solution.A.copy(), solution.W.copy()
    result_A[:, chosen], result_W[:, chosen] = A, W
    return replace(
        solution,
        A=result_A,
        W=result_W,
        iteration=iteration,
        squared_error=squared_error,
        iterations=iterations,
        active=active,
    )


def solve(
    problem: Problem,
    A: np.ndarray,
    W: np.ndarray,
    max_iterations: int = 200,
    tolerance: float = 1e-4,
) -> tuple[np.ndarray, np.ndarray]:
    """Improve A (m, D, R), W (m, R, N) until each particle converges; same shapes back."""
    solution = start(A, W)
    while solution.active.any():
        solution = advance(problem, solution, max_iterations, tolerance)
    return solution.particles


def gram(F: np.ndarray) -> np.ndarray:
    """FᵀF of every particle: F (n, m, R) → (m, R, R)."""
    stacked = F.transpose(1, 2, 0)
    return stacked @ F.transpose(1, 0, 2)


@numba.njit(cache=True, nogil=True, fastmath=True)
def sweep(F: np.ndarray, C: np.ndarray, G: np.ndarray, sweeps: int) -> None:  # noqa: PLR0912
    """Coordinate descent on ½ Σ f G f − c f over f ≥ 0, in place, for every row of F.

    Parameters
    ----------
    F, C : (n, m, R) factor and linear term. G : (m, R, R) Gram matrices of the other factor.
    A component whose Gram diagonal is zero (below 1e-300) cannot be improved and stays as it is.
    """
    n, m, R = F.shape
    f = np.zeros((R, TILE), dtype=F.dtype)
    c = np.zeros((R, TILE), dtype=F.dtype)
    total = np.zeros(TILE, dtype=F.dtype)
    for p in range(m):
        for first in range(0, n, TILE):
            width = min(TILE, n - first)
            for i in range(width):
                for r in range(R):
                    f[r, i] = F[first + i, p, r]
                    c[r, i] = C[first + i, p, r]
            for _ in range(sweeps):
                for r in range(R):
                    diagonal = G[p, r, r]
                    if diagonal <= EMPTY:
                        continue
                    for i in range(TILE):
                        total[i] = c[r, i]
                    for k in range(R):
                        if k != r:
                            weight = G[p, k, r]
                            for i in range(TILE):
                                total[i] -= weight * f[k, i]
                    inverse = 1.0 / diagonal
                    for i in range(TILE):
                        value = total[i] * inverse
                        f[r, i] = value if value > 0.0 else 0.0
            for i in range(width):
                for r in range(R):
                    F[first + i, p, r] = f[r, i]
