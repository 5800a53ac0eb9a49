"""An approach on a part of X first, where X has many more columns than rows, or rows than columns.

A basis can be found from a part of the observations: each of the others brings weights of its own
and no component. So the longer side of X is cut into parts, in a random order that is always the
same, and a particle is approached on one of them, which a generator of its own has drawn. Then the
weights of all columns are made from AᵀA and AᵀX, which also ends what slows down alternating
updates where components are alike, and the particle is approached on all of X, where most often
little is left to do. With more rows than columns, A and W change places.

Parts are used

- where there are at least :data:`FEWEST` of :data:`LINES` columns for each row of X: with fewer
  parts, extending to all of X costs what a part has saved; with fewer columns, the basis of a part
  is too far from that of all;
- where X is compressed, and no component held;
- where a factorization stops at a drop in error (``explorers.from_starts``): one that goes on until
  it has converged spends most of its time after the approach, and which of several minima it comes
  to is left to all of X.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bnmf_core.core.problem import Problem
from bnmf_core.solvers.kernels import accelerated_round, sweep
from bnmf_core.solvers.solution import Solution

# Columns of a part for each row of X, and the fewest parts that are worth it.
LINES, FEWEST = 7, 6
# Sweeps over the weights of all columns, from unconstrained least squares cut at 0.
SWEEPS = 20
# Singular values of AᵀA below this part of the largest stand for directions that A has not.
DEPENDENT = 1e-6


def count(problem: Problem) -> int:
    """Number of parts of the longer side of X; 1 where splitting does not pay.

    It does where X is compressed, and nothing is held.
    """
    shorter, longer = sorted((problem.dataset.D, problem.dataset.N))
    parts = longer // (LINES * shorter)
    suits = problem.compression_rank is not None and problem.held is None
    return parts if suits and parts >= FEWEST else 1


def drawn(
    problem: Problem, solution: Solution, generators: Sequence[np.random.Generator]
) -> Solution:
    """A solution at its start, each particle on a part drawn by its generator, where that pays."""
    parts = count(problem)
    if parts == 1 or not solution.approaching:
        return solution
    return replace(solution, part=np.array([rng.integers(parts) for rng in generators]))


def sampled_round(
    problem: Problem, solution: Solution, p: int, iterations: int, sweeps: int
) -> tuple[float, float]:
    """So many iterations of particle p on its part, in place; its squared error there, ‖X‖² there.

    What compression leaves out of X is taken to be spread evenly over the parts.
    """
    lines, by_rows = _lines(problem, int(solution.part[p]))
    U, V = problem.compression.U, problem.compression.V
    short, long = (solution.W, solution.A) if by_rows else (solution.A, solution.W)
    U, V = (V, U[lines]) if by_rows else (U, V[lines])
    F, H = (factor.astype(np.float32)[None] for factor in (short[p], long[p][:, lines]))
    # ‖U Vᵀ‖² by the Gram matrices of both.
    squared_norm = float(np.einsum("jk,jk->", U.T @ U, V.T @ V, dtype=np.float64))
    error = accelerated_round(
        U,
        V,
        squared_norm,
        F,
        H,
        solution.step[p : p + 1],
        solution.limit[p : p + 1],
        iterations,
        sweeps,
        np.zeros(problem.rank, dtype=bool),
    )
    short[p], long[p][:, lines] = F[0], H[0]
    lost = problem.completed_squared_norm - problem.compression.squared_norm
    lost *= lines.size / problem.random_order.size
    return float(error[0]) + lost, squared_norm + lost


def extend(problem: Problem, solution: Solution, p: int) -> None:
    """Weights of particle p for all of X from its basis, in place.

    ½‖X − AW‖² as a function of W: the unconstrained step to its minimum, with the least change
    where A determines it only in part, is cut at 0, and sweeps go on from there.
    """
    lines, by_rows = _lines(problem, int(solution.part[p]))
    U, V = problem.compression.U, problem.compression.V
    short, long = (solution.W, solution.A) if by_rows else (solution.A, solution.W)
    U, V = (V, U) if by_rows else (U, V)
    F, H = short[p].astype(np.float64), long[p]
    gram = F @ F.T
    linear = (F @ U) @ V.T
    exact = H[:, lines].copy()
    H += np.linalg.pinv(gram, rcond=DEPENDENT, hermitian=True) @ (linear - gram @ H)
    np.maximum(H, 0.0, out=H)
    H[:, lines] = exact
    sweep(H[None], linear[None], gram[None], SWEEPS)


def _lines(problem: Problem, part: int) -> tuple[np.ndarray, bool]:
    """The lines of X in a part, from low to high, and whether they are rows."""
    lines = np.sort(problem.random_order[part :: count(problem)])
    return lines, problem.dataset.D > problem.dataset.N
