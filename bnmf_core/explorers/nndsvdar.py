"""NNDSVDar: starts from the singular vectors, zeros filled with small random values.

Boutsidis & Gallopoulos (2008), Table 1: each singular pair gives its positive or its negative
part, whichever carries more; zeros then take uniform values in (0, mean(X)/100).
"""

from dataclasses import dataclass

import numpy as np

from bnmf_core.explorers import from_starts
from bnmf_core.nouns.algorithm import Shard
from bnmf_core.nouns.errors import RunError
from bnmf_core.nouns.problem import Problem
from bnmf_core.numerics.linalg import signed_svd


@dataclass(frozen=True)
class Settings(from_starts.SolverSettings):
    """Only the solver's settings."""


def nndsvd(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """The non-negative double SVD of X: A (D, R), W (R, N), with exact zeros."""
    U, s, V = signed_svd(problem.dataset.X, problem.rank)
    A, W = np.zeros_like(U), np.zeros_like(V)
    # The leading pair has one sign throughout (Perron–Frobenius).
    A[:, 0], W[:, 0] = np.sqrt(s[0]) * np.abs(U[:, 0]), np.sqrt(s[0]) * np.abs(V[:, 0])
    for r in range(1, problem.rank):
        sides = []
        for sign in (1.0, -1.0):
            u, v = np.maximum(sign * U[:, r], 0), np.maximum(sign * V[:, r], 0)
            sides.append((np.linalg.norm(u) * np.linalg.norm(v), u, v))
        weight, u, v = max(sides, key=lambda side: side[0])
        if weight > 0:
            A[:, r] = np.sqrt(s[r] * weight) * u / np.linalg.norm(u)
            W[:, r] = np.sqrt(s[r] * weight) * v / np.linalg.norm(v)
    return A, W.T


def starts(problem: Problem, settings: Settings, shard: Shard) -> tuple[np.ndarray, np.ndarray]:
    """The same SVD start for every particle, its zeros filled from the particle's generator."""
    base_A, base_W = nndsvd(problem)
    largest = problem.dataset.mean / 100
    pairs = []
    for i in range(shard.size):
        rng = shard.particle_generator(i)
        filled = [np.where(F > 0, F, largest * rng.uniform(size=F.shape)) for F in (base_A, base_W)]
        pairs.append(filled)
    return np.stack([A for A, _ in pairs]), np.stack([W for _, W in pairs])


def check(problem: Problem, settings: Settings) -> None:
    """Refuse, in a RunError, a matrix with gaps."""
    dataset = problem.dataset
    if dataset.missing:
        raise RunError(
            f"{dataset.missing:,} entries of {dataset.name!r} were not seen, and a matrix with "
            "gaps has no singular vectors for NNDSVDar to start from; choose Q-Transform, which "
            "completes the matrix first, or fill the missing entries on the Data page."
        )


ALGORITHM = from_starts.explorer(
    key="nndsvdar",
    label="NNDSVDar",
    Settings=Settings,
    starts=starts,
    check=check,
    color="#D47CB5",
    symbol="square",
    summary="Start from the singular vectors with small random values in the gaps, then solve. "
    "Good factorizations with little variety.",
    reference="Boutsidis & Gallopoulos 2008; paper 3, §6.2",
)
