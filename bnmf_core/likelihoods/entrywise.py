"""Losses that are a sum over entries, f(X, AW) = Σ φ(x, y) with y = AW, from φ and its slopes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.loss import ByObservation, Loss, Slopes, slopes_along
from bnmf_core.core.problem import Problem
from bnmf_core.numerics.linalg import blocks
from bnmf_core.numerics.matrix import Matrix, stored

# φ of x and y, entry by entry.
Entry = Callable[[np.ndarray, np.ndarray], np.ndarray]
# Multiply-adds that φ and its slope at an entry are worth: logarithms, quotients, memory.
ENTRY_WORK = 120.0
# Entries of X that are worked on together (1 MB): several arrays of them stay in the cache.
BLOCK_ENTRIES = 2**17
# Where φ is infinite at 0, x and y are raised by this part of the mean entry of X: f stays 0
# exactly where X = AW, and is finite with all its slopes for any A, W ≥ 0.
FLOOR = 1e-6


@dataclass(frozen=True)
class Entrywise(Loss):
    """f = Σ φ(x, y) over the seen entries of X, batched over particles.

    Attributes
    ----------
    value, slope, bend : φ and its first and second derivative by y.
    of_size : ``dataset → f`` as large as the data. raised : whether φ is infinite at 0.
    explains : see :class:`~bnmf_core.core.loss.Loss`; f is then shown as a part of f(X, mean of X).
    per_nat : the change of f that is a nat.
    """

    key: str
    label: str
    measure: str
    axis: str
    value: Entry
    slope: Entry
    bend: Entry
    of_size: Callable[[Dataset], float]
    raised: bool = False
    explains: str = ""
    ends: str = Loss.ends
    per_nat: float = 1.0
    expected: float | None = None

    @property
    def of_observations(self) -> ByObservation | None:
        """Only deviances: others may have several minima in the weights of one observation."""
        return self._of_observations if self.raised else None

    def values(self, problem: Problem, A: np.ndarray, W: np.ndarray) -> np.ndarray:
        """f of each particle, (M,)."""
        found = np.zeros(A.shape[0])
        for m, _, _, x, y, seen in self._blocks(problem, A, W):
            found[m] += (self.value(x, y) * seen).sum()
        return found

    def values_and_gradients(
        self, problem: Problem, A: np.ndarray, W: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """f (M,), φ' Wᵀ (M, D, R) and Aᵀ φ' (M, R, N)."""
        found, by_A, by_W = np.zeros(A.shape[0]), np.zeros(A.shape), np.zeros(W.shape)
        for m, rows, columns, x, y, seen in self._blocks(problem, A, W):
            found[m] += (self.value(x, y) * seen).sum()
            slopes = self.slope(x, y) * seen
            by_A[m, rows] += slopes @ W[m][:, columns].T
            by_W[m][:, columns] += A[m, rows].T @ slopes
        return found, by_A, by_W

    def gradients_along(
        self,
        problem: Problem,
        A: np.ndarray,
        W: np.ndarray,
        moved_A: np.ndarray,
        moved_W: np.ndarray,
    ) -> Slopes:
        """(φ'' ∘ ẏ) Wᵀ + φ' Ẇᵀ and Aᵀ(φ'' ∘ ẏ) + Ȧᵀφ', with ẏ = ȦW + AẆ."""
        parts = (
            (m, rows, columns, self.bend(x, y) * seen, self.slope(x, y) * seen)
            for m, rows, columns, x, y, seen in self._blocks(problem, A, W)
        )
        return slopes_along(parts, A, W, moved_A, moved_W)

    def curvatures(self, problem: Problem, A: np.ndarray, W: np.ndarray) -> Slopes:
        """Σ_n φ'' W_rn² and Σ_d φ'' A_dr², a φ'' below 0 counted as 0."""
        of_A, of_W = np.zeros(A.shape), np.zeros(W.shape)
        for m, rows, columns, x, y, seen in self._blocks(problem, A, W):
            bends = np.maximum(self.bend(x, y), 0.0) * seen
            of_A[m, rows] += bends @ (W[m][:, columns] ** 2).T
            of_W[m][:, columns] += (A[m, rows] ** 2).T @ bends
        return of_A, of_W

    def by_observation(self, problem: Problem, A: np.ndarray, W: np.ndarray) -> np.ndarray:
        """Σ_d φ of each column: (M, N)."""
        found = np.zeros((A.shape[0], problem.dataset.N))
        for m, _, columns, x, y, seen in self._blocks(problem, A, W):
            found[m, columns] += (self.value(x, y) * seen).sum(axis=0)
        return found

    def _of_observations(
        self, problem: Problem, A: np.ndarray, W: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Σ_d φ of each column (M, N), and its derivatives by W_:n: (M, R, N), (M, N, R, R), and
        the second as it is expected, where a deviance bends by φ'(0, y)/y (Fisher's scoring).
        """
        M, R, N = W.shape
        found, slopes = np.zeros((M, N)), np.zeros(W.shape)
        second, expected = np.zeros((2, M, N, R * R))
        for m, rows, columns, x, y, seen in self._blocks(problem, A, W):
            basis = A[m, rows]
            pairs = (basis[:, :, None] * basis[:, None, :]).reshape(len(basis), R * R)
            found[m, columns] += (self.value(x, y) * seen).sum(axis=0)
            slopes[m][:, columns] += basis.T @ (self.slope(x, y) * seen)
            second[m, columns] += (self.bend(x, y) * seen).T @ pairs
            expected[m, columns] += (self.slope(np.zeros(1), y) / y * seen).T @ pairs
        return found, slopes, second.reshape(M, N, R, R), expected.reshape(M, N, R, R)

    def work(self, problem: Problem) -> float:
        """Multiply-adds of three products and of the entries of φ."""
        return (3.0 * problem.rank + ENTRY_WORK) * problem.dataset.D * problem.dataset.N

    def size(self, dataset: Dataset) -> float:
        """An f that is as large as the data."""
        return self.of_size(dataset)

    def of_mean(self, dataset: Dataset) -> float:
        """f(X, mean of X)."""
        floor, x = self.floor(dataset), stored(dataset.X)
        mean = np.asarray(dataset.mean + floor)
        others = dataset.observed - x.size  # of a sparse X its zeros; unseen entries hold 0
        zero = float(self.value(np.asarray(floor), mean))
        return float(self.value(x + floor, mean).sum()) + others * zero

    def nats(self, dataset: Dataset, f: np.ndarray) -> np.ndarray:
        """Nats per unit of f."""
        return np.full_like(f, 1.0 / self.per_nat, dtype=np.float64)

    def floor(self, dataset: Dataset) -> float:
        """Amount by which x and y are raised."""
        return FLOOR * (dataset.mean or 1.0) if self.raised else 0.0

    def _blocks(
        self, problem: Problem, A: np.ndarray, W: np.ndarray
    ) -> Iterator[tuple[int, slice, slice, np.ndarray, np.ndarray, np.ndarray | float]]:
        """Each particle with each block of X: x, y, and 1 where it was seen, 0 elsewhere."""
        floor = self.floor(problem.dataset)
        for rows, columns, block in dense_blocks(problem.dataset.X):
            x = block + floor
            seen = 1.0 if problem.seen is None else problem.seen[rows, columns]
            for m in range(A.shape[0]):
                y = A[m, rows] @ W[m][:, columns]
                y += floor
                yield m, rows, columns, x, y, seen


def dense_blocks(X: Matrix) -> Iterator[tuple[slice, slice, np.ndarray]]:
    """Rows, columns and entries of consecutive parts of X, however it is stored."""
    if isinstance(X, np.ndarray):
        for rows, columns in blocks(X, BLOCK_ENTRIES):
            yield rows, columns, X[rows, columns]
        return
    step = max(1, BLOCK_ENTRIES // X.shape[0])
    for first in range(0, X.shape[1], step):
        part = slice(first, min(first + step, X.shape[1]))
        # By rows, as AW is: sums of arrays in different orders take ten times as long.
        yield slice(None), part, X[:, part].toarray(order="C")
