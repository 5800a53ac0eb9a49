"""Declared changes of what is seen of a matrix: repairs of missing entries, and entries hidden.

Each gives a new dataset whose name says what was done.
"""

import dataclasses
from typing import Any

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError, SettingsError
from bnmf_core.numerics.matrix import dense

LARGEST_HIDDEN = 0.9
# A sparse matrix is hidden from as a dense one of at most so many entries (64 MB).
MOST_DENSE_ENTRIES = 2**23


def drop_incomplete_observations(dataset: Dataset) -> Dataset:
    """Keep the observations (columns) of which every entry was seen."""
    complete = _mask(dataset).all(axis=0)
    if complete.sum() < 2:
        raise DataError(
            f"Only {int(complete.sum())} of {dataset.N} observations are complete; at least 2 are "
            "needed. Fill the missing entries instead."
        )
    kept = dataset.columns(np.flatnonzero(complete))
    dropped = dataset.N - kept.N
    name = f"{dataset.name} (without {dropped} incomplete observations)"
    return dataclasses.replace(kept, name=name, mask=None, hidden=None)


def fill_with_feature_means(dataset: Dataset) -> Dataset:
    """Put the mean of each feature's seen entries where an entry is missing."""
    mask = _mask(dataset)
    seen = mask.sum(axis=1)
    filled = dense(dataset.X)
    means = np.divide((filled * mask).sum(axis=1), seen, out=np.zeros(dataset.D), where=seen > 0)
    X = np.where(mask, filled, means[:, None])
    X.flags.writeable = False
    name = f"{dataset.name} ({dataset.missing} entries filled with feature means)"
    return dataclasses.replace(dataset, X=X, name=name, mask=None, hidden=None)


def as_yes_no(dataset: Dataset, above: float) -> Dataset:
    """1 where an entry is above a number, 0 where it is not; what was not seen stays so.

    Raises
    ------
    SettingsError
        When the number is below 0 or not finite, or no entry or every one is above it.
    """
    if not (np.isfinite(above) and above >= 0.0):
        raise SettingsError(f"The threshold was {above!r}; a number ≥ 0 is needed.")
    X: Any
    if dataset.is_sparse:
        X = (dataset.X > above).astype(np.float64)
    else:
        X = (dataset.dense() > above).astype(np.float64)
        X = X if dataset.mask is None else X * dataset.mask
        X.flags.writeable = False
    yes = int(X.sum())
    if yes in (0, dataset.observed):
        which = "No entry is" if yes == 0 else "Every entry that was seen is"
        raise SettingsError(f"{which} above {above:g}; choose another threshold.")
    hidden = dataset.hidden
    if hidden is not None:
        hidden = np.where(np.isnan(hidden), np.nan, (hidden > above).astype(np.float64))
    name = f"{dataset.name} (yes above {above:g})"
    return dataclasses.replace(dataset, X=X, name=name, hidden=hidden)


def hide_entries(dataset: Dataset, fraction: float, rng: np.random.Generator) -> Dataset:
    """Hide a fraction of the seen entries, each with the same probability, and keep their values.

    One entry of every row and of every column that has any stays in sight, chosen at random; the
    rest are drawn from the others. ``Dataset.hidden`` holds what was hidden: no run sees it, and
    ``bnmf_core.analysis.quality`` compares it with what factorizations say (paper 3, §7.3, hides
    10, 30 and 50 % of Olivetti faces).

    Parameters
    ----------
    fraction : above 0 and at most 0.9, rounded to whole entries.

    Raises
    ------
    SettingsError
        When the fraction is out of range, or more than can be hidden.
    DataError
        When the matrix is sparse and too large to be held dense, or nothing above zero is left.
    """
    if not 0.0 < fraction <= LARGEST_HIDDEN:
        raise SettingsError(
            f"The fraction to hide was {fraction!r}; above 0 and up to {LARGEST_HIDDEN:g} is "
            "allowed."
        )
    entries = dataset.D * dataset.N
    if dataset.is_sparse and entries > MOST_DENSE_ENTRIES:
        raise DataError(
            f"{dataset.name!r} is sparse and has {entries:,} entries; entries can be hidden in a "
            f"dense matrix, or in a sparse one of at most {MOST_DENSE_ENTRIES:,}. Take fewer "
            "features or observations."
        )
    X = np.asarray(dataset.dense())
    before = np.ones(X.shape, dtype=bool) if dataset.mask is None else dataset.mask
    free = before & ~_one_of_each_row(before, rng) & ~_one_of_each_row(before.T, rng).T
    count, places = round(fraction * dataset.observed), np.flatnonzero(free)
    if not 1 <= count <= places.size:
        raise SettingsError(
            f"Hiding {fraction:.3g} of {dataset.observed:,} entries would hide {count:,}; at least "
            f"1 and, so that every feature and observation keeps one, at most {places.size:,} can "
            "be hidden."
        )
    mask = before.copy()
    mask.flat[rng.choice(places, count, replace=False)] = False
    values = np.where(before, X, np.nan)
    if dataset.hidden is not None:
        values[~before] = dataset.hidden
    hidden, X = values[~mask], np.where(mask, X, 0.0)
    if not X.any():
        raise DataError("Every entry that would be left is zero; hide fewer, or another choice.")
    for array in (X, mask, hidden):
        array.flags.writeable = False
    name = f"{dataset.name} ({100 * fraction:.3g} % hidden)"
    return dataclasses.replace(dataset, X=X, name=name, mask=mask, hidden=hidden)


def _one_of_each_row(mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One of the True entries of each row that has any, at random: (D, N) bool."""
    chosen = np.argmax(np.where(mask, rng.random(mask.shape), -1.0), axis=1)
    result = np.zeros(mask.shape, dtype=bool)
    result[np.arange(mask.shape[0]), chosen] = True
    return result & mask


def _mask(dataset: Dataset) -> np.ndarray:
    if dataset.mask is None:
        raise DataError(f"{dataset.name!r} has no missing entries; there is nothing to repair.")
    return dataset.mask
