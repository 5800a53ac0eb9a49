"""Exact covering numbers of runs with few members."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from bnmf_core.analysis import distances
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.stage import Report, Stage, Stopped
from bnmf_core.analysis.structure import COVERAGE_POINTS, curves
from bnmf_core.compare.coverage import largest_distance, persistence
from bnmf_core.core.errors import raise_if_cancelled
from bnmf_core.store import files

# Exact covering numbers take under a second up to this many members, and minutes soon after.
EXACT_LIMIT = 60


@dataclass(frozen=True)
class ExactCoverage:
    """The stored numbers."""

    folder: Path
    run_ids: list[str]

    def coverage(self, metric: str) -> pd.DataFrame:
        """Columns run, epsilon, covering, on the grid of the greedy ones; small runs only."""
        stored = files.read_arrays(self.folder / f"{metric}.npz")
        return curves(self.run_ids, stored["epsilon"], stored["covering"])


def compute(comparison: Comparison, folder: Path, report: Report, stopped: Stopped) -> None:
    """Store a curve of every run that is small enough, under every distance."""
    metrics = comparison.metrics
    for i, key in enumerate(metrics):
        matrix = np.array(distances.STAGE.of(comparison).matrix(key))
        upper = largest_distance(matrix)
        # −1 stands for a run with too many members.
        covering = np.full((len(comparison.runs), COVERAGE_POINTS), -1)
        for position, rows in enumerate(comparison.rows_by_run()):
            if len(rows) <= EXACT_LIMIT:
                within = matrix[np.ix_(rows, rows)]
                covering[position] = persistence(within, COVERAGE_POINTS, upper, "exact")[1]
            raise_if_cancelled(stopped, "exact covering numbers")
        arrays = {"epsilon": np.linspace(0.0, upper, COVERAGE_POINTS), "covering": covering}
        files.write_arrays(folder / f"{key}.npz", arrays)
        report((i + 1) / len(metrics))


def read(comparison: Comparison, folder: Path) -> ExactCoverage:
    """The stored numbers."""
    return ExactCoverage(folder, comparison.run_ids)


STAGE = Stage(
    key="exact",
    label="Counting covering balls exactly",
    needs=(distances.STAGE,),
    version=1,
    compute=compute,
    read=read,
    by_distance=True,
)
