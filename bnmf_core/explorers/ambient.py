"""Particles moved as paper 3 moves them: A and W as they are, projected back after every step.

A position q is (m, R, D + N), the columns of A followed by the rows of W. Entries below 0 become 0,
entries above 1 become 1 where they have to lie in between, and a column of A that has to sum to 1
is replaced by the nearest one that does. At a wall Stein's identity fails, see
:mod:`bnmf_core.explorers.interior` for coordinates without.
"""

from dataclasses import dataclass

import numpy as np

from bnmf_core.core.model import Support, required
from bnmf_core.core.problem import Problem
from bnmf_core.explorers.interior import Interior


@dataclass(frozen=True)
class Ambient(Interior):
    """The entries themselves as coordinates; unit_A, unit_W : how far a step of 1 goes."""

    unit_A: float = 1.0
    unit_W: float = 1.0

    @classmethod
    def of(cls, problem: Problem) -> "Ambient":
        """The coordinates for the problem's model, in units of a typical entry of each factor."""
        data, rank = problem.dataset, problem.rank
        D, (support_A, support_W) = data.D, problem.model.support
        unit_A = unit_W = float(np.sqrt(data.mean / rank))
        if support_A is Support.SIMPLEX:  # ΣX = ΣW then
            unit_A, unit_W = 1.0 / D, D * data.mean / rank
        return cls(D, support_A, support_W, unit_A, unit_W)

    def to_position(self, A: np.ndarray, W: np.ndarray) -> np.ndarray:
        """A (m, D, R), W (m, R, N) → q (m, R, D + N), projected onto the supports."""
        return self.settled(np.concatenate((A.transpose(0, 2, 1), W), axis=2))

    def settled(self, q: np.ndarray) -> np.ndarray:
        """The nearest position on the supports."""
        result = np.maximum(q, 0.0)
        for part, support in self._supports:
            if support is Support.UNIT_INTERVAL:
                np.minimum(result[:, :, part], 1.0, out=result[:, :, part])
            elif support is Support.SIMPLEX:
                result[:, :, part] = nearest_distributions(q[:, :, part])
        return result

    def moved(self, q: np.ndarray, by: np.ndarray) -> np.ndarray:
        """q + by, in the units of both factors, projected."""
        units = np.full(q.shape[2], self.unit_W)
        units[: self.D] = self.unit_A
        return self.settled(q + by * units)

    def parts(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Inputs of the kernel: (m, R·D) and (m, R·N)."""
        A, W = self.split(q)
        return A.reshape(q.shape[0], -1), W.reshape(q.shape[0], -1)

    def dimensions(self, q: np.ndarray) -> tuple[int, int]:
        """Numbers of entries: the walls and sums are not taken into account."""
        R, K = q.shape[1:]
        return R * self.D, R * (K - self.D)

    def score(self, problem: Problem, q: np.ndarray) -> np.ndarray:
        """Gradient (m, R, D + N) of the log joint, every entry free."""
        A, W = self.split(q)
        slopes = required(problem.model.log_joint_and_score)
        _, by_A, by_W = slopes(problem, A.transpose(0, 2, 1), W)
        return np.concatenate((by_A.transpose(0, 2, 1), by_W), axis=2)

    def score_along(self, problem: Problem, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Derivative of :meth:`score` along v."""
        (A, W), (moved_A, moved_W) = self.split(q), self.split(v)
        by_A, by_W = required(problem.model.score_along)(
            problem, A.transpose(0, 2, 1), W, moved_A.transpose(0, 2, 1), moved_W
        )
        return np.concatenate((by_A.transpose(0, 2, 1), by_W), axis=2)

    def _entries(self, q: np.ndarray) -> np.ndarray:
        return q.copy()


def nearest_distributions(rows: np.ndarray) -> np.ndarray:
    """The nearest row that is ≥ 0 and sums to 1, for each row of (…, K) (Duchi et al. 2008)."""
    descending = -np.sort(-rows, axis=-1)
    excess = np.cumsum(descending, axis=-1) - 1.0
    counts = np.arange(1, rows.shape[-1] + 1)
    support = (descending - excess / counts > 0).sum(axis=-1, keepdims=True)
    shift = np.take_along_axis(excess, support - 1, axis=-1) / support
    nearest: np.ndarray = np.maximum(rows - shift, 0.0)
    return nearest
