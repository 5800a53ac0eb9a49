"""Parts of paper 3's comparison: algorithms, models, data sets, ranks, repetitions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bnmf_core import registry
from bnmf_core.core.dataset import Dataset
from bnmf_core.data.repair import hide_entries
from bnmf_core.data.samples import load_sample
from studies.words import declared, words


@dataclass(frozen=True)
class SteinPlan:
    """Everything that decides a study's numbers, except data sets, models and algorithms.

    Attributes
    ----------
    sizes : numbers of particles M, ascending. iterations : of the descents, ascending.
    seconds : how long a chain that has enough draws may take, and all descents of one M.
    holdout : part of the observations that no run sees.
    """

    repetitions: int = 3
    sizes: tuple[int, ...] = (5, 25, 50)
    iterations: tuple[int, ...] = (10, 30, 100, 300, 1000, 2000)
    seconds: float = 5.0
    holdout: float = 0.1
    seed: int = 0


@dataclass(frozen=True)
class Column:
    """One compared algorithm.

    key, label : name in results and on screen. algorithm : registry key.
    settings : of the algorithm.
    """

    key: str
    label: str
    algorithm: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SteinModel:
    """One compared model.

    key, label : name in results and on screen. model : registry key.
    settings : of the model; those it does not name are found in the data.
    """

    key: str
    label: str
    model: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SteinProblem:
    """One data set, factorized at one rank.

    Attributes
    ----------
    key, label : name in results and on screen. rank : R. reason : why this rank.
    sample : key of a sample that comes with the program; or else
    file, variable, largest : a MATLAB file in the folder of public data sets, the name of the
        matrix (D, N) in it, and what its entries are divided by.
    models : keys of ``MODELS``. hidden : part of the entries that is hidden from every algorithm.
    """

    key: str
    label: str
    rank: int
    reason: str
    sample: str = ""
    file: str = ""
    variable: str = ""
    largest: float = 1.0
    models: tuple[str, ...] = ("gaussian", "silf")
    hidden: float = 0.0

    def present(self, data: Path | None) -> bool:
        """Whether it is available with this folder of public data sets."""
        return bool(self.sample) or (data is not None and (data / self.file).is_file())

    def dataset(self, data: Path | None, seed: int) -> Dataset:
        """Input of the algorithms: the same entries are hidden in every repetition."""
        whole = load_sample(self.sample) if self.sample else self._from_file(data)
        if not self.hidden:
            return whole
        return hide_entries(whole, self.hidden, np.random.default_rng(seed))

    def _from_file(self, data: Path | None) -> Dataset:
        from scipy.io import loadmat  # noqa: PLC0415  (slow to import)

        X = loadmat(data / self.file)[self.variable] / self.largest
        return Dataset.from_array(X, name=self.label)


TABLES = words("stein", "plan")
COLUMNS = declared(
    Column,
    {
        key: {"label": registry.algorithm(entry["algorithm"]).label} | entry
        for key, entry in TABLES["columns"].items()
    },
)
MODELS = declared(SteinModel, TABLES["models"])
PROBLEMS = declared(
    SteinProblem,
    {
        key: entry | {"reason": TABLES["reasons"][entry["reason"]]}
        for key, entry in TABLES["problems"].items()
    },
)
