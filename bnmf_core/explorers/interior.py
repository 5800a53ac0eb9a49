"""Coordinates without walls for particles that follow a slope, and the slope in them.

A position q is (m, R, D + N): for each of m particles and R components, the logarithms of a column
of A followed by those of a row of W. Where the model wants the columns of A on the simplex, the
part of A is kept with Σ exp(q) = 1, and what counts of it are its isometric log-ratios
(Egozcue et al. 2003); distances and inner products in them are those of the centred logarithms.
These are the coordinates of the discrepancy's form "interior", in which the density vanishes
towards every border and Stein's identity holds. ``samplers/coordinates.py`` keeps W on the simplex
models ≥ 0 by reflection instead, where the identity fails.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from bnmf_core.nouns.problem import Problem
from bnmf_core.samplers.coordinates import LogCoordinates


@dataclass(frozen=True)
class Interior:
    """The coordinates for one model. D : rows of A. simplex : whether A's columns sum to 1."""

    D: int
    simplex: bool

    @classmethod
    def of(cls, problem: Problem) -> "Interior":
        """The coordinates for the problem's model."""
        return cls(problem.dataset.D, problem.model.support == "simplex")

    def to_position(self, A: np.ndarray, W: np.ndarray) -> np.ndarray:
        """A (m, D, R), W (m, R, N) → q (m, R, D + N); zeros are lifted to small entries."""
        logs = LogCoordinates(self.D)
        return self.settled(logs.to_position(*logs.lift(A, W)))

    def to_factors(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The factors at q (m, R, D + N): A (m, D, R), W (m, R, N), every entry ≥ 0."""
        A, W = LogCoordinates(self.D).to_factors(q)
        return np.ascontiguousarray(A), np.ascontiguousarray(W)

    def settled(self, q: np.ndarray) -> np.ndarray:
        """The position that stands for q: columns of A that sum to 1 where they have to."""
        if not self.simplex:
            return q
        q = q.copy()
        q[:, :, : self.D] -= logsumexp(q[:, :, : self.D], axis=2, keepdims=True)
        return q

    def parts(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What the kernel sees: (m, R·D) and (m, R·N), the part of A centred on the simplex."""
        A, W = self.split(q)
        if self.simplex:
            A = A - A.mean(axis=2, keepdims=True)
        return A.reshape(q.shape[0], -1), W.reshape(q.shape[0], -1)

    def dimensions(self, q: np.ndarray) -> tuple[int, int]:
        """Dimensions of the space that the two parts move in."""
        R, K = q.shape[1:]
        return R * (self.D - self.simplex), R * (K - self.D)

    def split(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The part of A (m, R, D) and that of W (m, R, N)."""
        return q[:, :, : self.D], q[:, :, self.D :]

    def joined(self, A: np.ndarray, W: np.ndarray, R: int) -> np.ndarray:
        """(m, R·D) and (m, R·N) → (m, R, D + N)."""
        m = A.shape[0]
        return np.concatenate((A.reshape(m, R, -1), W.reshape(m, R, -1)), axis=2)

    def score(self, problem: Problem, q: np.ndarray) -> np.ndarray:
        """Gradient (m, R, D + N) of the log density in q, Jacobian included.

        With h = F ∘ ∇_F log p + 1, it is h, and h − x Σh for a column x on the simplex.
        """
        _, score = LogCoordinates(self.D).density(problem)(q)
        if self.simplex:
            h = score[:, :, : self.D]
            h -= np.exp(q[:, :, : self.D]) * h.sum(axis=2, keepdims=True)
        return score

    def score_along(self, problem: Problem, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Derivative of :meth:`score` along v: the Hessian times v, (m, R, D + N).

        For models that know ``score_along``. Ḟ = F ∘ v, and F ∘ (v − x·v) on the simplex; then the
        product rule on h and on x Σh.
        """
        D, F = self.D, np.exp(q)
        moved = F * v
        if self.simplex:
            moved[:, :, :D] -= F[:, :, :D] * moved[:, :, :D].sum(axis=2, keepdims=True)
        A, W = F[:, :, :D].transpose(0, 2, 1), F[:, :, D:]
        moved_A, moved_W = moved[:, :, :D].transpose(0, 2, 1), moved[:, :, D:]
        by_A, by_W = problem.model.score(problem, A, W)
        along_A, along_W = problem.model.score_along(problem, A, W, moved_A, moved_W)
        slope = np.concatenate((by_A.transpose(0, 2, 1), by_W), axis=2)
        result = moved * slope
        result += F * np.concatenate((along_A.transpose(0, 2, 1), along_W), axis=2)
        if self.simplex:
            x, moved_x, moved_h = F[:, :, :D], moved[:, :, :D], result[:, :, :D]
            h = x * slope[:, :, :D] + 1.0
            moved_h -= moved_x * h.sum(axis=2, keepdims=True) + x * moved_h.sum(
                axis=2, keepdims=True
            )
        return result
