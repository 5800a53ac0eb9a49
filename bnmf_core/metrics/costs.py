"""Cost of matching any component of one factorization with any component of another.

Each function takes two stacks of rows, left (K, R, P) and right (L, R, P), and returns
costs (K, L, R, R): entry [k, l, r, s] compares row r of left[k] with row s of right[l].
"""

import numpy as np
from numba import njit

# Above this cosine (2.6° and less) the arc cosine loses digits: the angle is taken from the
# difference of the two vectors instead. The same share of ‖u‖² + ‖v‖² is used for ‖u − v‖².
NEAR = 1e-3
NEAR_DEGREES = float(np.degrees(np.arccos(1.0 - NEAR)))
# Sums in any order, so that the compiler may add several entries at a time.
ANY_ORDER = {"reassoc", "contract"}


def angles(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Angle in degrees between unit rows.

    A zero row has no angle: it counts 90° against any other row and 0° against another zero
    row. Close rows take Kahan's 2·arctan2(‖u − v‖, ‖u + v‖), which is exact to rounding.
    """
    costs = _gram(left, right)
    _angles_from_cosines(costs, left, right, _empty_rows(left), _empty_rows(right))
    return costs


def absolute_differences(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Sum of absolute differences ‖u − v‖₁ between rows."""
    costs = np.empty((left.shape[0], right.shape[0], left.shape[1], right.shape[1]))
    _sum_absolute_differences(left, right, costs)
    return costs


def squared_differences(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Sum of squared differences ‖u − v‖₂² between rows."""
    costs = _gram(left, right)
    left_squares = np.einsum("krp,krp->kr", left, left)
    right_squares = np.einsum("krp,krp->kr", right, right)
    _squares_from_products(costs, left, right, left_squares, right_squares)
    return costs


def paired_angles(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Angle in degrees between row r of left[k] and row r of right[k]: (K, R)."""
    result = np.empty(left.shape[:2])
    _angles_of_pairs(left, right, _empty_rows(left), _empty_rows(right), result)
    return result


def _gram(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    K, R, P = left.shape
    L, S, _ = right.shape
    products = left.reshape(K * R, P) @ right.reshape(L * S, P).T
    return np.ascontiguousarray(products.reshape(K, R, L, S).transpose(0, 2, 1, 3))


def _empty_rows(rows: np.ndarray) -> np.ndarray:
    return ~rows.any(axis=2)


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def _squared_difference(u, v):
    total = 0.0
    for p in range(u.shape[0]):
        difference = u[p] - v[p]
        total += difference * difference
    return total


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def _squared_sum(u, v):
    total = 0.0
    for p in range(u.shape[0]):
        together = u[p] + v[p]
        total += together * together
    return total


@njit(cache=True, nogil=True)
def _kahan_angle(u, v):
    apart = np.sqrt(_squared_difference(u, v))
    return np.degrees(2.0 * np.arctan2(apart, np.sqrt(_squared_sum(u, v))))


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def _degrees_of_cosines(cosines):
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


@njit(cache=True, nogil=True)
def _angles_from_cosines(costs, left, right, left_empty, right_empty):
    K, L, R, S = costs.shape
    _degrees_of_cosines(costs.reshape(-1))
    for k in range(K):
        for m in range(L):
            for r in range(R):
                for s in range(S):
                    if left_empty[k, r] or right_empty[m, s]:
                        both = left_empty[k, r] and right_empty[m, s]
                        costs[k, m, r, s] = 0.0 if both else 90.0
                    elif costs[k, m, r, s] < NEAR_DEGREES:
                        costs[k, m, r, s] = _kahan_angle(left[k, r], right[m, s])


@njit(cache=True, nogil=True)
def _angles_of_pairs(left, right, left_empty, right_empty, result):
    for k in range(left.shape[0]):
        for r in range(left.shape[1]):
            if left_empty[k, r] or right_empty[k, r]:
                result[k, r] = 0.0 if left_empty[k, r] and right_empty[k, r] else 90.0
            else:
                result[k, r] = _kahan_angle(left[k, r], right[k, r])


@njit(cache=True, nogil=True)
def _squares_from_products(costs, left, right, left_squares, right_squares):
    K, L, R, S = costs.shape
    for k in range(K):
        for m in range(L):
            for r in range(R):
                for s in range(S):
                    size = left_squares[k, r] + right_squares[m, s]
                    square = size - 2.0 * costs[k, m, r, s]
                    if square < NEAR * size:
                        square = _squared_difference(left[k, r], right[m, s])
                    costs[k, m, r, s] = square


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def _sum_absolute_differences(left, right, costs):
    K, L, R, S = costs.shape
    for k in range(K):
        for m in range(L):
            for r in range(R):
                for s in range(S):
                    u = left[k, r]
                    v = right[m, s]
                    total = 0.0
                    for p in range(u.shape[0]):
                        total += abs(u[p] - v[p])
                    costs[k, m, r, s] = total
