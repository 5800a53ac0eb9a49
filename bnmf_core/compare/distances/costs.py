"""Cost of matching any component of one factorization with any component of another.

Each function takes two stacks of rows, left (K, R, P) and right (L, R, P), and returns
costs (K, L, R, R): entry [k, l, r, s] compares row r of left[k] with row s of right[l].
"""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numba import njit

# Above this cosine (2.6° and less) the arc cosine loses digits: the angle is taken from the
# difference of the two vectors instead. The same share of ‖u‖² + ‖v‖² is used for ‖u − v‖².
NEAR = 1e-3
NEAR_DEGREES = float(np.degrees(np.arccos(1.0 - NEAR)))
# Sums in any order, so that the compiler may add several entries at a time.
ANY_ORDER = {"reassoc", "contract"}
# Numbers are finite, and −0 is 0: minima and comparisons need no rule for anything else.
FINITE = {"nnan", "ninf", "nsz"}


class _Memory(threading.local):
    """What a thread has kept for its next costs, and whether it is to be used again now."""

    def __init__(self) -> None:
        self.kept: dict[str, np.ndarray] = {}
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
    _sum_absolute_differences(left, right, costs)
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
    """An array of this shape, with whatever is in it."""
    if not _memory.reused:
        return np.empty(shape)
    size = math.prod(shape)
    if name not in _memory.kept or _memory.kept[name].size < size:
        _memory.kept[name] = np.empty(size)
    return _memory.kept[name][:size].reshape(shape)


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
def _sum_absolute_differences(left: np.ndarray, right: np.ndarray, costs: np.ndarray) -> None:
    # Two rows against two: each entry that is read serves two sums. An odd last row goes twice.
    R, S = left.shape[1], right.shape[1]
    left_rows, right_rows = left.shape[0] * R, right.shape[0] * S
    for i in range(0, left_rows, 2):
        k0, r0 = divmod(i, R)
        k1, r1 = divmod(min(i + 1, left_rows - 1), R)
        u0, u1 = left[k0, r0], left[k1, r1]
        for j in range(0, right_rows, 2):
            m0, s0 = divmod(j, S)
            m1, s1 = divmod(min(j + 1, right_rows - 1), S)
            v0, v1 = right[m0, s0], right[m1, s1]
            first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
            for p in range(u0.shape[0]):
                first += abs(u0[p] - v0[p])
                second += abs(u0[p] - v1[p])
                third += abs(u1[p] - v0[p])
                fourth += abs(u1[p] - v1[p])
            costs[k0, m0, r0, s0], costs[k0, m1, r0, s1] = first, second
            costs[k1, m0, r1, s0], costs[k1, m1, r1, s1] = third, fourth
