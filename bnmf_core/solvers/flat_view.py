"""An objective of A and W as one of flat vectors, for solvers of any loss."""

from dataclasses import dataclass, replace

import numpy as np

from bnmf_core.core.objective import Objective
from bnmf_core.solvers.ties import Ties

# A curvature below this part of the largest stands for an entry that nothing depends on.
LEAST = 1e-10
# A factorization that has settled is shaken once: entries near 0 are raised to this part of the
# mean of their factor. From a saddle, where zeros of A and W hold each other, it goes on; to an
# optimum it returns, with entries off 0 that a loss all but forbids to leave it.
LIFT = 0.01


@dataclass(frozen=True)
class FlatView:
    """An objective of flat vectors x = (A, W), (m, n), with what is held or tied in A."""

    objective: Objective
    D: int
    R: int
    N: int
    held: np.ndarray | None
    ties: Ties | None

    def split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A (m, D, R), W (m, R, N)."""
        size = self.D * self.R
        return x[:, :size].reshape(-1, self.D, self.R), x[:, size:].reshape(-1, self.R, self.N)

    @staticmethod
    def joined(A: np.ndarray, W: np.ndarray) -> np.ndarray:
        """(m, n)."""
        m = A.shape[0]
        return np.concatenate([A.reshape(m, -1), W.reshape(m, -1)], axis=1)

    def of(self, index: np.ndarray) -> "FlatView":
        """The view of some of the factorizations."""
        ties = None if self.ties is None else self.ties.of(index)
        return replace(self, objective=self.objective.of(index), ties=ties)

    @property
    def movable(self) -> np.ndarray:
        """(m or 1, n) bool, entries that may be moved by themselves."""
        m = 1 if self.ties is None else self.ties.entry.size
        of_A = np.ones((m, self.D, self.R), dtype=bool)
        if self.held is not None:
            of_A[:, :, self.held] = False
        if self.ties is not None:
            of_A[np.arange(m), self.ties.entry, self.ties.component] = False
        return self.joined(of_A, np.ones((m, self.R, self.N), dtype=bool))

    def _carried(self, by_A: np.ndarray) -> np.ndarray:
        """The slope of each tied entry given to the others of its column."""
        if self.ties is None:
            return by_A
        by_A, all_of, ties = by_A.copy(), np.arange(by_A.shape[0]), self.ties
        tied = by_A[all_of, ties.entry, ties.component].copy()
        by_A[all_of, :, ties.component] += (ties.odds * tied)[:, None]
        return by_A

    def _follow(self, moved_A: np.ndarray) -> np.ndarray:
        """The tied entry of each moved with the others of its column."""
        if self.ties is None:
            return moved_A
        moved_A, all_of, ties = moved_A.copy(), np.arange(moved_A.shape[0]), self.ties
        moved_A[all_of, ties.entry, ties.component] = 0.0
        total = moved_A[all_of, :, ties.component].sum(axis=1)
        moved_A[all_of, ties.entry, ties.component] = ties.odds * total
        return moved_A

    def moved(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        """x + d cut at 0, the tied entry where the others put it."""
        A, W = self.split(np.maximum(x + d, 0.0))
        if self.ties is not None:
            A = self.ties.imposed(A.transpose(0, 2, 1)).transpose(0, 2, 1)
        return self.joined(A, W)

    def lifted(self, x: np.ndarray) -> np.ndarray:
        """x with entries near 0 a little off it, where they may be moved."""
        parts = self.split(x)
        least = [LIFT * np.broadcast_to(F.mean(axis=(1, 2), keepdims=True), F.shape) for F in parts]
        raised = np.maximum(x, np.where(self.movable, self.joined(*least), 0.0))
        return self.moved(raised, np.zeros_like(x))

    @property
    def without_scales(self) -> bool:
        """Whether the objective does not mind the scales of components."""
        return self.held is None and self.objective.without_scales

    def balanced(self, A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Components with equal lengths in A and W, where the objective does not mind."""
        if not self.without_scales:
            return A, W
        size_A, size_W = np.sqrt((A**2).sum(axis=1)), np.sqrt((W**2).sum(axis=2))
        full = (size_A > 0) & (size_W > 0)
        factor = np.sqrt(np.divide(size_W, size_A, out=np.ones_like(size_A), where=full))
        return A * factor[:, None, :], W / factor[:, :, None]

    def off_scales(
        self, x: np.ndarray, free: np.ndarray, r: np.ndarray, c: np.ndarray
    ) -> np.ndarray:
        """r/c, (m, n), without its part along the scales of components.

        A loss of AW does not change where A_r grows and W_r shrinks by the same factor, and the
        Hessian away from a minimum bends down there, which would end conjugate gradients.
        """
        z: np.ndarray = r / c
        if not self.without_scales:
            return z
        A, W = self.split(np.where(free, x, 0.0))
        (r_A, r_W), (c_A, c_W) = self.split(r), self.split(c)
        along = (A * r_A).sum(axis=1) - (W * r_W).sum(axis=2)
        size = (c_A * A**2).sum(axis=1) + (c_W * W**2).sum(axis=2)
        part = np.divide(along, size, out=np.zeros_like(along), where=size > 0)
        return z - self.joined(A * part[:, None, :], -W * part[:, :, None])

    def values(self, x: np.ndarray) -> np.ndarray:
        """(m,)."""
        return self.objective.values(*self.split(x))

    def slopes(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values (m,), gradients (m, n), and curvatures of single entries (m, n), above 0."""
        A, W = self.split(x)
        values, by_A, by_W = self.objective.values_and_gradients(A, W)
        c = self.joined(*self.objective.curvatures(A, W))
        least = LEAST * c.max(axis=1, keepdims=True)
        c = np.maximum(c, np.where(least > 0.0, least, 1.0))
        return values, self.joined(self._carried(by_A), by_W), c

    def hessian_times(self, x: np.ndarray, d: np.ndarray) -> np.ndarray:
        """(m, n)."""
        moved_A, moved_W = self.split(d)
        by_A, by_W = self.objective.gradients_along(*self.split(x), self._follow(moved_A), moved_W)
        return self.joined(self._carried(by_A), by_W)
