"""The problems and the samplers of paper 1's comparison (sections 4.1 and 4.2)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bnmf_core.data.synthetic import laurberg
from bnmf_core.nouns.dataset import Dataset

# Not published. With it, Gibbs, which has nothing else to choose, gives the published angles.
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
    most, most_large : at most so many samples of a small and of a 500×50 problem, to keep the
        study within half an hour on two cores; None: all.
    needs : the column that must be measured before it. filtered : keeps those samples only
        whose error is at most ten times the largest of that column.
    """

    key: str
    label: str
    algorithm: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    large_settings: Mapping[str, Any] = field(default_factory=dict)
    most: int | None = None
    most_large: int | None = None
    needs: str = ""
    filtered: bool = False


PROBLEMS: dict[str, StudyProblem] = {
    problem.key: problem
    for problem in (
        StudyProblem("unique_small", "One mode, 6×6", "unique", 3, False),
        StudyProblem("two_small", "Two modes, 6×6", "two", 3, False),
        StudyProblem("infinite_small", "Infinitely many modes, 7×9", "infinite", 6, False),
        StudyProblem("unique_large", "One mode, 500×50", "unique", 3, True),
        StudyProblem("two_large", "Two modes, 500×50", "two", 3, True),
        StudyProblem("infinite_large", "Infinitely many modes, 500×50", "infinite", 6, True),
    )
}
# Where paper 1 is silent, what its numbers tell (calibration.py): three updates of the
# small problems and about twenty of the large ones; restarts that stop at a relative error of 1 %.
_UPDATES = {"max_iterations": 3, "tolerance": 0.0}
_UPDATES_LARGE = {"max_iterations": 20}
_LIN = {"solver": "projected_gradient", "block": 200, "good_enough": 0.01}
_LIN_LARGE = {"block": 20, "good_enough": 0.0}
_GIBBS = {"chains": 1, "warm_up": 0, "thinning": 1, "start": "known"}
_HMC = {"chains": 1, "warm_up": 200, "leapfrog_steps": 100, "thinning": 1, "start": "known"}
COLUMNS: dict[str, Column] = {
    column.key: column
    for column in (
        Column("single_mode", "Single mode", "single_mode", _UPDATES, _UPDATES_LARGE, None, 2000),
        Column("all_modes", "All modes", "all_modes", _UPDATES, _UPDATES_LARGE, None, 2000),
        Column(
            "random_restarts", "Random restarts", "random_restarts", _LIN, _LIN_LARGE, None, 1000
        ),
        Column(
            "filtered_restarts", "Random restarts (filtered)", "random_restarts", _LIN,
            _LIN_LARGE, None, 1000, needs="gibbs", filtered=True,
        ),
        Column("gibbs", "Gibbs", "gibbs", _GIBBS),
        Column("hmc", "HMC", "hmc", _HMC, {}, 1000, 1000),
    )
}  # fmt: skip
