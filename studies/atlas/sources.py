"""The data sets of the atlas: location, reading options, and published results."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError
from bnmf_core.data.load import inspect_file, load_file
from bnmf_core.data.samples import load_sample
from bnmf_core.runs.examples import Example
from studies.words import declared, words


@dataclass(frozen=True)
class Source:
    """One data set, read like a user's upload.

    Attributes
    ----------
    key, label, field : its name in results and on screen, and the field that it is from.
    sample, file, scikit_learn : where it is: with the program, in the folder of public data, or in
        scikit-learn. One of the three.
    chosen : reading options that the file does not determine.
    licence : of the data; those of samples are in ``sample_data/SOURCES.md``.
    rank, reference : the published number of components and who says so; None for none.
    conclusion : key of the labels that a published or obvious conclusion is about, "" for none.
    restarts : of each kind of start, where the plan's number would take hours; 0: the plan's.
    """

    key: str
    label: str
    field: str
    sample: str = ""
    file: str = ""
    scikit_learn: str = ""
    chosen: Mapping[str, str] = field(default_factory=dict)
    licence: str = ""
    rank: int | None = None
    reference: str = ""
    conclusion: str = ""
    restarts: int = 0

    @property
    def decides(self) -> dict[str, Any]:
        """Everything that decides the numbers, without labels."""
        words = ("label", "field", "licence", "reference", *["restarts"] * (not self.restarts))
        return {name: value for name, value in asdict(self).items() if name not in words}

    def present(self, data: Path | None) -> bool:
        """Whether it is available with this folder of public data."""
        return not self.file or (data is not None and (data / self.file).is_file())

    def load(self, data: Path | None) -> Dataset:
        """The data set.

        Raises
        ------
        DataError
            When it is not in the given folder, or cannot be read.
        """
        if self.sample:
            return load_sample(self.sample)
        if self.scikit_learn:
            return _of_scikit_learn(self.scikit_learn, self.label)
        if not self.present(data):
            raise DataError(
                f"{self.label} is not in the folder of public data; give the one that holds "
                f"{self.file}."
            )
        path = Path(str(data)) / self.file
        return load_file(path, reading=inspect_file(path, chosen=dict(self.chosen)))

    def example(self, data: Path | None, rank: int) -> Example:
        """The data set as one that a click analyses; a sample shares its finished analysis."""
        load = partial(self.load, data)
        return Example(self.sample or self.key, self.label, "", "", load, rank)


def _of_scikit_learn(name: str, label: str) -> Dataset:
    found: Any = getattr(datasets, f"load_{name}")()
    names = np.asarray(found.target_names)[found.target]
    return Dataset.from_array(
        found.data.T,
        name=label,
        source=f"scikit-learn, load_{name}",
        features=[str(feature) for feature in found.feature_names],
        labels={"class": [str(label_) for label_ in names]},
    )


SOURCES: dict[str, Source] = declared(Source, words("atlas", "plan")["data"])
