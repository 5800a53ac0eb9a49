"""Products of factors with a matrix that has few entries other than 0.

SciPy takes a row of numbers of all factorizations for each entry, which no near cache holds; here
as many as are read at once stand side by side.
"""

from dataclasses import dataclass

import numba
import numpy as np
from scipy import sparse

from bnmf_core.numerics.matrix import Matrix, Sparse, is_sparse

# Above this share of non-zero entries a dense product is as fast.
LARGEST_SHARE = 0.25
# Number of rows of factors that are processed together.
WIDTH = 64


@dataclass(frozen=True, eq=False)
class SparseProducts:
    """X (D, N) by rows, as the columns of its transpose, and by columns."""

    rows: sparse.csc_array
    columns: sparse.csc_array

    @classmethod
    def of(cls, X: Matrix) -> "SparseProducts | None":
        """Products with X; None where too many of its entries are not 0."""
        entries = X.nnz if is_sparse(X) else np.count_nonzero(X)
        if entries > LARGEST_SHARE * X.shape[0] * X.shape[1]:
            return None
        return cls(sparse.csr_array(X).T, sparse.csc_array(X))

    def times_rows(self, W: np.ndarray) -> np.ndarray:
        """X Wᵀ transposed, for each of c factorizations: W (c, R, N) → (c, R, D)."""
        return product(self.rows, W)

    def times_columns(self, A: np.ndarray) -> np.ndarray:
        """AᵀX given Aᵀ: A (c, R, D) → (c, R, N)."""
        return product(self.columns, A)


def product(X: Sparse, F: np.ndarray, single: bool = False) -> np.ndarray:
    """F X of each of m factorizations, F (m, R, n) and X (n, k): (m, R, k) float64.

    X is read as it is stored. ``single`` : summed in single precision, in about half the time;
    relative to the largest entry the error is about 1e-6.
    """
    m, R, n = F.shape
    kind = np.float32 if single else np.float64
    flat = F.reshape(m * R, n)
    result = np.empty((m * R, X.shape[1]))
    added = _added if isinstance(X, sparse.csc_array) else _spread
    for first in range(0, m * R, WIDTH):
        columns = np.ascontiguousarray(flat[first : first + WIDTH].T, dtype=kind)
        total = np.zeros((X.shape[1], columns.shape[1]), dtype=kind)
        added(X.indptr, X.indices, X.data, columns, total)
        result[first : first + WIDTH] = total.T
    return result.reshape(m, R, -1)


@numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def _added(
    starts: np.ndarray, places: np.ndarray, values: np.ndarray, F: np.ndarray, total: np.ndarray
) -> None:
    """Add to each row of the total the rows of F that a column of X, a line, has entries in."""
    width, number = F.shape[1], F.dtype.type
    for line in range(starts.size - 1):
        row, e, end = total[line], starts[line], starts[line + 1]
        while e + 4 <= end:  # four at a time: the sum is read and written a quarter as often
            a, b, c, d = F[places[e]], F[places[e + 1]], F[places[e + 2]], F[places[e + 3]]
            u, v = number(values[e]), number(values[e + 1])
            w, x = number(values[e + 2]), number(values[e + 3])
            for i in range(width):
                row[i] += (u * a[i] + v * b[i]) + (w * c[i] + x * d[i])
            e += 4
        while e < end:
            other, value = F[places[e]], number(values[e])
            for i in range(width):
                row[i] += value * other[i]
            e += 1


@numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def _spread(
    starts: np.ndarray, places: np.ndarray, values: np.ndarray, F: np.ndarray, total: np.ndarray
) -> None:
    """Add each row of F to the rows of the total that a row of X, a line, has entries in."""
    width, number = F.shape[1], F.dtype.type
    for line in range(starts.size - 1):
        own = F[line]
        for e in range(starts[line], starts[line + 1]):
            row, value = total[places[e]], number(values[e])
            for i in range(width):
                row[i] += value * own[i]
