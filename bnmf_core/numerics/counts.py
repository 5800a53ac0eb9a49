"""Counts as the list of those above 0, and sums of the negative binomial distribution over them.

With the mean y and the dispersion k, a count x has the probability
Γ(x + k)/(Γ(k) x!) · (y/(y + k))^x · (k/(y + k))^k, the variance y + y²/k, and for k → ∞ the Poisson
distribution. Zeros do not separate as they do there, so that sums take time in D × N; they hold no
array of that size.
"""

from dataclasses import dataclass
from functools import cached_property

import numba
import numpy as np
from scipy import sparse
from scipy.special import digamma, gammaln, polygamma

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
    def total(self) -> float:
        """Their sum."""
        return float(self.values.sum())

    def fitted(self, A: np.ndarray, W: np.ndarray) -> np.ndarray:
        """AW at each of them: A (D, R), W (R, N) → (E,)."""
        return _fitted(self.rows, self.columns, np.ascontiguousarray(A), _rows_of(W))

    def negative_binomial_value(self, A: np.ndarray, W: np.ndarray, log_k: float) -> float:
        """Σ log p(x | AW, k) over the seen entries but for Σ log x!: A (D, R), W (R, N)."""
        k = float(np.exp(log_k))
        values, times = self.distinct
        y = self.fitted(A, W)
        odds = np.maximum(y / (y + k), np.finfo(float).tiny)
        value = times @ gammaln(values + k) - times.sum() * gammaln(k)
        return float(value + (self.values * np.log(odds)).sum() - k * self._sums(A, W, k)[0])

    def negative_binomial_bends(
        self, A: np.ndarray, W: np.ndarray, log_k: float
    ) -> tuple[float, float]:
        """The first and second derivative of :meth:`negative_binomial_value` by log k."""
        k = float(np.exp(log_k))
        values, times = self.distinct
        logs, parts, squares = self._sums(A, W, k)
        part = self.values / (self.fitted(A, W) + k)
        slope = times @ digamma(values + k) - times.sum() * digamma(k)
        slope += parts - logs - part.sum()
        bend = times @ polygamma(1, values + k) - times.sum() * polygamma(1, k)
        bend += squares / k + (part**2 / np.maximum(self.values, 1)).sum()
        return float(k * slope), float(k * slope + k * k * bend)

    def _sums(self, A: np.ndarray, W: np.ndarray, k: float) -> tuple[float, float, float]:
        seen = np.empty((0, 0)) if self.seen is None else self.seen
        found: tuple[float, float, float] = _sums(np.ascontiguousarray(A), _rows_of(W), seen, k)
        return found


def _rows_of(W: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(W.T)


@numba.njit(cache=True, nogil=True)
def _fitted(rows: np.ndarray, columns: np.ndarray, A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """AW at these places: A (D, R), W (N, R)."""
    found = np.zeros(rows.size)
    for i in range(rows.size):
        for r in range(A.shape[1]):
            found[i] += A[rows[i], r] * W[columns[i], r]
    return found


@numba.njit(cache=True, nogil=True)
def _sums(A: np.ndarray, W: np.ndarray, seen: np.ndarray, k: float) -> tuple[float, float, float]:
    """Σ log(1 + y/k), Σ y/(y + k) and Σ (y/(y + k))² over the seen entries: A (D, R), W (N, R)."""
    logs, parts, squares = 0.0, 0.0, 0.0
    for d in range(A.shape[0]):
        for n in range(W.shape[0]):
            if seen.size and seen[d, n] == 0.0:
                continue
            y = 0.0
            for r in range(A.shape[1]):
                y += A[d, r] * W[n, r]
            part = y / (y + k)
            logs += np.log1p(y / k)
            parts += part
            squares += part * part
    return logs, parts, squares
