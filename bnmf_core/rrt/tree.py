"""The tree of :mod:`bnmf_core.rrt.rrt`: its nodes, and one attempt to grow it."""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from bnmf_core.core.problem import Problem
from bnmf_core.explorers import oblique
from bnmf_core.rrt.mixture import best_scale

# Why an attempt failed, in the order in which they are counted.
REJECTIONS = ("deviation", "probability", "angle", "singular")
SENTENCES = {
    "deviation": "left the region where every entry is within ε: a larger ε (2ε or 8ε) or smaller "
    "first steps help",
    "probability": "were less probable than the threshold: a larger noise level σ or smaller first "
    "steps help",
    "angle": "came to lie too near to a node: a smaller least angle or larger first steps help",
    "singular": "had dependent components: a lower rank helps",
}
# What the diagnostic "kind" of a particle says.
KINDS = ("start", "optimised start", "node")
# Rows that are looked at first when entries are compared: where the last nodes failed.
MOST_SUSPECTS = 4


class Growth(Protocol):
    """Settings of how a tree grows: the first step, its growth, and the most steps."""

    @property
    def step(self) -> float:
        """How far the first step of an attempt goes."""

    @property
    def step_growth(self) -> float:
        """By which part every further step is longer."""

    @property
    def most_steps(self) -> int:
        """How many steps an attempt goes at most."""


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

    def kept(self, chosen: np.ndarray) -> "Nodes":
        """Only those chosen, by (K,) bool or by their places."""
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
        """Only the nodes chosen, by (K,) bool or by their places."""
        self.nodes = self.nodes.kept(chosen)
        if self.directions is not None:
            self.directions = self.directions[chosen]

    def attempt(
        self, settings: Growth, threshold: float, angle: float, rng: np.random.Generator
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
    told = [f"{int(count):,} {SENTENCES[reason]}" for count, reason in shares if count]
    return (
        f"The tree found no new node in {attempts:,} attempts. Of all attempts that failed, "
        f"{'; '.join(told)}."
    )
