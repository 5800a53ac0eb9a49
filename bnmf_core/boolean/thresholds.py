"""From degrees between 0 and 1 to yes and no: the error at every threshold, exactly.

A cell is on at threshold τ where a component has both of its entries above τ, so where
max_r min(A_dr, W_rn) > τ. One sort of these numbers tells the error at every τ; a grid of
thresholds (paper 4, §4.2: i/100) can miss the best ones, which need not form an interval.
"""

import numpy as np

from bnmf_core.core.errors import DataError
from bnmf_core.numerics.boolean import boolean_product, only_yes_and_no

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
    """Where a curve is least: the intervals low ≤ τ < high, in order; the last may end at ∞."""
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


def threshold_roc(
    A: np.ndarray, W: np.ndarray, X: np.ndarray, mask: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """At every threshold where one changes: false ones among the zeros of X, true ones among its 1.

    Returns
    -------
    thresholds (E,) rising from 0, false_positive_rate (E,), true_positive_rate (E,), both falling;
    NaN where X has no zero, or no one.
    """
    wanted, level = _counted(A, W, X, mask)
    thresholds, place = np.unique(np.append(level, 0.0), return_inverse=True)
    rates = []
    for chosen in (~wanted, wanted):
        counts = np.bincount(place[:-1][chosen], minlength=thresholds.size)
        with np.errstate(invalid="ignore"):
            rates.append((chosen.sum() - np.cumsum(counts)) / np.float64(chosen.sum()))
    return thresholds, rates[0], rates[1]


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
    """Of the cells that count: whether X has a 1, and the level, both flat."""
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
        raise DataError("X holds entries other than 0 and 1; give a table of yes and no.")
    return wanted == 1.0, levels(np.asarray(A), np.asarray(W))[counted]
