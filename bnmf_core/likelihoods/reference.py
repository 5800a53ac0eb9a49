"""Reference factorizations from which open model settings take their values."""

from threading import Lock

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.loss import Loss
from bnmf_core.core.problem import Problem
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.numerics.residuals import squared_errors
from bnmf_core.solvers import usual_solver
from bnmf_core.solvers.solution import Stopping, random_start, solve_with

# Fixed, so that the same data give the same model whatever the run's own seed is.
REFERENCE_SEED = 20_240_229
# A reference ends as published runs do (paper 3, §6.1), converged or not.
AS_PUBLISHED = Stopping(200, 1e-4)
_last: dict[tuple[str, int, int, str], tuple[np.ndarray, np.ndarray]] = {}
_LOCK = Lock()


def reference_start(dataset: Dataset, rank: int, restart: int) -> tuple[np.ndarray, np.ndarray]:
    """The random start of one reference NMF: A (D, R), W (R, N)."""
    return random_start(dataset, rank, np.random.default_rng([REFERENCE_SEED, restart]))


def reference_factors(
    dataset: Dataset, rank: int, restarts: int, loss: Loss = SQUARED_ERROR
) -> tuple[np.ndarray, np.ndarray]:
    """NMFs from random starts with a fixed seed: A (restarts, D, R), W (restarts, R, N).

    The last one asked for is remembered: several runs of the same data begin side by side.
    """
    key = (dataset.hash, rank, restarts, loss.key)
    with _LOCK:
        if key not in _last:
            solved = _solved(dataset, rank, restarts, loss)
            _last.clear()
            _last[key] = solved
        A, W = _last[key]
    return A.copy(), W.copy()


def _solved(
    dataset: Dataset, rank: int, restarts: int, loss: Loss
) -> tuple[np.ndarray, np.ndarray]:
    problem = Problem.without_model(dataset, rank, loss=loss)
    stopping = Stopping() if loss is SQUARED_ERROR else AS_PUBLISHED
    solver, solved = usual_solver(problem), []
    for restart in range(restarts):
        A, W = reference_start(dataset, rank, restart)
        solved.append(solve_with(solver, problem, A[None], W[None], stopping))
    return np.concatenate([A for A, _ in solved]), np.concatenate([W for _, W in solved])


def reference_errors(dataset: Dataset, rank: int, restarts: int) -> np.ndarray:
    """Squared Frobenius errors (restarts,) of :func:`reference_factors`."""
    return squared_errors(dataset.X, *reference_factors(dataset, rank, restarts), dataset.mask)


def reference_values(dataset: Dataset, rank: int, restarts: int, loss: Loss) -> np.ndarray:
    """f (restarts,) of NMFs that minimise a loss."""
    A, W = reference_factors(dataset, rank, restarts, loss)
    return loss.values(Problem.without_model(dataset, rank, loss=loss), A, W)
