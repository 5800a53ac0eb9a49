"""What a tree of :mod:`bnmf_core.rrt.rrt` is planted with: solved and possible starts."""

from typing import NoReturn, Protocol

import numpy as np

from bnmf_core.core.errors import SettingsError
from bnmf_core.core.problem import Problem
from bnmf_core.core.threshold import rounded_up
from bnmf_core.explorers import oblique
from bnmf_core.lazy import lazy
from bnmf_core.rrt.ascent import climb
from bnmf_core.rrt.mixture import best_scale, component_of
from bnmf_core.solvers import SOLVERS, solution
from bnmf_core.solvers.solution import Stopping, solve_with

optimize = lazy("scipy.optimize")

# The ε that is shown in a refusal is larger by this part.
ROOM = 1e-9


class SolverSettings(Protocol):
    """Settings with a solver among them."""

    @property
    def solver(self) -> str:
        """Key of the solver."""

    @property
    def solver_iterations(self) -> int:
        """How many it takes at most."""


def solved(
    problem: Problem, A: np.ndarray, W: np.ndarray, unsolved: int, settings: SolverSettings
) -> tuple[np.ndarray, np.ndarray, int]:
    """Solve some more of the starts A (M, D, R), W (M, R, N); how many are unsolved then.

    One after the other, so that no bit depends on how many are solved in one step.
    """
    solver = SOLVERS[settings.solver]
    each = solver.work(problem, settings.solver_iterations / 3)
    first = len(A) - unsolved
    last = min(len(A), first + max(1, int(solution.STEP_WORK / each)))
    A, W = A.copy(), W.copy()
    for i in range(first, last):
        one, stopping = slice(i, i + 1), Stopping(settings.solver_iterations)
        A[one], W[one] = solve_with(solver, problem, A[one], W[one], stopping)
    return A, W, len(A) - last


def possible_starts(
    problem: Problem, A: np.ndarray, W: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Those of the starts A (M, D, R), W (M, R, N) whose likelihood is not zero.

    Raises
    ------
    SettingsError
        When there is none, with the smallest ε that makes one possible.
    """
    if problem.model.offending is None:
        return A, W
    possible = problem.model.offending(problem, A, W) < 0
    if not possible.any():
        refuse_impossible(problem, A, W)
    return A[possible], W[possible]


def refuse_impossible(problem: Problem, A: np.ndarray, W: np.ndarray) -> NoReturn:
    """Raise a SettingsError because no start A (M, D, R), W (M, R, N) is possible.

    It names the smallest ε that makes one possible, of a model that has a threshold.
    """
    threshold = problem.model.threshold
    if threshold is None:
        raise SettingsError("No start is feasible: the likelihood of every one is zero.")
    # A little more, as rounding may differ at another scale.
    least = rounded_up(float(threshold.values(problem, A, W).min()), ROOM)
    raise SettingsError(
        f"No start is feasible: with ε = {threshold.epsilon(problem.model_settings):.4g} none "
        f"reproduces every entry of X. The smallest ε that makes one feasible is {least:.4g}."
    )


def polished(
    problem: Problem, A: np.ndarray, W: np.ndarray, iterations: int
) -> tuple[np.ndarray, np.ndarray]:
    """The most probable start of A (M, D, R), W (M, R, N) after some iterations on the bound.

    It is optimised as a single component (paper 2, §4.3): (1, D, R) and (1, R, N).
    """
    A, W = best_scale(A, W)
    best = int(problem.model.log_joint(problem, A, W).argmax())
    alone = component_of(problem, A[best], W[best], rescale=False).best_variance
    one = slice(best, best + 1)
    return climb(problem, A[one], W[one], np.log([alone]), iterations)[:2]


def in_one_order(A: np.ndarray) -> np.ndarray:
    """The bases (M, D, R), components matched to the first one's: no branch twice in the tree."""
    directions = oblique.unit_columns(A)
    order = [optimize.linear_sum_assignment(-directions[0].T @ other)[1] for other in directions]
    return np.stack([a[:, columns] for a, columns in zip(A, order, strict=True)])
