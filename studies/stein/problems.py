"""What paper 3's comparison is made of: data sets that can be had, at which ranks, how often."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bnmf_core.data.repair import hide_entries
from bnmf_core.data.samples import load_sample
from bnmf_core.nouns.dataset import Dataset
from studies.words import declared, words

MODELS = ("gaussian", "silf")


@dataclass(frozen=True)
class SteinPlan:
    """What decides a study's numbers, beside the data sets, the models and the algorithms.

    Attributes
    ----------
    sizes : numbers of particles M, ascending. iterations : of the descents, ascending.
    seconds : how long a chain that has enough draws may take, and all descents of one M.
    holdout : part of the observations that no run sees. coordinates : that descents move in:
        "interior", or "ambient" as published (then with ``iterations`` up to 2,000).
    """

    repetitions: int = 3
    sizes: tuple[int, ...] = (5, 25, 50)
    iterations: tuple[int, ...] = (10, 30, 100, 300, 1000)
    seconds: float = 5.0
    holdout: float = 0.1
    seed: int = 0
    coordinates: str = "interior"


@dataclass(frozen=True)
class SteinProblem:
    """One data set, factorized at one rank.

    Attributes
    ----------
    key, label : name in results and on screen. rank : R. reason : why this rank.
    sample : key of a sample that comes with the program; or else
    file, variable, largest : a MATLAB file in the folder of public data sets, the name of the
        matrix (D, N) in it, and what its entries are divided by.
    models : registry keys. hidden : part of the entries that is hidden from every algorithm.
    """

    key: str
    label: str
    rank: int
    reason: str
    sample: str = ""
    file: str = ""
    variable: str = ""
    largest: float = 1.0
    models: tuple[str, ...] = MODELS
    hidden: float = 0.0

    def present(self, data: Path | None) -> bool:
        """Whether it can be had with this folder of public data sets."""
        return bool(self.sample) or (data is not None and (data / self.file).is_file())

    def dataset(self, data: Path | None, seed: int) -> Dataset:
        """What the algorithms are given: the same entries are hidden in every repetition."""
        whole = load_sample(self.sample) if self.sample else self._from_file(data)
        if not self.hidden:
            return whole
        return hide_entries(whole, self.hidden, np.random.default_rng(seed))

    def _from_file(self, data: Path | None) -> Dataset:
        from scipy.io import loadmat  # noqa: PLC0415  (slow to import)

        X = loadmat(data / self.file)[self.variable] / self.largest
        return Dataset.from_array(X, name=self.label)


TABLES = words("stein", "plan")
PROBLEMS = declared(
    SteinProblem,
    {
        key: entry | {"reason": TABLES["reasons"][entry["reason"]]}
        for key, entry in TABLES["problems"].items()
    },
)
