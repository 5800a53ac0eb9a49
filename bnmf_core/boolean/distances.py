"""Distances of binary matrices: an entry counts as on where it is above ½.

A component of A (D, R) and W (R, N) is a tile: the cells (d, n) with A_dr and W_rn both on. Entries
are taken as they are, as a factor between 0 and 1 has no scale of its own to be taken out.
"""

import numpy as np

from bnmf_core.compare.distances.pairwise import Distance

HALF = 0.5


def tiles(A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Every component as one row: the number D, then its D and N entries of 0 and 1."""
    A_on, W_on = np.asarray(A) > HALF, np.asarray(W) > HALF
    length = np.full((*W_on.shape[:2], 1), A_on.shape[1], dtype=np.float64)
    return np.concatenate([length, A_on.transpose(0, 2, 1), W_on], axis=2)


def jaccard_costs(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """1 − |cells in both tiles|/|cells in either|: (K, L, R, R); two empty tiles are the same."""
    rows = 1 + _features(left)
    both = _common(left, right, slice(1, rows)) * _common(left, right, slice(rows, None))
    either = _cells(left)[:, None, :, None] + _cells(right)[None, :, None, :] - both
    apart: np.ndarray = 1.0 - np.where(either > 0, both / np.maximum(either, 1.0), 1.0)
    return apart


def hamming_costs(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Share of a component's D + N entries that differ: (K, L, R, R)."""
    entries = slice(1, None)
    sizes = [rows[:, :, entries].sum(axis=2) for rows in (left, right)]
    either = sizes[0][:, None, :, None] + sizes[1][None, :, None, :]
    differing: np.ndarray = either - 2.0 * _common(left, right, entries)
    return differing / (left.shape[2] - 1)


def _features(rows: np.ndarray) -> int:
    return int(rows.flat[0]) if rows.size else 0


def _common(left: np.ndarray, right: np.ndarray, part: slice) -> np.ndarray:
    """How many entries are on in both, (K, L, R, R): whole numbers, exactly."""
    K, R, _ = left.shape
    L = right.shape[0]
    one, other = left[:, :, part].reshape(K * R, -1), right[:, :, part].reshape(L * R, -1)
    return (one @ other.T).reshape(K, R, L, R).transpose(0, 2, 1, 3)


def _cells(rows: np.ndarray) -> np.ndarray:
    split = 1 + _features(rows)
    cells: np.ndarray = rows[:, :, 1:split].sum(axis=2) * rows[:, :, split:].sum(axis=2)
    return cells


def _mean(matched: np.ndarray, left_shares: np.ndarray, right_shares: np.ndarray) -> np.ndarray:
    mean: np.ndarray = matched.mean(axis=2)
    return mean


JACCARD = Distance(
    key="jaccard",
    label="Tiles, 1 − Jaccard",
    unit="",
    upper=lambda R: 1.0,
    compared=tiles,
    cost=jaccard_costs,
    combine=_mean,
    is_metric=True,
    scale_free=False,
    summary="For factors between 0 and 1: entries above ½ are on, a component is the tile of cells "
    "where both of its sides are; 1 less the share of cells that matched tiles have in common.",
    reference="Jaccard 1912; Levandowsky and Winter 1971 for the triangle inequality",
)
HAMMING = Distance(
    key="hamming",
    label="Hamming, entries above ½",
    unit="",
    upper=lambda R: 1.0,
    compared=tiles,
    cost=hamming_costs,
    combine=_mean,
    is_metric=True,
    scale_free=False,
    summary="For factors between 0 and 1: entries above ½ are on; the share of entries of matched "
    "components that are on in one factorization and off in the other.",
    reference="Hamming 1950",
)
