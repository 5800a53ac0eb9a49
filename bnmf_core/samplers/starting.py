"""Starts of chains for all samplers, and checks before they start."""

from collections.abc import Callable
from typing import Any

import numpy as np

from bnmf_core.core.errors import RunError, SettingsError
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting
from bnmf_core.samplers import sources
from bnmf_core.solvers import usual_solver
from bnmf_core.solvers.solution import Stopping, random_start, solve_with

START_ITERATIONS = 200
# An entry of zero has no logarithm: it is lifted to this part of its component's mean entry.
LIFT = 1e-3


def start_setting() -> str:
    """The declared setting "start", the same for every sampler."""
    return setting(
        "restart",
        "Start of a chain",
        "“restart”: a solved NMF from a random start. “prior”: a draw from the prior. “known”: one "
        "of the dataset's known exact factorizations, each equally likely.",
        choices=("restart", "prior", "known"),
    )


def checking(
    label: str, conditionals: bool = False, refused: str = ""
) -> Callable[[Problem, Any], None]:
    """Return the check of a problem and of settings before a sampler of this name is queued.

    It raises a RunError or a SettingsError where no chain could start: a flat prior, data of
    zeros, no known factorization; no conditional draws where it lives on them; counts with a
    dispersion where it says why they are ``refused``.
    """

    def check(problem: Problem, settings: Any) -> None:
        check_posterior(problem, label)
        if conditionals:
            check_conditionals(problem, label)
        if refused:
            check_undispersed(problem, label, refused)
        if settings.start == "known":
            problem.dataset.known_factorizations(problem.rank)

    return check


def check_posterior(problem: Problem, label: str, what: str = "the chain") -> None:
    """Check that there is a posterior to draw from; ``what`` would drift off where there is none.

    Raises
    ------
    SettingsError
        For a flat prior. RunError: when every entry of the data is zero.
    """
    needed = problem.model.improper(problem.model_settings)
    if needed:
        raise SettingsError(f"{label} needs {needed}, and {what} would drift off.")
    if problem.dataset.squared_norm == 0:
        raise RunError(
            f"Every entry that the run sees is zero, so {label} has nothing to start from; "
            "choose other observations."
        )


def check_conditionals(problem: Problem, label: str) -> None:
    """Check that the settings of a model with conditional draws give them.

    Raises
    ------
    SettingsError
        Saying what they would have to be.
    """
    needed = problem.model.unconditional(problem.model_settings)
    if needed:
        raise SettingsError(f"{label} needs {needed}; other samplers can do without.")


def check_undispersed(problem: Problem, label: str, why: str) -> None:
    """Check that counts have no dispersion.

    Raises
    ------
    SettingsError
        Saying ``why`` they cannot be drawn where they have one.
    """
    if sources.serve(problem) and sources.of(problem).dispersion is not None:
        raise SettingsError(
            f"{label} cannot draw counts with a dispersion: {why}. Choose Gibbs or HMC, or a model "
            "without a dispersion."
        )


def starts(
    problem: Problem, settings: Any, generators: list[np.random.Generator], label: str
) -> tuple[np.ndarray, np.ndarray]:
    """One start for each generator: A (c, D, R), W (c, R, N), on the model's support.

    Each is drawn from its own generator, so it does not depend on the other chains.

    Raises
    ------
    RunError, SettingsError
        When no chain can start: what :func:`checking` asks, or a log joint that is not finite.
    """
    checking(label)(problem, settings)
    data, model = problem.dataset, problem.model
    if settings.start == "prior":
        pairs = [model.prior(problem, rng) for rng in generators]
    elif settings.start == "known":
        known = data.known_factorizations(problem.rank)
        chosen = [known[rng.integers(len(known))] for rng in generators]
        pairs = [(truth.A, truth.W) for truth in chosen]
    else:
        pairs = [random_start(data, problem.rank, rng) for rng in generators]
    A, W = (np.stack(factors).astype(np.float64) for factors in zip(*pairs, strict=True))
    if settings.start == "restart":
        A, W = solve_with(usual_solver(problem), problem, A, W, Stopping(START_ITERATIONS))
    if settings.start != "prior":
        A, W = model.scale(A, W)
    with np.errstate(all="ignore"):
        finite = np.isfinite(problem.model.log_joint(problem, A, W))
    if not finite.all():
        raise RunError(
            f"{label} cannot start: where a chain would begin, the data have probability zero "
            "under the model. A larger noise level σ, another start, or data with a largest "
            "entry near 1 usually helps."
        )
    return A, W


def lifted(F: np.ndarray, axis: int) -> np.ndarray:
    """F ≥ 0 with every entry at least ``LIFT`` times the mean of its component along the axis.

    An empty component takes the mean of the whole factor instead, and an empty factor 1.
    """
    mean = F.mean(axis=axis, keepdims=True)
    whole = F.mean(axis=(1, 2), keepdims=True)
    whole = np.where(whole > 0, whole, 1.0)
    return np.maximum(F, LIFT * np.where(mean > 0, mean, whole))
