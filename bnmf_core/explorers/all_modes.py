"""All modes: paper 1's upper bound on coverage, samples from the whole known solution space."""

from dataclasses import dataclass

import numpy as np

from bnmf_core.explorers import perturb
from bnmf_core.problem import Problem


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
    all_known = perturb.known(problem)
    _, first_A, first_W = all_known[0]
    if len(all_known) > 1 and all(np.array_equal(W, first_W) for _, _, W in all_known):
        delta = rng.uniform()
        return (1.0 - delta) * first_A + delta * all_known[-1][1], first_W
    _, A, W = all_known[rng.integers(len(all_known))]
    return A, W


ALGORITHM = perturb.explorer(
    start,
    key="all_modes",
    label="All modes",
    Settings=Settings,
    color="#009E73",
    summary="Start at known exact factorizations, each as often as the others, and fit noisy "
    "copies of the data. What full coverage looks like; for generated data only.",
)
