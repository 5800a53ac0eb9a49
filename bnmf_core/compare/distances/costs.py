"""Cost of matching any component of one factorization with any component of another.

Each function takes two stacks of rows, left (K, R, P) and right (L, R, P), and returns
costs (K, L, R, R): entry [k, l, r, s] compares row r of left[k] with row s of right[l].
"""

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from numba import njit

# (left (K, R, P), right (L, R, P)) → costs (K, L, R, R).
Cost = Callable[[np.ndarray, np.ndarray], np.ndarray]

# Above this cosine (2.6° and less) the arc cosine loses digits: the angle is taken from the
# difference of the two vectors instead. The same share of ‖u‖² + ‖v‖² is used for ‖u − v‖².
NEAR = 1e-3
NEAR_DEGREES = float(np.degrees(np.arccos(1.0 - NEAR)))
# Of the right side, while sums of differences go through the left one.
ROWS_AT_ONCE = 32
# Sums in any order, so that the compiler may add several entries at a time.
ANY_ORDER = {"reassoc", "contract"}
# Numbers are finite, and −0 is 0: minima and comparisons need no rule for anything else.
FINITE = {"nnan", "ninf", "nsz"}


class _Memory(threading.local):
    """Buffers that a thread reuses for its next costs, and whether reuse is on."""

    def __init__(self) -> None:
        self.buffers: dict[str, np.ndarray] = {}
        self.reused = False


_memory = _Memory()


@contextmanager
def reused_memory() -> Iterator[None]:
    """Costs that a thread is given within it are overwritten by the next ones given within it.

    Memory that the system has to hand out and to clear for every tile costs as much as the
    matching. A thread keeps it until it ends.
    """
    _memory.reused = True
    try:
        yield
    finally:
        _memory.reused = False


