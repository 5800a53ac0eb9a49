"""Declared repairs of missing entries: each gives a new dataset whose name says what was done."""

import dataclasses

import numpy as np

from bnmf_core.dataset import Dataset
from bnmf_core.errors import DataError


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
    return dataclasses.replace(kept, name=name, mask=None)


def fill_with_feature_means(dataset: Dataset) -> Dataset:
    """Put the mean of each feature's seen entries where an entry is missing."""
    mask = _mask(dataset)
    seen = mask.sum(axis=1)
    means = np.divide((dataset.X * mask).sum(axis=1), seen, out=np.zeros(dataset.D), where=seen > 0)
    X = np.where(mask, dataset.X, means[:, None])
    X.flags.writeable = False
    name = f"{dataset.name} ({dataset.missing} entries filled with feature means)"
    return dataclasses.replace(dataset, X=X, name=name, mask=None)


def _mask(dataset: Dataset) -> np.ndarray:
    if dataset.mask is None:
        raise DataError(f"{dataset.name!r} has no missing entries; there is nothing to repair.")
    return dataset.mask
