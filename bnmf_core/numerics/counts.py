"""Counts as the list of those above 0."""

from dataclasses import dataclass
from functools import cached_property

import numba
import numpy as np
from scipy import sparse
from scipy.special import gammaln

from bnmf_core.numerics.matrix import Matrix, is_sparse

# Multiply-adds that a logarithm at every entry is worth.
ENTRY_WORK = 80.0


@dataclass(frozen=True, eq=False)
class Counts:
    """The entries of X (D, N) above 0: their places and values, (E,) each.

    seen : 1 where X was seen, 0 elsewhere, (D, N); None where all of it was.
    """

    shape: tuple[int, int]
    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    seen: np.ndarray | None

    @classmethod
    def of(cls, X: Matrix, seen: np.ndarray | None) -> "Counts":
        """The counts of X, row by row."""
        D, N = X.shape
        entries = X.tocoo() if is_sparse(X) else sparse.coo_array(X)
        order = np.lexsort((entries.col, entries.row))
        order = order[entries.data[order] != 0]
        rows, columns = entries.row[order], entries.col[order]
        values = entries.data[order].astype(np.int64)
        return cls((D, N), rows.astype(np.int32), columns.astype(np.int32), values, seen)

    @cached_property
    def distinct(self) -> tuple[np.ndarray, np.ndarray]:
        """The values that occur, ascending, and how often each does."""
        values, times = np.unique(self.values, return_counts=True)
        return values.astype(np.float64), times.astype(np.float64)

    @cached_property
    def starts(self) -> np.ndarray:
        """Start of the counts of each row, and the end of the last: (D + 1,)."""
        return np.searchsorted(self.rows, np.arange(self.shape[0] + 1))

    @cached_property
    def log_factorials(self) -> float:
        """Σ log x!."""
        values, times = self.distinct
        return float(times @ gammaln(values + 1.0))

    @cached_property
    def total(self) -> float:
        """Their sum."""
        return float(self.values.sum())

    def fitted(self, A: np.ndarray, W: np.ndarray) -> np.ndarray:
        """AW at each of them: A (D, R), W (R, N) → (E,)."""
        return _fitted(self.rows, self.columns, np.ascontiguousarray(A), np.ascontiguousarray(W.T))


@numba.njit(cache=True, nogil=True)
def _fitted(rows: np.ndarray, columns: np.ndarray, A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """AW at these places: A (D, R), W (N, R)."""
    found = np.zeros(rows.size)
    for i in range(rows.size):
        for r in range(A.shape[1]):
            found[i] += A[rows[i], r] * W[columns[i], r]
    return found
