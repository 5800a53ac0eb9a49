"""Data that come in under a name that others have already."""

import dataclasses
from collections.abc import Mapping

from bnmf_core.core.dataset import Dataset


def named_apart(dataset: Dataset, taken: Mapping[str, str]) -> Dataset:
    """The dataset, with a number behind its name where other data have that name.

    ``taken`` holds the names of what is there by the hash of its content. The same data under the
    same name are the same dataset, and stay as they are.
    """
    others = set(taken.values())
    number, found = 1, dataset
    while found.name in others and found.hash not in taken:
        number += 1
        found = dataclasses.replace(dataset, name=f"{dataset.name} ({number})")
    return found
