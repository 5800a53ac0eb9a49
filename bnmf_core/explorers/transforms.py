"""The library of Q-Transform matrices: learned once on small synthetic data, then reused.

Paper 3, algorithm 2 and §6.1: 20 synthetic 12×12 sets times 5 random restarts give 100 pairs
(Q_A, Q_W) with A_NMF ≈ A_SVD Q_A and W_NMF ≈ Q_W W_SVD. They act on the inner dimensions
only, so they carry over to data of any size.
"""

from functools import lru_cache
from types import SimpleNamespace

import numpy as np

from bnmf_core.dataset import Dataset
from bnmf_core.linalg import balanced_svd
from bnmf_core.problem import Problem
from bnmf_core.solvers import hals
from bnmf_core.solvers.starts import random_start

SIZE = 12
RESTARTS = 5
SETS_IN_PAPER = 20
NOISE = 0.1
LIBRARY_SEED = 1_208_0926


@lru_cache(maxsize=16)
def transform_library(rank: int, sets: int = SETS_IN_PAPER) -> tuple[np.ndarray, np.ndarray]:
    """Q_A (sets·5, rank, rank) and Q_W (sets·5, rank, rank), both read-only.

    The first pairs are the same whatever ``sets`` is: each synthetic set has its own seed.
    Made on first use (about a tenth of a second), kept for the life of the process.
    """
    pairs = [_learn(rank, index) for index in range(sets)]
    Q_A = np.concatenate([pair[0] for pair in pairs])
    Q_W = np.concatenate([pair[1] for pair in pairs])
    Q_A.flags.writeable = Q_W.flags.writeable = False
    return Q_A, Q_W


def _learn(rank: int, index: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([LIBRARY_SEED, rank, index])
    # Gaussian factors made non-negative, with truncated Gaussian noise (paper 3, §6.1, §8.1).
    A, W = np.abs(rng.standard_normal((SIZE, rank))), np.abs(rng.standard_normal((rank, SIZE)))
    X = np.maximum(A @ W + NOISE * rng.standard_normal((SIZE, SIZE)), 0.0)
    dataset = Dataset.from_array(X, name="synthetic")
    problem = Problem(dataset, model=None, model_settings=SimpleNamespace(), rank=rank)
    starts = [random_start(dataset, rank, rng) for _ in range(RESTARTS)]
    A, W = hals.solve(
        problem, np.stack([a for a, _ in starts]), np.stack([w for _, w in starts]), 500, 1e-5
    )
    A, W = equal_norms(A, W)
    A_svd, W_svd = balanced_svd(X, rank)
    Q_A = np.stack([np.linalg.lstsq(A_svd, a, rcond=None)[0] for a in A])
    Q_W = np.stack([np.linalg.lstsq(W_svd.T, w.T, rcond=None)[0].T for w in W])
    return Q_A, Q_W


def equal_norms(A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rescale so that ‖A_r‖ = ‖W_r‖, the balance that the evenly split SVD has too."""
    norm_A, norm_W = np.linalg.norm(A, axis=1), np.linalg.norm(W, axis=2)
    both = (norm_A > 0) & (norm_W > 0)
    s = np.where(both, np.sqrt(np.where(both, norm_W, 1) / np.where(both, norm_A, 1)), 1.0)
    return A * s[:, None, :], W / s[:, :, None]