def angles(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Angle in degrees between unit rows.

    A zero row has no angle: it counts 90° against any other row and 0° against another zero
    row. Close rows take Kahan's 2·arctan2(‖u − v‖, ‖u + v‖), which is exact to rounding.
    """
    costs = _empty_costs(left, right)
    cosines = _products(left, right)
    _angles_from_cosines(cosines, left, right, _empty_rows(left), _empty_rows(right), costs)
    return costs


def absolute_differences(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Sum of absolute differences ‖u − v‖₁ between rows."""
    costs = _empty_costs(left, right)
    (K, R, _), (L, S, _) = left.shape, right.shape
    found = _empty("products", (K, R, L, S))
    _sum_absolute_differences(left, right, found)
    np.copyto(costs, found.transpose(0, 2, 1, 3))
    return costs


def squared_differences(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Sum of squared differences ‖u − v‖₂² between rows."""
    costs = _empty_costs(left, right)
    left_squares = np.einsum("krp,krp->kr", left, left)
    right_squares = np.einsum("krp,krp->kr", right, right)
    _squares_from_products(_products(left, right), left, right, left_squares, right_squares, costs)
    return costs


def paired_angles(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Angle in degrees between row r of left[k] and row r of right[k]: (K, R)."""
    result = np.empty(left.shape[:2])
    _angles_of_pairs(left, right, _empty_rows(left), _empty_rows(right), result)
    return result


def _empty_costs(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return _empty("costs", (left.shape[0], right.shape[0], left.shape[1], right.shape[1]))


def _empty(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """An uninitialized array of this shape."""
    if not _memory.reused:
        return np.empty(shape)
    size = math.prod(shape)
    if name not in _memory.buffers or _memory.buffers[name].size < size:
        _memory.buffers[name] = np.empty(size)
    return _memory.buffers[name][:size].reshape(shape)


def _products(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Inner products (K, R, L, R) of all rows."""
    K, R, P = left.shape
    L, S, _ = right.shape
    found = _empty("products", (K * R, L * S))
    np.matmul(left.reshape(K * R, P), right.reshape(L * S, P).T, out=found)
    return found.reshape(K, R, L, S)


def _empty_rows(rows: np.ndarray) -> np.ndarray:
    return np.logical_not(rows.any(axis=2))


@njit(cache=True, nogil=True, fastmath=ANY_ORDER, forceinline=True)
def _squared_difference(u: np.ndarray, v: np.ndarray) -> float:
    total = 0.0
    for p in range(u.shape[0]):
        difference = u[p] - v[p]
        total += difference * difference
    return total


@njit(cache=True, nogil=True, fastmath=ANY_ORDER, forceinline=True)
def _squared_sum(u: np.ndarray, v: np.ndarray) -> float:
    total = 0.0
    for p in range(u.shape[0]):
        together = u[p] + v[p]
        total += together * together
    return total


@njit(cache=True, nogil=True, forceinline=True)
def _kahan_angle(u: np.ndarray, v: np.ndarray) -> float:
    apart = np.sqrt(_squared_difference(u, v))
    return np.degrees(2.0 * np.arctan2(apart, np.sqrt(_squared_sum(u, v))))


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy", forceinline=True)
def _degrees_of_cosines(cosines: np.ndarray) -> None:
    """Arc cosines of flat cosines in [0, 1] in place, to 2e-14 rad, several at a time.

    2·arctan √((1 − c)/(1 + c)), the arctangent by its series after one halving of the range;
    without a call or a branch the compiler handles eight at once.
    """
    for i in range(cosines.shape[0]):
        cosine = min(cosines[i], 1.0)
        tangent = np.sqrt((1.0 - cosine) / (1.0 + cosine))
        wide = tangent > 0.41421356237309503
        y = (tangent - 1.0) / (tangent + 1.0) if wide else tangent
        z = y * y
        series = 1 / 33
        series = -1 / 31 + z * series
        series = 1 / 29 + z * series
        series = -1 / 27 + z * series
        series = 1 / 25 + z * series
        series = -1 / 23 + z * series
        series = 1 / 21 + z * series
        series = -1 / 19 + z * series
        series = 1 / 17 + z * series
        series = -1 / 15 + z * series
        series = 1 / 13 + z * series
        series = -1 / 11 + z * series
        series = 1 / 9 + z * series
        series = -1 / 7 + z * series
        series = 1 / 5 + z * series
        series = -1 / 3 + z * series
        half = y + y * z * series + (0.7853981633974483 if wide else 0.0)
        cosines[i] = half * 114.59155902616465


@njit(cache=True, nogil=True, fastmath=FINITE)
def _angles_from_cosines(
    cosines: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    left_empty: np.ndarray,
    right_empty: np.ndarray,
    costs: np.ndarray,
) -> None:
    K, R, L, S = cosines.shape
    _degrees_of_cosines(cosines.reshape(-1))
    some_empty = left_empty.any() or right_empty.any()
    for k in range(K):
        for r in range(R):
            for m in range(L):
                found, angles_of_row = cosines[k, r, m], costs[k, m, r]
                least = 90.0
                for s in range(S):
                    angles_of_row[s] = found[s]
                    least = min(least, found[s])
                # Hardly ever: so the loop above has no branch, and takes several at a time.
                if least < NEAR_DEGREES or some_empty:
                    for s in range(S):
                        if left_empty[k, r] or right_empty[m, s]:
                            both = left_empty[k, r] and right_empty[m, s]
                            angles_of_row[s] = 0.0 if both else 90.0
                        elif found[s] < NEAR_DEGREES:
                            angles_of_row[s] = _kahan_angle(left[k, r], right[m, s])


@njit(cache=True, nogil=True)
def _angles_of_pairs(
    left: np.ndarray,
    right: np.ndarray,
    left_empty: np.ndarray,
    right_empty: np.ndarray,
    result: np.ndarray,
) -> None:
    for k in range(left.shape[0]):
        for r in range(left.shape[1]):
            if left_empty[k, r] or right_empty[k, r]:
                result[k, r] = 0.0 if left_empty[k, r] and right_empty[k, r] else 90.0
            else:
                result[k, r] = _kahan_angle(left[k, r], right[k, r])


@njit(cache=True, nogil=True)
def _squares_from_products(
    products: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    left_squares: np.ndarray,
    right_squares: np.ndarray,
    costs: np.ndarray,
) -> None:
    K, R, L, S = products.shape
    for k in range(K):
        for r in range(R):
            for m in range(L):
                for s in range(S):
                    size = left_squares[k, r] + right_squares[m, s]
                    square = size - 2.0 * products[k, r, m, s]
                    if square < NEAR * size:
                        square = _squared_difference(left[k, r], right[m, s])
                    costs[k, m, r, s] = square


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def _sum_absolute_differences(left: np.ndarray, right: np.ndarray, result: np.ndarray) -> None:
    """‖u − v‖₁ of all rows of left (K, R, P) and right (L, S, P): result (K, R, L, S)."""
    P, zero = left.shape[2], left.dtype.type(0)
    u, v = left.reshape(-1, P), right.reshape(-1, P)
    rows, columns = u.shape[0], v.shape[0]
    found = result.reshape(rows, columns)
    # A few rows of the right side at a time, which stay in the first cache. Two rows against two:
    # each entry that is read serves two sums. An odd last row goes twice.
    for start in range(0, columns, ROWS_AT_ONCE):
        for i0 in range(0, rows, 2):
            i1 = min(i0 + 1, rows - 1)
            u0, u1 = u[i0], u[i1]
            for j0 in range(start, min(start + ROWS_AT_ONCE, columns), 2):
                j1 = min(j0 + 1, columns - 1)
                v0, v1 = v[j0], v[j1]
                first, second, third, fourth = zero, zero, zero, zero
                for p in range(P):
                    first += abs(u0[p] - v0[p])
                    second += abs(u0[p] - v1[p])
                    third += abs(u1[p] - v0[p])
                    fourth += abs(u1[p] - v1[p])
                found[i0, j0], found[i0, j1] = first, second
                found[i1, j0], found[i1, j1] = third, fourth
