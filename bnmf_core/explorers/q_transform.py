"""Q-Transform: starts that transfer what NMF does to an SVD from small data to this data.

Paper 3, algorithms 1, 3 and 4.
"""

from dataclasses import dataclass

import numpy as np

from bnmf_core.explorers import from_starts
from bnmf_core.explorers.transforms import RESTARTS, SETS_IN_PAPER, transform_library
from bnmf_core.problem import Problem
from bnmf_core.settings import setting
from bnmf_core.types import Shard


@dataclass(frozen=True)
class Settings(from_starts.SolverSettings):
    """Transfer rank and padding, beside the solver's settings."""

    transfer_rank: int = setting(
        3,
        "Transfer rank",
        "How many singular directions the transforms act on (R_T = R_SVD in the paper).",
        minimum=1,
        maximum=10,
    )
    padding: float = setting(
        0.01,
        "Size of the padding",
        "Components beyond the transfer rank start with random entries of at most this part of "
        "√(mean(X)/R), so that they hardly change the product.",
        minimum=1e-8,
        maximum=1,
        advanced=True,
    )


def starts(problem: Problem, settings: Settings, shard: Shard) -> tuple[np.ndarray, np.ndarray]:
    """Apply the shard's own transforms to the SVD of X, then algorithm 4."""
    data = problem.dataset
    transfer = min(settings.transfer_rank, data.D, data.N)
    needed = -(-(shard.start + shard.size) // RESTARTS)
    # Sets beyond the paper's twenty come in whole twenties, so that few libraries are made.
    sets = SETS_IN_PAPER * -(-max(needed, 1) // SETS_IN_PAPER)
    Q_A, Q_W = transform_library(transfer, sets)
    A_svd, W_svd = problem.svd(transfer)
    pairs = []
    for i in range(shard.size):
        A = np.abs(A_svd @ Q_A[shard.start + i])
        W = np.abs(Q_W[shard.start + i] @ W_svd)
        pairs.append(fit_rank(A, W, problem, settings.padding, shard.particle_generator(i)))
    return np.stack([A for A, _ in pairs]), np.stack([W for _, W in pairs])


def fit_rank(
    A: np.ndarray, W: np.ndarray, problem: Problem, padding: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Cut to the first R components, or pad with small random ones (algorithm 4)."""
    missing = problem.rank - A.shape[1]
    if missing <= 0:
        return A[:, : problem.rank], W[: problem.rank]
    data = problem.dataset
    values = data.X.data if data.is_sparse else data.X
    size = padding * np.sqrt(float(values.sum()) / (data.D * data.N) / problem.rank)
    return (
        np.hstack([A, size * rng.uniform(size=(data.D, missing))]),
        np.vstack([W, size * rng.uniform(size=(missing, data.N))]),
    )


ALGORITHM = from_starts.explorer(
    key="q_transform",
    label="Q-Transform",
    Settings=Settings,
    starts=starts,
    color="#0072B2",
    summary="Start from the data's singular vectors, bent by transforms learned on small "
    "synthetic data, then solve. Good and diverse factorizations.",
    reference="paper 3, algorithms 1–4",
)
