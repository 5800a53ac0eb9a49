"""Single mode: paper 1's lower bound on coverage, samples that explore one known mode only."""

from dataclasses import dataclass

import numpy as np

from bnmf_core.core.errors import SettingsError
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting
from bnmf_core.explorers import perturb


@dataclass(frozen=True)
class Settings(perturb.PerturbSettings):
    """Which mode."""

    solution: int = setting(
        1,
        "Known factorization",
        "Index of the known factorization from which every particle starts.",
        minimum=1,
        maximum=1000,
    )


def start(
    problem: Problem, settings: Settings, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """A (D, R) and W (R, N) of the chosen known factorization."""
    chosen = problem.dataset.known_factorizations(problem.rank)[settings.solution - 1]
    return chosen.A, chosen.W


def check(problem: Problem, settings: Settings) -> None:
    """Refuse, in a SettingsError, a factorization that is not among the known ones."""
    perturb.check(problem, settings)
    known = problem.dataset.known_factorizations(problem.rank)
    if settings.solution > len(known):
        names = ", ".join(f"{i} ({truth.name})" for i, truth in enumerate(known, start=1))
        raise SettingsError(
            f"Known factorization {settings.solution} was asked for; there are: {names}."
        )


ALGORITHM = perturb.explorer(
    start,
    key="single_mode",
    label="Single mode",
    Settings=Settings,
    check=check,
    color="#78ABD6",
    symbol="x",
    summary="Start from one known exact factorization and fit noisy copies of the data. A lower "
    "bound for the coverage of a good sampler; for generated data only.",
)
