"""Coordinates without walls for particles that follow a slope, and the slope in them.

A position q is (m, R, D + N): for each of m particles and R components, the coordinates of a column
of A followed by those of a row of W: logarithms, and logits where entries lie between 0 and 1.
Where the model wants the columns of A on the simplex, the part of A has Σ exp(q) = 1, and
what counts of it are its isometric log-ratios; distances and inner products in them are those of
the centred logarithms. These are the coordinates of the discrepancy's form "interior", see
:mod:`bnmf_core.core.interior`. ``samplers/coordinates.py`` keeps W of the simplex models ≥ 0
by reflection instead, where Stein's identity fails.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import expit, logit, logsumexp

from bnmf_core.core import interior
from bnmf_core.core.model import Support, required
from bnmf_core.core.problem import Problem
from bnmf_core.samplers.starting import LIFT, lifted

# Of A and of W.
SUPPORTS = frozenset(product(Support, [Support.POSITIVE, Support.UNIT_INTERVAL]))


@dataclass(frozen=True)
class Interior:
    """The coordinates for one model. D : rows of A. support_A, support_W : where A and W live."""

    D: int
    support_A: Support
    support_W: Support

    @classmethod
    def of(cls, problem: Problem) -> "Interior":
        """The coordinates for the problem's model."""
        return cls(problem.dataset.D, *problem.model.support)

    @property
    def simplex(self) -> bool:
        """Whether A's columns sum to 1."""
        return self.support_A is Support.SIMPLEX

    @property
    def _supports(self) -> tuple[tuple[slice, Support], tuple[slice, Support]]:
        return (slice(None, self.D), self.support_A), (slice(self.D, None), self.support_W)

    def to_position(self, A: np.ndarray, W: np.ndarray) -> np.ndarray:
        """A (m, D, R), W (m, R, N) → q (m, R, D + N); entries on a border are moved off it."""
        q = np.concatenate((lifted(A, axis=1).transpose(0, 2, 1), lifted(W, axis=2)), axis=2)
        for part, support in self._supports:
            if support is Support.UNIT_INTERVAL:
                q[:, :, part] = logit(np.clip(q[:, :, part], LIFT, 1.0 - LIFT))
            else:
                q[:, :, part] = np.log(q[:, :, part])
        return self.settled(q)

    def to_factors(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The factors at q (m, R, D + N): A (m, D, R), W (m, R, N), on the model's support."""
        F = self._entries(q)
        A, W = self.split(F)
        return np.ascontiguousarray(A.transpose(0, 2, 1)), np.ascontiguousarray(W)

    def settled(self, q: np.ndarray) -> np.ndarray:
        """The position that stands for q: columns of A that sum to 1 where they have to."""
        if not self.simplex:
            return q
        q = q.copy()
        q[:, :, : self.D] -= logsumexp(q[:, :, : self.D], axis=2, keepdims=True)
        return q

    def moved(self, q: np.ndarray, by: np.ndarray) -> np.ndarray:
        """The position that stands for q + by."""
        return self.settled(q + by)

    def parts(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Inputs of the kernel: (m, R·D) and (m, R·N), the part of A centred on the simplex."""
        A, W = self.split(q)
        if self.simplex:
            A = A - A.mean(axis=2, keepdims=True)
        return A.reshape(q.shape[0], -1), W.reshape(q.shape[0], -1)

    def dimensions(self, q: np.ndarray) -> tuple[int, int]:
        """Dimensions of the space that the two parts move in."""
        R, K = q.shape[1:]
        return (
            interior.dimension(self.D, R, self.support_A),
            interior.dimension(K - self.D, R, self.support_W),
        )

    def split(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The part of A (m, R, D) and that of W (m, R, N)."""
        return q[:, :, : self.D], q[:, :, self.D :]

    def joined(self, A: np.ndarray, W: np.ndarray, R: int) -> np.ndarray:
        """(m, R·D) and (m, R·N) → (m, R, D + N)."""
        m = A.shape[0]
        return np.concatenate((A.reshape(m, R, -1), W.reshape(m, R, -1)), axis=2)

    def score(self, problem: Problem, q: np.ndarray) -> np.ndarray:
        """Gradient (m, R, D + N) of the log density in q, Jacobian included."""
        F = self._entries(q)
        A, W = self.split(F)
        slopes = required(problem.model.log_joint_and_score)
        _, by_A, by_W = slopes(problem, A.transpose(0, 2, 1), W)
        result = np.concatenate((by_A.transpose(0, 2, 1), by_W), axis=2)
        for part, support in self._supports:
            interior.to_slopes(result[:, :, part], F[:, :, part], support, axis=2)
        return result

    def score_along(self, problem: Problem, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Derivative of :meth:`score` along v: the Hessian times v, (m, R, D + N).

        For models that know ``score_along``. Ḟ = F ∘ v, F ∘ (v − x·v) on the simplex, F(1 − F) ∘ v
        for logits; then the product rule on h, on x Σh, and on F(1 − F) ∘ gradient − 2F.
        """
        F = self._entries(q)
        moved = F * v
        for part, support in self._supports:
            change = moved[:, :, part]
            if support is Support.SIMPLEX:
                change -= F[:, :, part] * change.sum(axis=2, keepdims=True)
            elif support is Support.UNIT_INTERVAL:
                change *= 1.0 - F[:, :, part]
        A, W = self.split(F)
        moved_A, moved_W = self.split(moved)
        A, moved_A = A.transpose(0, 2, 1), moved_A.transpose(0, 2, 1)
        by_A, by_W = required(problem.model.score)(problem, A, W)
        along_A, along_W = required(problem.model.score_along)(problem, A, W, moved_A, moved_W)
        slope = np.concatenate((by_A.transpose(0, 2, 1), by_W), axis=2)
        along = np.concatenate((along_A.transpose(0, 2, 1), along_W), axis=2)
        result = moved * slope
        result += F * along
        for part, support in self._supports:
            x, change, found = F[:, :, part], moved[:, :, part], result[:, :, part]
            if support is Support.SIMPLEX:
                h = x * slope[:, :, part] + 1.0
                found -= change * h.sum(axis=2, keepdims=True) + x * found.sum(
                    axis=2, keepdims=True
                )
            elif support is Support.UNIT_INTERVAL:
                found[...] = (1.0 - 2.0 * x) * change * slope[:, :, part] - 2.0 * change
                found += x * (1.0 - x) * along[:, :, part]
        return result

    def _entries(self, q: np.ndarray) -> np.ndarray:
        if Support.UNIT_INTERVAL not in (self.support_A, self.support_W):
            return np.exp(q)
        F = np.empty_like(q)
        for part, support in self._supports:
            inverse = expit if support is Support.UNIT_INTERVAL else np.exp
            F[:, :, part] = inverse(q[:, :, part])
        return F
