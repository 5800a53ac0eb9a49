"""The tree of RRT: its state, what it is planted with, and how it grows (paper 2)."""

from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from bnmf_core.core.errors import SettingsError
from bnmf_core.core.problem import Problem
from bnmf_core.core.threshold import rounded_up
from bnmf_core.explorers import oblique
from bnmf_core.lazy import lazy
from bnmf_core.rrt.ascent import climb
from bnmf_core.rrt.mixture import Mixture, best_scale, component_of
from bnmf_core.solvers import SOLVERS, solution
from bnmf_core.solvers.solution import Stopping, solve_with

# Reasons for failed attempts, in the order of their counters.
REJECTIONS = ("deviation", "probability", "angle", "singular")
SENTENCES = {
    "deviation": "left the region where every entry is within ε: a larger ε (2ε or 8ε) or smaller "
    "first steps help",
    "probability": "were less probable than the threshold: a larger noise level σ or smaller first "
    "steps help",
    "angle": "came to lie too near to a node: a smaller least angle or larger first steps help",
    "singular": "had dependent components: a lower rank helps",
}
# Names of the values of the diagnostic "kind".
KINDS = ("start", "optimised start", "node")
# Number of rows compared first: those where the last nodes failed.
MOST_SUSPECTS = 4


@dataclass(frozen=True, eq=False)
class Nodes:
    """K nodes of a tree.

    Attributes
    ----------
    Q : (K, R, R) changes of basis. number : (K,) which proposal each one was.
    quality : (K,) log joint. base : (K,) whether it stays when the tree begins again.
    """

    Q: np.ndarray
    number: np.ndarray
    quality: np.ndarray
    base: np.ndarray

    @property
    def size(self) -> int:
        """K."""
        return self.Q.shape[0]

    def with_node(self, Q: np.ndarray, number: int, quality: float, base: bool) -> "Nodes":
        """And a further node."""
        return Nodes(
            np.concatenate([self.Q, Q[None]]),
            np.append(self.number, number),
            np.append(self.quality, quality),
            np.append(self.base, base),
        )

    def select(self, chosen: np.ndarray) -> "Nodes":
        """Select nodes by (K,) bool or by their indices."""
        return Nodes(self.Q[chosen], self.number[chosen], self.quality[chosen], self.base[chosen])


