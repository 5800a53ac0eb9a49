"""Matching in single precision what needs no more, and measuring the matched costs in double.

A matching changes when costs move by more than its lead over the next best one. So all costs are
first computed in single precision, where the products take half of the time, and matched by
:mod:`bnmf_core.compare.distances.rough_assignment`, which says of which pairs of factorizations
that is beyond doubt; the others are matched by exact costs. What a distance is made of, the costs
of matched components, is always computed in double precision.

A sum of P products of numbers that are rounded to a relative error u is off by about √P·u of its
size at most (a random walk; N. Higham and T. Mary, SIAM J. Sci. Comput. 41, A2815–A2835, 2019).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import njit

from bnmf_core.compare.distances import costs as exact
from bnmf_core.compare.distances.assignment import assign
from bnmf_core.compare.distances.rough_assignment import COUNT, assign_roughly
from bnmf_core.numerics.packed_products import multiply, packed

UNIT = 2.0**-24
# Of the pairs of a tile; where more are in doubt, exact costs of the whole tile are faster.
DOUBTED = 1 / 8
DEGREES = float(np.degrees(1.0))


@dataclass(frozen=True)
class Rough:
    """How costs are computed in single precision.

    Attributes
    ----------
    fits : rows (K, R, P) → whether the costs of such rows are of this kind.
    prepared : rows (K, R, P) → what is kept of them in float32, as a left and as a right side.
    costs : (left side, right side, result (K, R, L, R) float32).
    error : P → two numbers: a cost is typically off by the first over the smallest cost of its
        matrix, and at most by the second.
    matched : (left, right, permutation (K, L, R)) → their exact costs (K, L, R).
    """

    fits: Callable[[np.ndarray], bool]
    prepared: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    costs: Callable[[np.ndarray, np.ndarray, np.ndarray], None]
    error: Callable[[int], tuple[float, float]]
    matched: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def rough_rows(cost: exact.Cost, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Rows (K, R, P) as sides of :func:`match_roughly`; None where only exact costs will do."""
    rough = ROUGH.get(cost)
    if rough is None or not 2 <= rows.shape[1] <= COUNT or not rough.fits(rows):
        return None
    return rough.prepared(rows)


def match_roughly(
    cost: exact.Cost,
    left: np.ndarray,
    right: np.ndarray,
    left_rough: np.ndarray,
    right_rough: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Permutation (K, L, R) and matched costs (K, L, R) of rows and their rough sides."""
    rough = ROUGH[cost]
    (K, R, P), L = left.shape, right.shape[0]
    size = K * R * L * R
    found = exact.empty("rough", (size + COUNT,), np.float32)
    found[size:] = 0.0
    rough.costs(left_rough, right_rough, found[:size].reshape(K, R, L, R))
    permutation, sure = np.empty((K, L, R), np.int64), np.empty((K, L), bool)
    assign_roughly(found, *rough.error(P), permutation, sure)
    if not sure.all():
        k, m = np.nonzero(~sure)
        if k.size > DOUBTED * sure.size:
            permutation = assign(cost(left, right).reshape(K * L, R, R)).reshape(K, L, R)
        else:
            for i, j in zip(k, m, strict=True):
                permutation[i, j] = assign(cost(left[i : i + 1], right[j : j + 1])[0])[0]
    return permutation, rough.matched(left, right, permutation)


def _single(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    side = rows.astype(np.float32)
    return side, side


def _single_and_packed(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    side = rows.reshape(-1, rows.shape[2]).astype(np.float32)
    return side, packed(side.T)


def _rough_angles(left: np.ndarray, right: np.ndarray, result: np.ndarray) -> None:
    multiply(left, right, result.reshape(left.shape[0], -1))
    _rough_degrees(result.reshape(-1))


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def _rough_degrees(cosines: np.ndarray) -> None:
    """Arc cosines of flat float32 cosines in [0, 1] in place, to 2e-8 rad.

    √(1 − c) times a polynomial (Abramowitz & Stegun 4.4.46).
    """
    for i in range(cosines.shape[0]):
        c = min(cosines[i], np.float32(1.0))
        series = np.float32(-0.0012624911)
        series = np.float32(0.0066700901) + c * series
        series = np.float32(-0.0170881256) + c * series
        series = np.float32(0.0308918810) + c * series
        series = np.float32(-0.0501743046) + c * series
        series = np.float32(0.0889789874) + c * series
        series = np.float32(-0.2145988016) + c * series
        series = np.float32(1.5707963050) + c * series
        cosines[i] = np.sqrt(np.float32(1.0) - c) * series * np.float32(DEGREES)


def _error_of_angles(P: int) -> tuple[float, float]:
    # An angle θ is off by the cosine's error over sin θ ≥ θ/90°, and near 0° by its root.
    cosine = np.sqrt(P) * UNIT
    return DEGREES * cosine * 90.0, DEGREES * 2.3 * float(np.sqrt(cosine))


def _error_of_differences(P: int) -> tuple[float, float]:
    # Of sums up to 2.
    return math.inf, 2.0 * float(np.sqrt(P)) * UNIT


def _not_negative(rows: np.ndarray) -> bool:
    """Rows between which there is no angle beyond 90°, and of whom none is empty."""
    return bool((rows >= 0.0).all() and rows.any(axis=2).all())


def _any(rows: np.ndarray) -> bool:
    return True


ROUGH: dict[exact.Cost, Rough] = {
    exact.angles: Rough(
        _not_negative, _single_and_packed, _rough_angles, _error_of_angles, exact.matched_angles
    ),
    exact.absolute_differences: Rough(
        _any,
        _single,
        exact.sum_absolute_differences,
        _error_of_differences,
        exact.matched_differences,
    ),
}
