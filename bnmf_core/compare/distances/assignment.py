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


# No cost is not a number, and −0 is 0: minima and comparisons need no rule for them.
COMPARABLE = {"nnan", "nsz"}


# Columns are taken so many at a time; further ones of infinite cost fill up the last lot.
LOT = 4


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
    columns = (R + LOT - 1) // LOT * LOT
    permutation = np.empty((P, R), np.int64)
    reduced = np.full((R, columns), np.inf)
    potential, shortest, closed = np.zeros(columns), np.empty(columns), np.empty(columns)
    row_before, row_of_column = np.empty(columns, np.int64), np.empty(columns, np.int64)
    reached = np.empty(R, np.int64)
    for p in range(P):
        _reduce(costs[p], reduced, shortest)
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
                    closed,
                    row_before,
                    reached,
                )
    return permutation


@njit(cache=True, nogil=True, error_model="numpy", fastmath=COMPARABLE, forceinline=True)
def _reduce(costs: np.ndarray, reduced: np.ndarray, least: np.ndarray) -> None:
    """Scaled costs less the smallest of their row, then of their column; least is overwritten."""
    R = costs.shape[0]
    largest = 0.0
    for r in range(R):
        row = costs[r]
        for s in range(R):
            largest = max(largest, abs(row[s]))
    scale = 1.0 / largest if largest > 0.0 else 1.0
    least[:] = np.inf
    for r in range(R):
        row, less = costs[r], reduced[r]
        smallest = np.inf
        for s in range(R):
            share = row[s] * scale
            share += EVENNESS * share * share
            less[s] = share
            smallest = min(smallest, share)
        for s in range(R):
            less[s] -= smallest
            least[s] = min(least[s], less[s])
    for r in range(R):
        less = reduced[r]
        for s in range(R):
            less[s] -= least[s]


@njit(cache=True, nogil=True, forceinline=True)
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


@njit(cache=True, nogil=True, error_model="numpy", fastmath=COMPARABLE, forceinline=True)
def _augment(
    start: int,
    reduced: np.ndarray,
    column_of_row: np.ndarray,
    row_of_column: np.ndarray,
    potential: np.ndarray,
    shortest: np.ndarray,
    closed: np.ndarray,
    row_before: np.ndarray,
    reached: np.ndarray,
) -> None:
    """Match one more row, ``start``, along the shortest alternating path to a free column.

    ``closed`` is 0 for columns that are open and infinite for those that are reached, so that
    loops over columns have no branch.
    """
    columns = reduced.shape[1]
    costs = reduced[start]
    for column in range(columns):
        shortest[column] = costs[column] - potential[column]
        row_before[column] = start
        closed[column] = 0.0
    done = 0
    while True:
        nearest = np.inf
        for c in range(columns):
            nearest = min(nearest, shortest[c] + closed[c])
        column = 0
        while shortest[column] + closed[column] != nearest:
            column += 1
        closed[column] = np.inf
        reached[done] = column
        done += 1
        row = row_of_column[column]
        if row < 0:
            break
        costs = reduced[row]
        # A matched row's reduced cost is zero at its own column.
        base = nearest - (costs[column] - potential[column])
        for c in range(columns):
            length = base + costs[c] - potential[c] + closed[c]
            if length < shortest[c]:
                shortest[c] = length
                row_before[c] = row
    for k in range(done - 1):
        potential[reached[k]] -= nearest - shortest[reached[k]]
    while True:
        row = row_before[column]
        row_of_column[column] = row
        column_of_row[row], column = column, column_of_row[row]
        if row == start:
            break