@dataclass(eq=False)
class Tree:
    """Nodes that grow, within one step of the algorithm.

    Attributes
    ----------
    problem : the data and the model. A_svd (D, R), W_svd (R, N) : X ≈ A_svd W_svd.
    directions : (K, D, R) columns of A = ⌊A_svd Q⌋ at length 1, where angles count.
    rescale : whether a factorization is as probable as it is at its best scale, or at the model's.
    """

    problem: Problem
    A_svd: np.ndarray
    W_svd: np.ndarray
    nodes: Nodes
    directions: np.ndarray | None
    rescale: bool
    suspects: list[int] = field(default_factory=lambda: [0])

    def add(self, Q: np.ndarray, number: int, quality: float, base: bool) -> None:
        """A further node."""
        self.nodes = self.nodes.with_node(Q, number, quality, base)
        if self.directions is not None:
            A = np.maximum(self.A_svd @ Q, 0.0)
            self.directions = np.concatenate([self.directions, oblique.unit_columns(A)[None]])

    def keep(self, chosen: np.ndarray) -> None:
        """Remove all other nodes; ``chosen`` : (K,) bool or indices."""
        self.nodes = self.nodes.select(chosen)
        if self.directions is not None:
            self.directions = self.directions[chosen]

    def attempt(
        self, settings: Any, threshold: float, angle: float, rng: np.random.Generator
    ) -> tuple[str, np.ndarray, int]:
        """Move the nearest node towards a random point: (why it failed or "", Q, parent).

        ``threshold`` : least log joint; −∞ where it is enough to be possible. ``angle`` : least
        angle from every node, degrees.
        """
        target = oblique.uniform_point(self.nodes.Q.shape[1], rng)
        parent = oblique.nearest(self.nodes.Q, target)
        points = oblique.path(
            self.nodes.Q[parent], target, settings.step, settings.step_growth, settings.most_steps
        )
        # A first step that fails is the usual case; when it does not, more are tried together.
        good, together, failure = 0, 1, ""
        while good < len(points) and not failure:
            batch = points[good : good + together]
            fine, failure = self._feasible(batch, threshold)
            good, together = good + fine, 2 * together
        if good == 0:
            return failure or "angle", self.nodes.Q[parent], parent
        Q = points[good - 1]
        if angle > 0 and self.directions is not None:
            directions = oblique.unit_columns(np.maximum(self.A_svd @ Q, 0.0))
            if oblique.angles_between(directions, self.directions).min() < angle:
                return "angle", Q, parent
        return "", Q, parent

    def _feasible(self, Q: np.ndarray, threshold: float) -> tuple[int, str]:
        """How many of the points (b, R, R) come before the first that is not, and why it is not."""
        A, W, fine = oblique.factors(Q, self.A_svd, self.W_svd)
        reason = np.where(fine, "", "singular").astype(object)
        if self.problem.model.offending is not None:
            rows = self.problem.model.offending(self.problem, A, W, np.array(self.suspects))
            beyond = rows >= 0
            reason[fine & beyond] = "deviation"
            fine = fine & ~beyond
            for row in rows[beyond]:
                if row not in self.suspects:
                    self.suspects = [int(row), *self.suspects][:MOST_SUSPECTS]
        if np.isfinite(threshold):
            poor = ~(self.log_joint(A, W) >= threshold)
            reason[fine & poor] = "probability"
            fine = fine & ~poor
        if fine.all():
            return fine.size, ""
        first = int(np.argmin(fine))
        return first, str(reason[first])

    def log_joint(self, A: np.ndarray, W: np.ndarray) -> np.ndarray:
        """log p(X, A, W) at the scale at which each factorization is handed over: (b,)."""
        model = self.problem.model
        A, W = best_scale(A, W) if self.rescale else model.scale(A, W)
        return model.log_joint(self.problem, A, W)


def explanation(rejected: np.ndarray, attempts: int) -> str:
    """Why a tree does not grow: which criterion rejected how many, and what to change."""
    shares = sorted(zip(rejected, REJECTIONS, strict=True), reverse=True)
    parts = [f"{int(count):,} {SENTENCES[reason]}" for count, reason in shares if count]
    return (
        f"The tree found no new node in {attempts:,} attempts. Of all attempts that failed, "
        f"{'; '.join(parts)}."
    )


QUALITY, DIVERSITY = "quality", "diversity"


@dataclass(frozen=True, eq=False)
class Starts:
    """Starts of a tree: A, W (b, D, R), (b, R, N); ``unsolved`` : number of unsolved ones."""

    A: np.ndarray
    W: np.ndarray
    unsolved: int


@dataclass(frozen=True, eq=False)
class Planted:
    """A tree that grows.

    Attributes
    ----------
    nodes : see ``Nodes``. threshold : least log joint of a node, −∞ where there is none.
    angle : least angle, degrees. turn : how often the tree has begun again.
    """

    nodes: Nodes
    threshold: float
    angle: float
    turn: int


@dataclass(frozen=True, eq=False)
class Counters:
    """Proposals requested and made, attempts in a row without a node, failed ones by reason."""

    size: int
    made: int
    failed: int
    rejected: np.ndarray


@dataclass(frozen=True, eq=False)
class State:
    """A tree between two steps.

    Attributes
    ----------
    way : "quality" or "diversity". starts : None once the tree is planted. tree : None before.
    mixture : of what was proposed, for diversity; None for quality.
    variance : σ² of all its components.
    """

    way: str
    starts: Starts | None
    tree: Planted | None
    mixture: Mixture | None
    variance: float
    counters: Counters


optimize = lazy("scipy.optimize")

# The ε that is shown in a refusal is larger by this part.
ROOM = 1e-9


def solved(
    problem: Problem, A: np.ndarray, W: np.ndarray, unsolved: int, settings: Any
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
    """The starts A (M, D, R), W (M, R, N) with non-zero likelihood.

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
