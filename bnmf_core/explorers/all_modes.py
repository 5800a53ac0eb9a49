"""All modes: paper 1's upper bound on coverage, samples from the whole known solution space."""

from dataclasses import dataclass

import numpy as np

from bnmf_core.core.problem import Problem
from bnmf_core.explorers import perturb


@dataclass(frozen=True)
class Settings(perturb.PerturbSettings):
    """Only how long the updates go on."""


def start(
    problem: Problem, settings: Settings, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """One known factorization at random: A (D, R), W (R, N).

    Several that share one W lie on a line: X = A W is linear in A, so every mixture of two of
    them is exact too. Then δ is uniform on [0, 1] and A = (1 − δ)·first + δ·last, as for A_δ of
    paper 1 (eq. 9, section 4.2). Else each is as probable as any other.
    """
    known = problem.dataset.known_factorizations(problem.rank)
    first, last = known[0], known[-1]
    if len(known) > 1 and all(np.array_equal(truth.W, first.W) for truth in known):
        delta = rng.uniform()
        return (1.0 - delta) * first.A + delta * last.A, first.W
    chosen = known[rng.integers(len(known))]
    return chosen.A, chosen.W


ALGORITHM = perturb.explorer(
    start,
    key="all_modes",
    label="All modes",
    Settings=Settings,
    check=perturb.check,
    color="#07C4A5",
    symbol="diamond",
    summary="Start from all known exact factorizations, equally often, and fit noisy copies of "
    "the data. Shows full coverage; for generated data only.",
)
