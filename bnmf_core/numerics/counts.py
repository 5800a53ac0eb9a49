"""Counts as the list of those above 0, and sums of the negative binomial distribution over them.

With the mean y and the dispersion k, a count x has the probability
Γ(x + k)/(Γ(k) x!) · (y/(y + k))^x · (k/(y + k))^k, the variance y + y²/k, and for k → ∞ the Poisson
distribution. Zeros do not separate as they do there, so that sums take time in D × N; they hold no
array of that size.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numba
import numpy as np
from scipy import sparse
from scipy.special import digamma, zeta

from bnmf_core.numerics.matrix import Matrix, is_sparse

# What a product of factors may come to before its logarithm is taken; the smallest odds.
LARGE, TINY = 1e150, 2e-308
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
        places = self.rows, self.columns, self.values
        factors = np.ascontiguousarray(A), _rows_of(W)
        return float(_value(*places, *self.distinct, *factors, self._seen, float(np.exp(log_k))))

    def negative_binomial_bends(
        self, A: np.ndarray, W: np.ndarray, log_k: float
    ) -> tuple[float, float]:
        """The first and second derivative of :meth:`negative_binomial_value` by log k."""
        k = float(np.exp(log_k))
        values, times = self.distinct
        factors = np.ascontiguousarray(A), _rows_of(W)
        logs, parts, squares = _sums(*factors, self._seen, k)
        part = self.values / (self.fitted(A, W) + k)
        slope = times @ digamma(values + k) - times.sum() * digamma(k)
        slope += parts - logs - part.sum()
        bend = times @ zeta(2.0, values + k) - times.sum() * zeta(2.0, k)  # trigamma
        bend += squares / k + (part**2 / np.maximum(self.values, 1)).sum()
        return float(k * slope), float(k * slope + k * k * bend)

    @property
    def _seen(self) -> np.ndarray:
        return np.empty((0, 0)) if self.seen is None else self.seen


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


@numba.njit(cache=True, nogil=True)
def _value(
    rows: np.ndarray,
    columns: np.ndarray,
    values: np.ndarray,
    distinct: np.ndarray,
    times: np.ndarray,
    A: np.ndarray,
    W: np.ndarray,
    seen: np.ndarray,
    k: float,
) -> float:
    """See :meth:`Counts.negative_binomial_value`: A (D, R), W (N, R)."""
    found, of_k = 0.0, math.lgamma(k)
    for i in range(distinct.size):
        found += times[i] * (math.lgamma(distinct[i] + k) - of_k)
    for i in range(rows.size):
        y = 0.0
        for r in range(A.shape[1]):
            y += A[rows[i], r] * W[columns[i], r]
        found += values[i] * np.log(max(y / (y + k), TINY))
    # Many factors above 1 are multiplied before one logarithm is taken.
    factor = 1.0
    for d in range(A.shape[0]):
        for n in range(W.shape[0]):
            if seen.size and seen[d, n] == 0.0:
                continue
            y = 0.0
            for r in range(A.shape[1]):
                y += A[d, r] * W[n, r]
            factor *= 1.0 + y / k
            if factor > LARGE:
                found -= k * np.log(factor)
                factor = 1.0
    return found - k * np.log(factor)
