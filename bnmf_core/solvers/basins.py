"""The optimum that a solver reaches from a draw: the draw lies in its basin."""

from collections.abc import Callable

import numpy as np

from bnmf_core.core.errors import raise_if_cancelled
from bnmf_core.core.problem import Problem
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.solvers import usual_solver
from bnmf_core.solvers.solution import Stopping

# Number of draws that are solved together.
BLOCK = 20
# Optima differ from 15° on: near enough is where a factorization still turns by less than a third
# of that. On a ridge it may turn for ever, and is left where it is.
NEAR = Stopping(1_000, None, 0.0, movement=5.0, kkt=1e-2, gain=np.inf)


def optima_from(
    problem: Problem,
    A: np.ndarray,
    W: np.ndarray,
    stopped: Callable[[], bool] = lambda: False,
    near: Stopping = NEAR,
) -> tuple[np.ndarray, np.ndarray]:
    """The optima of the fit that a solver reaches from each of M factorizations.

    Parameters
    ----------
    A : (M, D, R). W : (M, R, N), entries ≥ 0. near : when an optimum is reached; left open, where
        it would turn by at most 5° if the solver went on, or after 1,000 iterations.

    Returns
    -------
    A (M, D, R) and W (M, R, N).

    Raises
    ------
    Cancelled
        When ``stopped()`` returned True.
    """
    ends, solver = [], usual_solver(problem)
    with one_blas_thread():
        for first in range(0, len(A), BLOCK):
            block = slice(first, first + BLOCK)
            state = solver.start(problem, *(np.ascontiguousarray(F[block]) for F in (A, W)))
            while state.active.any():
                raise_if_cancelled(stopped, "the solver")
                state = solver.advance(problem, state, near)
            ends.append(state.particles)
    return tuple(np.concatenate(parts) for parts in zip(*ends, strict=True))  # type: ignore[return-value]
