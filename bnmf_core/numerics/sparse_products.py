"""Products of factors with a table that has few entries other than 0.

SciPy's sparse products go through a general matrix; here a row of the other factor, its components
side by side in memory, is added for each entry.
"""

from dataclasses import dataclass

import numba
import numpy as np
from scipy import sparse

from bnmf_core.numerics.matrix import Matrix, is_sparse

# With a larger share of entries other than 0 a dense product is as quick.
LARGEST_SHARE = 0.25


@dataclass(frozen=True, eq=False)
class SparseProducts:
    """X (D, N) by rows and by columns: starts, places and values of its entries other than 0."""

    rows: tuple[np.ndarray, np.ndarray, np.ndarray]
    columns: tuple[np.ndarray, np.ndarray, np.ndarray]

    @classmethod
    def of(cls, X: Matrix) -> "SparseProducts | None":
        """Those of X; None where too many of its entries are other than 0."""
        entries = X.nnz if is_sparse(X) else np.count_nonzero(X)
        if entries > LARGEST_SHARE * X.shape[0] * X.shape[1]:
            return None
        return cls(_parts(sparse.csr_array(X)), _parts(sparse.csc_array(X)))

    def times_rows(self, W: np.ndarray) -> np.ndarray:
        """X Wᵀ transposed, for each of c factorizations: W (c, R, N) → (c, R, D)."""
        return _times(self.rows, W)

    def times_columns(self, A: np.ndarray) -> np.ndarray:
        """AᵀX given Aᵀ: A (c, R, D) → (c, R, N)."""
        return _times(self.columns, A)


def _parts(X: sparse.csr_array | sparse.csc_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data.astype(np.float64)


def _times(X: tuple[np.ndarray, np.ndarray, np.ndarray], F: np.ndarray) -> np.ndarray:
    lines = X[0].size - 1
    product = np.empty((F.shape[0], F.shape[1], lines))
    for c, one in enumerate(F):
        product[c] = _added(*X, np.ascontiguousarray(one.T)).T
    return product


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _added(starts: np.ndarray, places: np.ndarray, values: np.ndarray, F: np.ndarray) -> np.ndarray:
    R = F.shape[1]
    total = np.zeros((starts.size - 1, R))
    for line in range(starts.size - 1):
        row, e, end = total[line], starts[line], starts[line + 1]
        while e + 4 <= end:  # four at a time: the sum is read and written a quarter as often
            a, b, c, d = F[places[e]], F[places[e + 1]], F[places[e + 2]], F[places[e + 3]]
            u, v, w, x = values[e], values[e + 1], values[e + 2], values[e + 3]
            for r in range(R):
                row[r] += (u * a[r] + v * b[r]) + (w * c[r] + x * d[r])
            e += 4
        while e < end:
            other, value = F[places[e]], values[e]
            for r in range(R):
                row[r] += value * other[r]
            e += 1
    return total
