"""Two kinds of doubt in draws between 0 and 1, told apart exactly.

For one entry x with mean μ over draws, μ(1 − μ) = Var(x) + E[x(1 − x)]. The first is uncertainty:
draws disagree, it is undecided between yes and no. The second is ambiguity: each draw by itself is
half-hearted, and the draws may all agree on a clear half. The same holds for a cell, whose
probability to be on under one draw is q = 1 − Π_r (1 − A_dr W_rn).
"""

from dataclasses import dataclass

import numpy as np

from bnmf_core.boolean.distances import HALF, jaccard_costs, tiles
from bnmf_core.compare.distances.assignment import assign
from bnmf_core.core.errors import DataError
from bnmf_core.numerics.boolean import boolean_product

# A tile is the same in a draw when it has at least this part of all cells in common.
SAME_TILE = 0.5


@dataclass(frozen=True)
class Doubt:
    """Over draws, for every entry or cell: mean μ, and the two parts of μ(1 − μ).

    uncertainty : how much draws disagree. ambiguity : how half-hearted each of them is.
    """

    mean: np.ndarray
    uncertainty: np.ndarray
    ambiguity: np.ndarray

    @property
    def total(self) -> np.ndarray:
        """μ(1 − μ): ¼ where nothing is known, 0 where all draws say yes, or all no."""
        return self.mean * (1.0 - self.mean)


def doubt_of_entries(draws: np.ndarray, weights: np.ndarray | None = None) -> Doubt:
    """Doubt of every entry of draws (M, …) that are aligned, with what each counts (M,)."""
    weights = _weights(draws.shape[0], weights)
    mean = np.tensordot(weights, draws, axes=1)
    uncertainty = np.zeros(mean.shape)
    ambiguity = np.zeros(mean.shape)
    for weight, x in zip(weights, draws, strict=True):
        uncertainty += weight * (x - mean) ** 2
        ambiguity += weight * x * (1.0 - x)
    return Doubt(mean, uncertainty, ambiguity)


def cell_probabilities(A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """q (D, N) = 1 − Π_r (1 − A_dr W_rn) of one draw, A (D, R) and W (R, N)."""
    off = np.ones((A.shape[0], W.shape[1]))
    for column, row in zip(A.T, W, strict=True):
        off *= 1.0 - column[:, None] * row
    return 1.0 - off


def doubt_of_cells(A: np.ndarray, W: np.ndarray, weights: np.ndarray | None = None) -> Doubt:
    """Doubt of every cell (D, N), of draws A (M, D, R) and W (M, R, N) in any order of components.

    One draw is worked on at a time, so memory does not grow with M.
    """
    weights = _weights(A.shape[0], weights)
    shape, total = (A.shape[1], W.shape[2]), 0.0
    mean, squares, ambiguity = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for weight, basis, of_columns in zip(weights, A, W, strict=True):
        q = cell_probabilities(basis, of_columns)
        total += weight
        away = q - mean
        mean += away * (weight / total)
        squares += weight * away * (q - mean)
        ambiguity += weight * q * (1.0 - q)
    return Doubt(mean, squares, ambiguity)


def probability_on(
    A: np.ndarray, W: np.ndarray, threshold: float = HALF, weights: np.ndarray | None = None
) -> np.ndarray:
    """P(cell on) (D, N): the share of draws whose binarized product has it.

    A probability, unlike the product of mean factors, so that ½ is the right threshold for it.
    """
    on = np.zeros((A.shape[1], W.shape[2]))
    for weight, basis, of_columns in zip(_weights(A.shape[0], weights), A, W, strict=True):
        on += weight * boolean_product(basis > threshold, of_columns > threshold)
    return on


@dataclass(frozen=True)
class TileDoubt:
    """For each of R tiles of a reference.

    cells : how many it has. uncertainty, ambiguity : the mean over its cells; NaN of an empty one.
    present : in which share of draws there is a tile that has at least half of all cells in common.
    """

    cells: np.ndarray
    uncertainty: np.ndarray
    ambiguity: np.ndarray
    present: np.ndarray


def doubt_of_tiles(
    reference_A: np.ndarray,
    reference_W: np.ndarray,
    A: np.ndarray,
    W: np.ndarray,
    weights: np.ndarray | None = None,
) -> TileDoubt:
    """Doubt of the tiles of a reference, (D, R) and (R, N), over draws (M, D, R) and (M, R, N)."""
    overlap = matched_jaccard(reference_A, reference_W, A, W)
    of_cells = doubt_of_cells(A, W, weights)
    on_A, on_W = reference_A > HALF, reference_W > HALF
    cells = on_A.sum(axis=0) * on_W.sum(axis=1)
    uncertainty, ambiguity = (
        np.divide(
            np.einsum("dr,dn,rn->r", on_A, values, on_W, optimize=True),
            cells,
            out=np.full(cells.size, np.nan),
            where=cells > 0,
        )
        for values in (of_cells.uncertainty, of_cells.ambiguity)
    )
    present = _weights(A.shape[0], weights) @ (overlap >= SAME_TILE)
    return TileDoubt(cells, uncertainty, ambiguity, present)


def matched_jaccard(
    reference_A: np.ndarray, reference_W: np.ndarray, A: np.ndarray, W: np.ndarray
) -> np.ndarray:
    """Of every draw, how much of each tile of the reference its matched tile shares: (M, R).

    |cells in both|/|cells in either|, under the matching with the largest sum.

    Raises
    ------
    DataError
        When the reference is of another size than the draws.
    """
    if A.shape[1:] != reference_A.shape or W.shape[1:] != reference_W.shape:
        raise DataError(
            f"The reference has shapes {reference_A.shape} and {reference_W.shape}, the draws "
            f"{A.shape[1:]} and {W.shape[1:]}; tiles are matched between factorizations of the "
            "same table and rank."
        )
    reference, M = tiles(reference_A[None], reference_W[None]), A.shape[0]
    shared = np.empty((M, A.shape[2]))
    for m in range(M):
        costs = jaccard_costs(reference, tiles(A[m : m + 1], W[m : m + 1]))[:, 0]
        shared[m] = 1.0 - np.take_along_axis(costs[0], assign(costs)[0][:, None], axis=1)[:, 0]
    return shared


def _weights(M: int, weights: np.ndarray | None) -> np.ndarray:
    if weights is None:
        return np.full(M, 1.0 / M)
    return np.asarray(weights, dtype=np.float64) / np.sum(weights)
