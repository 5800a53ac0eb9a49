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


@njit(cache=True, nogil=True)
def assign(costs):
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
    even = np.empty((R, R))
    row_potential = np.empty(R)
    column_potential = np.empty(R)
    shortest = np.empty(R)
    row_before = np.empty(R, np.int64)
    row_of_column = np.empty(R, np.int64)
    reached = np.empty(R, np.bool_)
    for p in range(P):
        largest = 0.0
        for r in range(R):
            for s in range(R):
                largest = max(largest, abs(costs[p, r, s]))
        scale = largest if largest > 0.0 else 1.0
        for r in range(R):
            for s in range(R):
                share = costs[p, r, s] / scale
                even[r, s] = share + EVENNESS * share * share
        _match_cheapest(even, permutation[p], row_of_column, row_potential, column_potential)
        for start in range(R):
            if permutation[p, start] >= 0:
                continue
            _augment(
                start,
                even,
                permutation[p],
                row_of_column,
                row_potential,
                column_potential,
                shortest,
                row_before,
                reached,
            )
    return permutation


@njit(cache=True, nogil=True)
def _match_cheapest(cost, column_of_row, row_of_column, row_potential, column_potential):
    """Feasible potentials, and the rows that can be matched at once without any augmentation."""
    R = cost.shape[0]
    column_of_row[:] = -1
    row_of_column[:] = -1
    for row in range(R):
        smallest = cost[row, 0]
        for column in range(1, R):
            smallest = min(smallest, cost[row, column])
        row_potential[row] = smallest
    for column in range(R):
        smallest = cost[0, column] - row_potential[0]
        for row in range(1, R):
            smallest = min(smallest, cost[row, column] - row_potential[row])
        column_potential[column] = smallest
    for row in range(R):
        for column in range(R):
            reduced = cost[row, column] - row_potential[row] - column_potential[column]
            if reduced <= 0.0 and row_of_column[column] < 0:
                column_of_row[row] = column
                row_of_column[column] = row
                break


@njit(cache=True, nogil=True)
def _augment(
    start,
    cost,
    column_of_row,
    row_of_column,
    row_potential,
    column_potential,
    shortest,
    row_before,
    reached,
):
    """Match one more row, ``start``, along the shortest alternating path to a free column."""
    R = cost.shape[0]
    shortest[:] = np.inf
    reached[:] = False
    row = start
    length = 0.0
    free_column = -1
    while free_column < 0:
        nearest = np.inf
        nearest_column = -1
        for column in range(R):
            if reached[column]:
                continue
            reduced = cost[row, column] - row_potential[row] - column_potential[column]
            if length + reduced < shortest[column]:
                shortest[column] = length + reduced
                row_before[column] = row
            if shortest[column] < nearest:
                nearest = shortest[column]
                nearest_column = column
        length = nearest
        reached[nearest_column] = True
        if row_of_column[nearest_column] < 0:
            free_column = nearest_column
        else:
            row = row_of_column[nearest_column]

    row_potential[start] += length
    for column in range(R):
        if reached[column] and column != free_column:
            row_potential[row_of_column[column]] += length - shortest[column]
            column_potential[column] -= length - shortest[column]

    column = free_column
    while True:
        row = row_before[column]
        row_of_column[column] = row
        if row == start:
            column_of_row[row] = column
            break
        previous = column_of_row[row]
        column_of_row[row] = column
        column = previous
