"""Impute or remove missing entries, binarize, and mask entries.

Each function returns a new dataset whose name describes the change.
"""

import dataclasses
from typing import Any

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError, SettingsError
from bnmf_core.numerics.matrix import dense

LARGEST_HIDDEN = 0.9
# Largest sparse matrix that is made dense to mask entries (64 MB).
MOST_DENSE_ENTRIES = 2**23


def drop_incomplete_observations(dataset: Dataset) -> Dataset:
    """Remove the observations (columns) with missing entries."""
    complete = _mask(dataset).all(axis=0)
    if complete.sum() < 2:
        raise DataError(
            f"Only {int(complete.sum())} of {dataset.N} observations are complete; at least 2 are "
            "needed. Fill the missing entries instead."
        )
    remaining = dataset.columns(np.flatnonzero(complete))
    dropped = dataset.N - remaining.N
    name = f"{dataset.name} (without {dropped} incomplete observations)"
    return dataclasses.replace(remaining, name=name, mask=None, hidden=None)


def fill_with_feature_means(dataset: Dataset) -> Dataset:
    """Impute missing entries by the mean of each feature."""
    mask = _mask(dataset)
    seen = mask.sum(axis=1)
    filled = dense(dataset.X)
    means = np.divide((filled * mask).sum(axis=1), seen, out=np.zeros(dataset.D), where=seen > 0)
    X = np.where(mask, filled, means[:, None])
    X.flags.writeable = False
    name = f"{dataset.name} ({dataset.missing} entries filled with feature means)"
    return dataclasses.replace(dataset, X=X, name=name, mask=None, hidden=None)


def as_yes_no(dataset: Dataset, above: float) -> Dataset:
    """Binarize: 1 for entries above a threshold, else 0; missing entries stay missing.

    Raises
    ------
    SettingsError
        When the threshold is negative or not finite, or all entries fall on one side.
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
    """Mask a random fraction of the observed entries as held-out entries.

    One random entry of every row and column stays observed. ``Dataset.hidden`` holds the masked
    values: no run sees them, and ``bnmf_core.analysis.quality`` compares them with predictions
    (paper 3, §7.3, masks 10, 30 and 50 % of Olivetti faces).

    Parameters
    ----------
    fraction : above 0 and at most 0.9, rounded to whole entries.

    Raises
    ------
    SettingsError
        When the fraction is out of range or too large.
    DataError
        When a sparse matrix is too large, or no entry above zero would remain.
    """
    if not 0.0 < fraction <= LARGEST_HIDDEN:
        raise SettingsError(
            f"The fraction to mask was {fraction!r}; above 0 and up to {LARGEST_HIDDEN:g} is "
            "allowed."
        )
    entries = dataset.D * dataset.N
    if dataset.is_sparse and entries > MOST_DENSE_ENTRIES:
        raise DataError(
            f"{dataset.name!r} is sparse and has {entries:,} entries; entries can be masked in a "
            f"dense matrix, or in a sparse one of at most {MOST_DENSE_ENTRIES:,}. Take fewer "
            "features or observations."
        )
    X = np.asarray(dataset.dense())
    before = np.ones(X.shape, dtype=bool) if dataset.mask is None else dataset.mask
    free = before & ~_one_of_each_row(before, rng) & ~_one_of_each_row(before.T, rng).T
    count, places = round(fraction * dataset.observed), np.flatnonzero(free)
    if not 1 <= count <= places.size:
        raise SettingsError(
            f"Masking {fraction:.3g} of {dataset.observed:,} entries would mask {count:,}; at "
            f"least 1 and, so that every feature and observation keeps one, at most "
            f"{places.size:,} can be masked."
        )
    mask = before.copy()
    mask.flat[rng.choice(places, count, replace=False)] = False
    values = np.where(before, X, np.nan)
    if dataset.hidden is not None:
        values[~before] = dataset.hidden
    hidden, X = values[~mask], np.where(mask, X, 0.0)
    if not X.any():
        raise DataError("All remaining entries would be zero; mask fewer, or use another seed.")
    for array in (X, mask, hidden):
        array.flags.writeable = False
    name = f"{dataset.name} ({100 * fraction:.3g} % masked)"
    return dataclasses.replace(dataset, X=X, name=name, mask=mask, hidden=hidden)


def _one_of_each_row(mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random True entry of each row that has any: (D, N) bool."""
    chosen = np.argmax(np.where(mask, rng.random(mask.shape), -1.0), axis=1)
    result = np.zeros(mask.shape, dtype=bool)
    result[np.arange(mask.shape[0]), chosen] = True
    return result & mask


def _mask(dataset: Dataset) -> np.ndarray:
    if dataset.mask is None:
        raise DataError(f"{dataset.name!r} has no missing entries; there is nothing to repair.")
    return dataset.mask
