"""Reference factorizations from which open model settings take their values."""

from threading import Lock

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.problem import Problem
from bnmf_core.numerics.residuals import squared_errors
from bnmf_core.solvers import hals
from bnmf_core.solvers.solution import random_start

# Fixed, so that the same data give the same model whatever the run's own seed is.
REFERENCE_SEED = 20_240_229
_last: dict[tuple[str, int, int], tuple[np.ndarray, np.ndarray]] = {}
_LOCK = Lock()


def reference_start(dataset: Dataset, rank: int, restart: int) -> tuple[np.ndarray, np.ndarray]:
    """The random start of one reference NMF: A (D, R), W (R, N)."""
    return random_start(dataset, rank, np.random.default_rng([REFERENCE_SEED, restart]))


def reference_factors(dataset: Dataset, rank: int, restarts: int) -> tuple[np.ndarray, np.ndarray]:
    """NMFs from random starts with a fixed seed: A (restarts, D, R), W (restarts, R, N).

    The last one asked for is remembered: several runs of the same data begin side by side.
    """
    key = (dataset.hash, rank, restarts)
    with _LOCK:
        if key not in _last:
            solved = _solved(dataset, rank, restarts)
            _last.clear()
            _last[key] = solved
        A, W = _last[key]
    return A.copy(), W.copy()


def _solved(dataset: Dataset, rank: int, restarts: int) -> tuple[np.ndarray, np.ndarray]:
    problem = Problem.without_model(dataset, rank)
    solved = []
    for restart in range(restarts):
        A, W = reference_start(dataset, rank, restart)
        solved.append(hals.solve(problem, A[None], W[None]))
    return np.concatenate([A for A, _ in solved]), np.concatenate([W for _, W in solved])


def reference_errors(dataset: Dataset, rank: int, restarts: int) -> np.ndarray:
    """Squared Frobenius errors (restarts,) of :func:`reference_factors`."""
    return squared_errors(dataset.X, *reference_factors(dataset, rank, restarts), dataset.mask)
