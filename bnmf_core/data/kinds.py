"""Detect the kind of numbers in X: counts, scaled counts, logarithms of counts, or others."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.names import percent
from bnmf_core.numerics.linalg import evenly_spaced
from bnmf_core.numerics.matrix import is_sparse, only_yes_and_no, stored

Inverse = Callable[[np.ndarray], np.ndarray]
# Largest numbers of sampled columns, and of distinct values of each.
COLUMNS, VALUES = 50, 200
# Up to this part of non-integer entries is reported as possible mistakes.
FEW_BROKEN = 0.05
# Entries count as outstanding if at most this many, of at least so many, hold this part of ΣX.
FEW_ALONE, MANY, NEARLY_ALL = 3, 30, 0.9
# Largest number of steps of ratings.
MOST_STEPS = 10
# Usual totals of normalized columns, and the relative tolerance for rounding.
TOTALS, NEARLY = (1.0, 100.0, 1e4, 1e6), 1e-3
# Largest number of decimals of rounded numbers, and the relative error of others: single precision
# after a few operations.
DECIMALS, RELATIVE = 6, 1e-6
# A number with an error below WHOLE is an integer if it is within so many times its error of one.
WHOLE, ERRORS = 0.1, 2.0
# Largest smallest count of a column, and least number of other values that must be multiples.
SMALLEST, FEWEST = 10, 3
# Least part of the columns that must fit.
MOST = 0.95
# Logarithms of 1 + x: the inverse, and an upper limit of the logarithm of a count.
LOGARITHMS: dict[str, tuple[Inverse, float]] = {
    "ln": (np.expm1, 30.0),
    "log2": (lambda x: np.exp2(x) - 1.0, 40.0),
    "log10": (lambda x: 10.0**x - 1.0, 12.0),
}


class Kind(StrEnum):
    """Kinds of numbers, by which models declare the data that they suit."""

    COUNTS = "counts"
    VARIED = "counts that vary more than Poisson allows"
    SCALED = "scaled counts"
    LOGARITHMS = "logarithms of counts"
    OTHER = "other"


@dataclass(frozen=True)
class Numbers:
    """The kind of numbers in X.

    kind : one of :class:`Kind`. reason : why, in a sentence. advice : a sentence on how to get
    counts or which of them look like mistakes; "" for none.
    """

    kind: Kind
    reason: str
    advice: str = ""


def numbers_of(dataset: Dataset) -> Numbers:
    """Distinguish counts, transformed counts and other numbers.

    Parameters
    ----------
    dataset : X (D, N), observations in columns. Many columns are sampled.

    Returns
    -------
    Numbers of any kind but VARIED, which a fit decides.

    Examples
    --------
    >>> from bnmf_core import Dataset
    >>> from bnmf_core.data.kinds import numbers_of
    >>> numbers_of(Dataset.from_array([[12.0, 0.0, 7.0], [3.0, 31.0, 0.0]])).reason
    'These are counts: every entry is a whole number, the largest 31.'
    """
    largest = float(stored(dataset.X).max())
    if against := _no_counts(dataset, largest):
        return Numbers(Kind.OTHER, against)
    if dataset.whole_numbers:
        reason = f"These are counts: every entry is a whole number, the largest {largest:,.0f}."
        return Numbers(Kind.COUNTS, reason, _of_outstanding(dataset))
    columns = [_distinct(dataset, n) for n in evenly_spaced(dataset.N, COLUMNS)]
    if why := _scaled(columns, [_error(column) for column in columns], _total(dataset)):
        return Numbers(
            Kind.SCALED,
            f"These are scaled counts: {why}.",
            "The counts themselves say how large the noise is: load the table from before it was "
            "scaled.",
        )
    for name, (inverse, most) in LOGARITHMS.items():
        if largest < most and _logarithms(dataset, columns, inverse):
            return Numbers(
                Kind.LOGARITHMS,
                f"These are logarithms of counts: {name}(1 + x) of counts, or of scaled ones.",
                "Parts add up in counts and not in their logarithms: load the table from before "
                "the logarithm was taken.",
            )
    values = stored(dataset.X).ravel()
    broken = np.flatnonzero(values != np.round(values))
    if broken.size <= FEW_BROKEN * values.size:
        many = "One entry is" if broken.size == 1 else f"{broken.size:,} entries are"
        first = f"{values[broken[0]]:g} ({_named(dataset, *_places(dataset, broken[:1])[0])})"
        reason = f"{many} not whole, such as {first}; all others are whole numbers."
        return Numbers(Kind.OTHER, reason, "If these are counts, correct that in the table.")
    return Numbers(Kind.OTHER, "The entries are neither counts nor made of counts.")


def outstanding(dataset: Dataset) -> list[tuple[int, int]]:
    """Indices (d, n) of a few entries that hold nearly all of ΣX, largest first; usually none.

    >>> from bnmf_core import Dataset
    >>> X = np.ones((5, 8))
    >>> X[1, 3] = 1000.0
    >>> outstanding(Dataset.from_array(X))
    [(1, 3)]
    """
    values = stored(dataset.X).ravel()
    if values.size < MANY:
        return []
    largest = np.argpartition(values, -FEW_ALONE)[-FEW_ALONE:]
    largest = largest[np.argsort(-values[largest], kind="stable")]
    enough = np.flatnonzero(np.cumsum(values[largest]) > NEARLY_ALL * dataset.total)
    if not enough.size:
        return []
    return _places(dataset, largest[: enough[0] + 1])


def _places(dataset: Dataset, numbers: np.ndarray) -> list[tuple[int, int]]:
    """Indices (d, n) of stored entries."""
    if is_sparse(dataset.X):
        rows, columns = (part[numbers] for part in dataset.X.tocoo().coords)
    else:
        rows, columns = np.unravel_index(numbers, dataset.X.shape)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def _named(dataset: Dataset, d: int, n: int) -> str:
    """The feature and the observation of an entry."""
    return f"{dataset.features[d]}, {dataset.observations[n] or n + 1}"


def _of_outstanding(dataset: Dataset) -> str:
    """A sentence on entries that hold nearly all of ΣX; "" without any."""
    found = outstanding(dataset)
    if not found:
        return ""
    part = percent(sum(float(dataset.X[place]) for place in found) / dataset.total)
    named = "; ".join(_named(dataset, *place) for place in found)
    many = "One entry holds" if len(found) == 1 else f"{len(found)} entries hold"
    return f"{many} {part} of all counts ({named}): correct that if it is a mistake."


def _no_counts(dataset: Dataset, largest: float) -> str:
    """Why numbers cannot be counts or transformed counts; "" if they can."""
    if largest == 1.0 and only_yes_and_no(stored(dataset.X)):
        return f"Every {'observed ' * (dataset.mask is not None)}entry is 0 or 1."
    if dataset.image_shape or dataset.map_shape:
        return "The entries are values of pixels, which are no counts."
    if dataset.whole_numbers and dataset.unit and Kind.COUNTS not in dataset.unit.lower():
        return f"The entries are in the unit “{dataset.unit}”, no counts."
    steps = _steps(dataset) if dataset.whole_numbers else 0
    return f"The entries are ratings of {steps} steps, no counts." if steps else ""


def _steps(dataset: Dataset) -> int:
    """Number of steps if the integers are ratings, else 0.

    Ratings are never 0, or mostly 0 for missing ones; then, unlike in sparse counts, 1 is not the
    most frequent of the others.
    """
    values = stored(dataset.X)
    found, often = np.unique(values[values > 0], return_counts=True)
    none = 1.0 - often.sum() / dataset.observed
    if found[-1] > MOST_STEPS or 0.0 < none < 0.5 or found.size < FEWEST:
        return 0
    return 0 if none > 0.0 and often.argmax() == 0 else int(found[-1])


def _distinct(dataset: Dataset, n: int) -> np.ndarray:
    """Distinct values above 0 of a column, ascending."""
    column = dataset.X[:, [n]].data if is_sparse(dataset.X) else dataset.X[:, n]
    found = np.unique(column[column > 0])
    return found[evenly_spaced(found.size, VALUES)] if found.size else found


def _error(values: np.ndarray) -> np.ndarray:
    """Bound of the rounding error of numbers."""
    exact = RELATIVE * values
    for digits in range(DECIMALS + 1):
        scaled = values * 10.0**digits
        if (np.abs(scaled - scaled.round()) <= 1e-6).all():
            return np.maximum(exact, 0.5 * 10.0**-digits)
    return exact


def _unit(values: np.ndarray, error: np.ndarray) -> float:
    """The unit of which a column's values are integer multiples; NaN without one."""
    if values.size <= FEWEST:
        return np.nan
    for smallest in range(1, SMALLEST + 1):
        unit = values[0] / smallest
        multiple = values / unit
        spread = multiple * (error / values + error[0] / values[0])
        known = spread < WHOLE
        known[0] = False
        near = np.abs(multiple - multiple.round()) <= ERRORS * spread
        if known.sum() >= FEWEST and near[known].all():
            return float(unit)
    return np.nan


