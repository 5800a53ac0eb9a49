"""Reference factorizations from which open model settings take their values."""

import numpy as np

from bnmf_core.nouns.dataset import Dataset
from bnmf_core.nouns.problem import Problem
from bnmf_core.numerics.residuals import squared_errors
from bnmf_core.solvers import hals
from bnmf_core.solvers.starts import random_start

# Fixed, so that the same data give the same model whatever the run's own seed is.
REFERENCE_SEED = 20_240_229


def reference_start(dataset: Dataset, rank: int, restart: int) -> tuple[np.ndarray, np.ndarray]:
    """The random start of one reference NMF: A (D, R), W (R, N)."""
    return random_start(dataset, rank, np.random.default_rng([REFERENCE_SEED, restart]))


def reference_factors(dataset: Dataset, rank: int, restarts: int) -> tuple[np.ndarray, np.ndarray]:
    """NMFs from random starts with a fixed seed: A (restarts, D, R), W (restarts, R, N)."""
    problem = Problem.without_model(dataset, rank)
    solved = []
    for restart in range(restarts):
        A, W = reference_start(dataset, rank, restart)
        solved.append(hals.solve(problem, A[None], W[None]))
    return np.concatenate([A for A, _ in solved]), np.concatenate([W for _, W in solved])


def reference_errors(dataset: Dataset, rank: int, restarts: int) -> np.ndarray:
    """Squared Frobenius errors (restarts,) of :func:`reference_factors`."""
    return squared_errors(dataset.X, *reference_factors(dataset, rank, restarts), dataset.mask)
