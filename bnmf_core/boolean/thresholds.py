"""Errors at every threshold between 0 and 1, and the certainty of entries."""

from dataclasses import dataclass

import numpy as np

from bnmf_core.boolean.distances import HALF, jaccard_costs, tiles
from bnmf_core.compare.distances.assignment import assign
from bnmf_core.core.errors import DataError
from bnmf_core.numerics.matrix import boolean_product, only_yes_and_no

# As multiples of 0.01, 57/100 would come out a digit too large.
PAPER_GRID = np.arange(1, 100) / 100
PAIR_GRID = np.arange(21) / 20


def levels(A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """The threshold up to which each cell is on, (D, N): A (D, R), W (R, N)."""
    level = np.zeros((A.shape[0], W.shape[1]))
    for column, row in zip(A.T, W, strict=True):
        np.maximum(level, np.minimum(column[:, None], row), out=level)
    return level


def threshold_curve(
    A: np.ndarray, W: np.ndarray, X: np.ndarray, mask: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """How many cells differ from X when entries above τ count as 1, for every τ in [0, 1).

    Parameters
    ----------
    A (D, R), W (R, N) : entries of 0 or more. X : (D, N) of 0 and 1; NaN: not counted.
    mask : (D, N) bool, where X counts; None: everywhere.

    Returns
    -------
    thresholds (E,) rising from 0, and errors (E,), int64: errors[i] holds for thresholds[i] ≤ τ <
    thresholds[i + 1], the last of them for every τ from there on.

    Raises
    ------
    DataError
        When X has another shape, or an entry other than 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core import threshold_curve
    >>> A, W = np.array([[0.9], [0.4]]), np.array([[0.8, 0.6]])
    >>> thresholds, errors = threshold_curve(A, W, np.array([[1, 1], [0, 0]]))
    >>> thresholds.tolist(), errors.tolist()
    ([0.0, 0.4, 0.6, 0.8], [2, 0, 1, 2])
    """
    wanted, level = _counted(A, W, X, mask)
    thresholds, place = np.unique(np.append(level, 0.0), return_inverse=True)
    # Passing its level, a cell that should be on becomes an error, and another is one no more.
    change = np.bincount(place[:-1], weights=np.where(wanted, 1.0, -1.0), minlength=thresholds.size)
    everywhere_on = float((~wanted).sum())
    return thresholds, np.rint(everywhere_on + np.cumsum(change)).astype(np.int64)


def best_thresholds(thresholds: np.ndarray, errors: np.ndarray) -> list[tuple[float, float]]:
    """Minima of a curve: the intervals low ≤ τ < high, in order; the last may end at ∞."""
    ends = np.append(thresholds[1:], np.inf)
    best: list[tuple[float, float]] = []
    for i in np.flatnonzero(errors == errors.min()):
        low, high = float(thresholds[i]), float(ends[i])
        if best and best[-1][1] == low:
            low = best.pop()[0]
        best.append((low, high))
    return best


def errors_at(thresholds: np.ndarray, errors: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The curve's error at any thresholds from 0 on."""
    found: np.ndarray = errors[np.searchsorted(thresholds, at, side="right") - 1]
    return found


def two_thresholds(
    A: np.ndarray,
    W: np.ndarray,
    X: np.ndarray,
    mask: np.ndarray | None = None,
    grid: np.ndarray = PAIR_GRID,
) -> np.ndarray:
    """Errors (G, G) with one threshold of the grid (G,) for A, by rows, and one for W."""
    wanted, _ = _counted(A, W, X, mask)
    counted = _where(X, mask)
    return np.array(
        [[(boolean_product(A > a, W > w)[counted] != wanted).sum() for w in grid] for a in grid]
    )


def _where(X: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
    counted = ~np.isnan(np.asarray(X, dtype=np.float64))
    return counted if mask is None else counted & mask


def _counted(
    A: np.ndarray, W: np.ndarray, X: np.ndarray, mask: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Ones of X and levels of the cells that count, both flat."""
    X = np.asarray(X, dtype=np.float64)
    shape = (A.shape[0], W.shape[1])
    if X.shape != shape or A.shape[1] != W.shape[0]:
        raise DataError(
            f"A has shape {A.shape}, W {W.shape} and X {X.shape}; for a table of D by N cells they "
            "are given as (D, R), (R, N) and (D, N)."
        )
    counted = _where(X, mask)
    wanted = X[counted]
    if not only_yes_and_no(wanted):
        raise DataError("X holds entries other than 0 and 1; give a binary matrix.")
    return wanted == 1.0, levels(np.asarray(A), np.asarray(W))[counted]


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
    """Jaccard index of each reference tile and the matched tile of every draw: (M, R).

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