def _scaled(columns: list[np.ndarray], errors: list[np.ndarray], total: float) -> str:
    """Why columns are scaled counts; "" if they are not."""
    if total:
        return f"the entries of every observation sum to {total:,.0f}"
    units = np.array([_unit(*pair) for pair in zip(columns, errors, strict=True) if pair[0].size])
    units = units[np.isfinite(units)] if np.isfinite(units).mean() >= MOST else units[:0]
    # A common unit is one of measurement.
    if units.size and np.ptp(units) > NEARLY * units.max():
        return "every observation is made of whole numbers times a factor of its own"
    return ""


def _total(dataset: Dataset, inverse: Inverse | None = None) -> float:
    """The common sum of all columns if it is a usual total, else 0."""
    if dataset.missing:
        return 0.0
    X = dataset.X[:, evenly_spaced(dataset.N, COLUMNS)]
    if inverse is not None:
        X = X.copy()
        stored(X)[...] = inverse(stored(X))
    sums = np.asarray(X.sum(axis=0)).ravel()
    sums = sums[sums > 0]
    fits = [total for total in TOTALS if (np.abs(sums / total - 1.0) <= NEARLY).all()]
    return fits[0] if fits and sums.size else 0.0


def _logarithms(dataset: Dataset, columns: list[np.ndarray], inverse: Inverse) -> bool:
    """Whether columns are logarithms of counts, scaled or not."""
    found = [inverse(column) for column in columns]
    errors = [
        np.maximum(inverse(column + _error(column)) - values, RELATIVE * values)
        for column, values in zip(columns, found, strict=True)
    ]
    values, error = np.concatenate(found), np.concatenate(errors)
    known = error < WHOLE
    whole = (np.abs(values - values.round()) <= ERRORS * error)[known]
    if np.unique(values[known].round()).size > FEWEST and whole.all():
        return True
    return bool(_scaled(found, errors, _total(dataset, inverse)))
