"""The problems and the samplers of paper 1's comparison (sections 4.1 and 4.2)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.data.synthetic import laurberg
from studies.words import declared, words

# Not published. With it, Gibbs, which has no other setting, gives the published angles.
SIGMA = 1e-3
LARGE = (500, 50)


@dataclass(frozen=True)
class StudyProblem:
    """One row of the tables.

    Attributes
    ----------
    key, label : name in results and on screen. kind : of ``laurberg``. rank : R.
    large : whether it is embedded in 500×50 by dense uniform matrices, as in the paper.
    """

    key: str
    label: str
    kind: str
    rank: int
    large: bool

    def dataset(self, sigma: float, seed: int, repetition: int) -> Dataset:
        """X̃ of one repetition: its own embedding and its own noise, negative entries 0."""
        rng = np.random.default_rng([seed, repetition])
        embed = LARGE if self.large else None
        return laurberg(self.kind, noise=sigma, embed=embed, rng=rng)


@dataclass(frozen=True)
class Column:
    """One column of the tables.

    Attributes
    ----------
    key, label : name in results and on screen. algorithm : registry key.
    settings : of the algorithm. large_settings : what differs for the 500×50 problems.
    most_large : at most so many samples of a 500×50 problem. repetitions : at most so many of a
        small and of a 500×50 problem, 0 for none. Both are of what would take hours; None: all.
    needs : the column that must be measured before it. filtered : keeps those samples only
        whose error is at most ten times the largest of that column.
    """

    key: str
    label: str
    algorithm: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    large_settings: Mapping[str, Any] = field(default_factory=dict)
    most_large: int | None = None
    repetitions: tuple[int, int] | None = None
    needs: str = ""
    filtered: bool = False


TABLES = words("coverage", "plan")
PROBLEMS = declared(StudyProblem, TABLES["problems"])
COLUMNS = declared(
    Column,
    {
        key: entry | {k: TABLES["settings"][v] for k, v in entry.items() if k.endswith("settings")}
        for key, entry in TABLES["columns"].items()
    },
)
