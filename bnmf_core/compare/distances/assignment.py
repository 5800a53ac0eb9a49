"""Matching the components of two factorizations at the smallest total cost.

The linear assignment problem min over permutations σ of Σ_r cost[r, σ(r)], solved by
shortest augmenting paths with potentials (R. Jonker and A. Volgenant, Computing 38,
325–340, 1987), O(R³). SciPy's solver does one matrix per call; here a compiled loop does
the millions of small ones that a distance matrix needs, without holding the interpreter.
"""

import numpy as np
from numba import njit

# Equal totals are common, not exotic: vectors in one plane (every basis of a rank-2
# factorization) are matched at the same total angle by many permutations. A slight preference
# for even costs picks one of them whatever the order of the columns, which rounding would not.
EVENNESS = 1e-9


# Costs are finite: minima need no rule for what is not a number.
FINITE = {"nnan", "ninf", "nsz"}


@njit(cache=True, nogil=True)
def assign(costs: np.ndarray) -> np.ndarray:
    """Best permutation of each cost matrix.

    Among permutations whose totals agree to about nine digits, the one with the most even costs
    (the smallest sum of their squares) is taken.

    Parameters
    ----------
    costs : (P, R, R) finite array, read only.

    Returns
    -------
    (P, R) int64: row r of matrix p is matched with column permutation[p, r].
    """
    P, R, _ = costs.shape
    permutation = np.empty((P, R), np.int64)
    reduced = np.empty((R, R))
    potential, shortest = np.empty(R), np.empty(R)
    row_before, row_of_column, order = (
        np.empty(R, np.int64),
        np.empty(R, np.int64),
        np.empty(R, np.int64),
    )
    for p in range(P):
        _reduce(costs[p], reduced, potential)
        _match_cheapest(reduced, permutation[p], row_of_column)
        potential[:] = 0.0
        for start in range(R):
            if permutation[p, start] < 0:
                _augment(
                    start,
                    reduced,
                    permutation[p],
                    row_of_column,
                    potential,
                    shortest,
                    row_before,
                    order,
                )
    return permutation


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FINITE, forceinline=True)
def _reduce(costs: np.ndarray, reduced: np.ndarray, least: np.ndarray) -> None:
    """Scaled costs less the smallest of their row, then of their column; least is overwritten."""
    R = costs.shape[0]
    largest = 0.0
    for r in range(R):
        for s in range(R):
            largest = max(largest, abs(costs[r, s]))
    scale = 1.0 / largest if largest > 0.0 else 1.0
    least[:] = np.inf
    for r in range(R):
        smallest = np.inf
        for s in range(R):
            share = costs[r, s] * scale
            share += EVENNESS * share * share
            reduced[r, s] = share
            smallest = min(smallest, share)
        for s in range(R):
            reduced[r, s] -= smallest
            least[s] = min(least[s], reduced[r, s])
    for r in range(R):
        for s in range(R):
            reduced[r, s] -= least[s]


@njit(cache=True, nogil=True)
def _match_cheapest(
    reduced: np.ndarray, column_of_row: np.ndarray, row_of_column: np.ndarray
) -> None:
    """The rows that can be matched at once, without any augmentation."""
    R = reduced.shape[0]
    column_of_row[:] = -1
    row_of_column[:] = -1
    for row in range(R):
        for column in range(R):
            if reduced[row, column] <= 0.0 and row_of_column[column] < 0:
                column_of_row[row] = column
                row_of_column[column] = row
                break


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FINITE, forceinline=True)
def _augment(
    start: int,
    reduced: np.ndarray,
    column_of_row: np.ndarray,
    row_of_column: np.ndarray,
    potential: np.ndarray,
    shortest: np.ndarray,
    row_before: np.ndarray,
    order: np.ndarray,
) -> None:
    """Match one more row, ``start``, along the shortest alternating path to a free column."""
    R = reduced.shape[0]
    for column in range(R):
        order[column] = column  # the first ``done`` of them are reached, the others are open
        shortest[column] = reduced[start, column] - potential[column]
        row_before[column] = start
    done = 0
    while True:
        nearest, place = np.inf, done
        for k in range(done, R):
            if shortest[order[k]] < nearest:
                nearest, place = shortest[order[k]], k
        column = order[place]
        order[place], order[done] = order[done], column
        done += 1
        row = row_of_column[column]
        if row < 0:
            break
        # A matched row's reduced cost is zero at its own column.
        base = nearest - (reduced[row, column] - potential[column])
        for k in range(done, R):
            further = order[k]
            length = base + reduced[row, further] - potential[further]
            if length < shortest[further]:
                shortest[further] = length
                row_before[further] = row
    for k in range(done - 1):
        potential[order[k]] -= nearest - shortest[order[k]]
    while True:
        row = row_before[column]
        row_of_column[column] = row
        column_of_row[row], column = column, column_of_row[row]
        if row == start:
            break
