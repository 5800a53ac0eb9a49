"""Largest deviation of AW from X."""

import numpy as np
from numba import njit
from scipy import sparse

from bnmf_core.numerics.matrix import Matrix, is_sparse

# The mask for kernels where every entry was observed.
ALL_SEEN = np.ones((0, 0), dtype=bool)
# Number of entries compared between checks: a row of this length stays in the cache.
STRIP = 2048
# Sums may be reordered, so that several entries are compared at once.
FAST = {"nnan", "nsz", "reassoc", "contract"}
# X, where a sparse row starts, the places in it, left and right factors, what was seen.
Rows = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def largest_deviations(
    X: Matrix, A: np.ndarray, W: np.ndarray, mask: np.ndarray | None = None
) -> np.ndarray:
    """max |X − AW| over the seen entries, of each factorization: (M,).

    Parameters
    ----------
    X : (D, N) array or scipy sparse matrix. A : (M, D, R). W : (M, R, N).
    mask : (D, N) bool, True where X was seen.
    """
    arguments = _by_rows(X, A, W, mask)
    return _search(*arguments, np.inf, np.zeros(1, dtype=np.int64))[0]


def culprits(
    X: Matrix,
    A: np.ndarray,
    W: np.ndarray,
    bound: float,
    mask: np.ndarray | None = None,
    suspects: np.ndarray | None = None,
) -> np.ndarray:
    """A row (of a sparse X a column) where |X − AW| exceeds the bound, −1 where none does: (M,).

    A factorization is left at its first such entry. ``suspects`` numbers rows (columns) to look
    at first, such as those where other factorizations went beyond the bound.
    """
    first = np.zeros(1, dtype=np.int64) if suspects is None else suspects
    return _search(*_by_rows(X, A, W, mask), bound, first)[1]


def _by_rows(X: Matrix, A: np.ndarray, W: np.ndarray, mask: np.ndarray | None) -> Rows:
    """The arguments of the search: rows of X lie together; a sparse X is searched by columns."""
    A = np.asarray(A, dtype=np.float64)
    W = np.asarray(W, dtype=np.float64)
    if is_sparse(X):
        X = sparse.csc_array(X)
        left = np.ascontiguousarray(W.transpose(0, 2, 1))
        right = np.ascontiguousarray(A.transpose(0, 2, 1))
        place = X.indptr.astype(np.int64), X.indices.astype(np.int64)
        return X.data[None], place[0], place[1], left, right, ALL_SEEN
    nothing = np.zeros(1, dtype=np.int64)
    seen = ALL_SEEN if mask is None else np.ascontiguousarray(mask)
    X = np.ascontiguousarray(X)
    return X, nothing, nothing, np.ascontiguousarray(A), np.ascontiguousarray(W), seen


@njit(cache=True, nogil=True, fastmath=FAST)
def _search(
    X: np.ndarray,
    starts: np.ndarray,
    places: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    mask: np.ndarray,
    bound: float,
    suspects: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Largest deviation found (M,), and the row where the bound was first exceeded (M,).

    ``left`` (M, rows, R) and ``right`` (M, R, n). With ``starts`` of length > 1, row i of X holds
    X[0, starts[i] : starts[i + 1]] at ``places``, and 0 elsewhere.
    """
    M, rows, _ = left.shape
    strip = np.empty(STRIP)
    worst = np.zeros(M)
    culprit = np.full(M, -1)
    for m in range(M):
        for turn in range(suspects.size + rows):
            row = suspects[turn] if turn < suspects.size else turn - suspects.size
            largest = _of_row(X, starts, places, left[m, row], right[m], mask, row, strip)
            worst[m] = max(worst[m], largest)
            if largest > bound:
                culprit[m] = row
                break
    return worst, culprit


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _of_row(
    X: np.ndarray,
    starts: np.ndarray,
    places: np.ndarray,
    factors: np.ndarray,
    right: np.ndarray,
    mask: np.ndarray,
    row: int,
    strip: np.ndarray,
) -> float:
    R, n = right.shape
    is_sparse = starts.size > 1
    done = starts[row] if is_sparse else 0
    largest = 0.0
    for first in range(0, n, STRIP):
        length = min(STRIP, n - first)
        # Slices, whose places the compiler knows not to be negative: it adds several at once then.
        here = strip[:length]
        here[:] = 0.0
        for r in range(0, R - 1, 2):  # two at a time: half the passes over the strip
            one, part = factors[r], right[r, first : first + length]
            two, other = factors[r + 1], right[r + 1, first : first + length]
            for j in range(length):
                here[j] += one * part[j] + two * other[j]
        if R % 2:
            one, part = factors[R - 1], right[R - 1, first : first + length]
            for j in range(length):
                here[j] += one * part[j]
        if is_sparse:
            while done < starts[row + 1] and places[done] < first + length:
                strip[places[done] - first] -= X[0, done]
                done += 1
        else:
            values = X[row, first : first + length]
            for j in range(length):
                here[j] -= values[j]
        if mask.size > 0:
            seen = mask[row, first : first + length]
            for j in range(length):
                here[j] *= seen[j]
        for j in range(length):
            size = abs(here[j])
            largest = size if size > largest else largest
    return largest
