"""NNDSVDar: starts from the singular vectors, zeros filled with small random values.

Boutsidis & Gallopoulos (2008), Table 1: each singular pair gives its positive or its negative
part, whichever carries more; zeros then take uniform values in (0, mean(X)/100). scikit-learn fills
them with |N(0, 1)| mean(X)/100, whose mean is 1.6 times as large. Its singular vectors are those of
a randomized SVD, which paper 3 names as a source of variety. Here the SVD is exact, so that starts
differ in what fills the zeros only.
"""

from dataclasses import dataclass

import numpy as np

from bnmf_core.core.algorithm import Shard
from bnmf_core.core.errors import RunError
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting
from bnmf_core.explorers import from_starts
from bnmf_core.numerics.linalg import signed_svd


@dataclass(frozen=True)
class FillSettings:
    """Settings of the values that replace zeros."""

    fill: str = setting(
        "published",
        "Fill of zeros",
        "“published”: uniform, with mean 0.5·mean(X)/100. “scikit-learn”: absolute normal values, "
        "with mean 0.8·mean(X)/100. The singular vectors are exact either way; scikit-learn's are "
        "randomized and add variety of their own.",
        choices=("published", "scikit-learn"),
    )


@dataclass(frozen=True)
class Settings(FillSettings, from_starts.SolverSettings):
    """The fill, beside the solver's settings."""


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
    unit = problem.dataset.mean / 100
    pairs = []
    for i in range(shard.size):
        rng = shard.particle_generator(i)
        filled = []
        for F in (base_A, base_W):
            published = settings.fill == "published"
            values = rng.random(F.shape) if published else np.abs(rng.standard_normal(F.shape))
            filled.append(np.where(F > 0, F, unit * values))
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
    summary="Start from the singular vectors, with their zeros filled by small random values, "
    "then solve. Gives good factorizations with little variety, because starts differ in the "
    "fill values only.",
    reference="Boutsidis & Gallopoulos 2008; paper 3, §6.2",
)
