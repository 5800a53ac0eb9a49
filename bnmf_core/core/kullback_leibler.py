"""The generalised Kullback–Leibler divergence of X from AW: minus the Poisson log likelihood.

D(X ‖ Y) = Σ x log(x/y) − x + y (Lee & Seung 2001). An entry of 0 adds y, so that of a sparse X only
the stored entries are read, and the sum of all of AW is ΣA·ΣW.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.loss import AS_DEVIANCE, Loss, Slopes, slopes_along
from bnmf_core.lazy import lazy
from bnmf_core.numerics.linalg import blocks
from bnmf_core.numerics.matrix import is_sparse, stored

if TYPE_CHECKING:
    from bnmf_core.core.problem import Problem

kernels = lazy("bnmf_core.numerics.divergence")

# Where x > 0, x and y are raised by this part of the mean entry of X: D stays 0 exactly where
# X = AW, and is finite with all its slopes for any A, W ≥ 0.
FLOOR = 1e-6
# Multiply-adds that an entry is worth beside its products: a logarithm and a quotient; of a dense
# X with whole arrays in between, of a stored entry without them.
ENTRY_WORK, STORED_WORK = 120.0, 30.0

# Rows and columns of a part of X, of one particle, with x', y', y and 1 where x was seen.
Block = tuple[int, slice, slice, np.ndarray, np.ndarray, np.ndarray, np.ndarray | float]


class KullbackLeibler(Loss):
    """D(X ‖ AW) over the seen entries; what is shown of it is its part of D(X ‖ mean of X)."""

    key = "kullback_leibler"
    label = "Kullback–Leibler divergence"
    measure, explains, ends = (AS_DEVIANCE[key] for key in ("measure", "explains", "ends"))
    axis = "D(X ‖ AW) / D(X ‖ mean of X)"

    def __reduce__(self) -> str:
        # Its solver is chosen by identity, on a worker as here.
        return "KULLBACK_LEIBLER"

    def values(self, problem: "Problem", A: np.ndarray, W: np.ndarray) -> np.ndarray:
        """D of each particle, (M,)."""
        return self.by_observation(problem, A, W).sum(axis=1)

    def values_and_gradients(
        self, problem: "Problem", A: np.ndarray, W: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """D (M,), (1 − x'/y') Wᵀ (M, D, R) and Aᵀ(1 − x'/y') (M, R, N)."""
        X, floor, R = problem.dataset.X, self.floor(problem.dataset), A.shape[2]
        found, by_A, by_W = np.zeros(A.shape[0]), np.zeros(A.shape), np.zeros(W.shape)
        if is_sparse(X):
            for m, (F, G) in enumerate(_filled(A, W)):
                sum_F, sum_G = F.sum(axis=0), G.sum(axis=0)
                by_F, by_G = np.tile(sum_G, (F.shape[0], 1)), np.tile(sum_F, (G.shape[0], 1))
                stored = kernels.slopes(*kernels.lines(X), F, G, floor, by_F, by_G)
                found[m] = stored + sum_F @ sum_G
                by_A[m], by_W[m] = by_F[:, :R], by_G[:, :R].T
            return found, by_A, by_W
        for m, rows, columns, x, raised, y, seen in self._blocks(problem, A, W):
            # x' log(x'/y') − x + y, and y where x is 0.
            some = x > 0
            quotients = np.divide(x, raised, out=np.ones_like(raised), where=some)
            found[m] += ((x * np.log(quotients) - (x - floor * some) + y) * seen).sum()
            slope = (1.0 - x / raised) * seen
            by_A[m, rows] += slope @ W[m][:, columns].T
            by_W[m][:, columns] += A[m, rows].T @ slope
        return found, by_A, by_W

    def gradients_along(
        self,
        problem: "Problem",
        A: np.ndarray,
        W: np.ndarray,
        moved_A: np.ndarray,
        moved_W: np.ndarray,
    ) -> Slopes:
        """(φ'' ∘ ẏ) Wᵀ + φ' Ẇᵀ and Aᵀ(φ'' ∘ ẏ) + Ȧᵀφ', with ẏ = ȦW + AẆ, φ'' = x'/y'²."""
        X, floor, R = problem.dataset.X, self.floor(problem.dataset), A.shape[2]
        if is_sparse(X):
            along_A, along_W = np.zeros(A.shape), np.zeros(W.shape)
            pairs = zip(_filled(A, W), _filled(moved_A, moved_W), strict=True)
            for m, ((F, G), (moved_F, moved_G)) in enumerate(pairs):
                along_F = np.tile(moved_G.sum(axis=0), (F.shape[0], 1))
                along_G = np.tile(moved_F.sum(axis=0), (G.shape[0], 1))
                kernels.slopes_along(
                    *kernels.lines(X), F, G, moved_F, moved_G, floor, along_F, along_G
                )
                along_A[m], along_W[m] = along_F[:, :R], along_G[:, :R].T
            return along_A, along_W
        parts = (
            (m, rows, columns, x / raised**2 * seen, (1.0 - x / raised) * seen)
            for m, rows, columns, x, raised, _, seen in self._blocks(problem, A, W)
        )
        return slopes_along(parts, A, W, moved_A, moved_W)

    def curvatures(self, problem: "Problem", A: np.ndarray, W: np.ndarray) -> Slopes:
        """Σ_n x'/y'² W_rn² and Σ_d x'/y'² A_dr²."""
        X, floor, R = problem.dataset.X, self.floor(problem.dataset), A.shape[2]
        of_A, of_W = np.zeros(A.shape), np.zeros(W.shape)
        if is_sparse(X):
            for m, (F, G) in enumerate(_filled(A, W)):
                of_F, of_G = np.zeros(F.shape), np.zeros(G.shape)
                kernels.bends(*kernels.lines(X), F, G, F**2, G**2, floor, of_F, of_G)
                of_A[m], of_W[m] = of_F[:, :R], of_G[:, :R].T
            return of_A, of_W
        for m, rows, columns, x, raised, _, seen in self._blocks(problem, A, W):
            bend = x / raised**2 * seen
            of_A[m, rows] += bend @ (W[m][:, columns] ** 2).T
            of_W[m][:, columns] += (A[m, rows] ** 2).T @ bend
        return of_A, of_W

    def by_observation(self, problem: "Problem", A: np.ndarray, W: np.ndarray) -> np.ndarray:
        """D of each column of X: (M, N)."""
        X, floor = problem.dataset.X, self.floor(problem.dataset)
        found = np.zeros((A.shape[0], problem.dataset.N))
        if is_sparse(X):
            for m, (F, G) in enumerate(_filled(A, W)):
                kernels.values(*kernels.lines(X), F, G, floor, found[m])
                found[m] += G @ F.sum(axis=0)
            return found
        for part in blocks(X):
            seen = np.zeros((0, 0)) if problem.seen is None else problem.seen[part]
            for m in range(A.shape[0]):
                y = A[m, part[0]] @ W[m][:, part[1]]
                kernels.whole_values(X[part], y, seen, floor, found[m, part[1]])
        return found

    def work(self, problem: "Problem") -> float:
        """Multiply-adds of three products and of φ at each stored entry."""
        data = problem.dataset
        extra = STORED_WORK if data.is_sparse else ENTRY_WORK
        return (3.0 * problem.rank + extra) * data.stored_entries

    def size(self, dataset: Dataset) -> float:
        """ΣX."""
        return dataset.total

    def of_mean(self, dataset: Dataset) -> float:
        """D(X ‖ mean of X)."""
        x, floor = stored(dataset.X), self.floor(dataset)
        raised = x[x > 0] + floor
        return float((raised * np.log(raised / (dataset.mean + floor))).sum())

    def floor(self, dataset: Dataset) -> float:
        """Amount by which x and y are raised where x > 0."""
        return FLOOR * (dataset.mean or 1.0)

    def _blocks(self, problem: "Problem", A: np.ndarray, W: np.ndarray) -> Iterator[Block]:
        """Each particle with each block of a dense X, so that no more of any AW is held."""
        X, floor = problem.dataset.X, self.floor(problem.dataset)
        assert isinstance(X, np.ndarray)
        for rows, columns in blocks(X):
            x = X[rows, columns]
            x = x + floor * (x > 0)
            seen = 1.0 if problem.seen is None else problem.seen[rows, columns]
            for m in range(A.shape[0]):
                y = A[m, rows] @ W[m][:, columns]
                yield m, rows, columns, x, y + floor, y, seen


KULLBACK_LEIBLER = KullbackLeibler()


def _filled(A: np.ndarray, W: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """F (D, P) and G (N, P) of each particle."""
    for a, w in zip(A, W, strict=True):
        yield kernels.filled(a), kernels.filled(w.T)
