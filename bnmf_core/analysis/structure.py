"""What follows from the distances: clustering, a map, and how much each run covers."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from bnmf_core.analysis import basins, distances
from bnmf_core.analysis.basins import METRIC
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.stage import Report, Stage, Stopped
from bnmf_core.compare import modes, projection
from bnmf_core.compare.coverage import largest_distance, mean_distance, persistence
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.nouns.errors import raise_if_cancelled
from bnmf_core.store import files

COVERAGE_POINTS = 100


@dataclass(frozen=True)
class Structure:
    """The stored clustering, map and coverage."""

    folder: Path
    run_ids: list[str]

    def linkage(self, metric: str) -> np.ndarray:
        """Complete linkage of the distances between the members that modes are made of."""
        return files.read_array(self.folder / f"linkage-{metric}.npy")

    def projection(self, metric: str) -> tuple[np.ndarray, float]:
        """(m, 2) classical scaling of the distances, and the share of them that it keeps."""
        stored = files.read_arrays(self.folder / f"projection-{metric}.npz")
        return stored["points"], float(stored["quality"])

    def coverage(self, metric: str) -> pd.DataFrame:
        """Columns run, epsilon, covering: 100 greedy covering numbers per run on one grid."""
        stored = files.read_arrays(self.folder / f"coverage-{metric}.npz")
        return curves(self.run_ids, stored["epsilon"], stored["covering"])

    def spread(self, metric: str) -> pd.DataFrame:
        """Largest and mean distance within each run: columns run, largest, mean, members."""
        stored = files.read_arrays(self.folder / f"coverage-{metric}.npz")
        columns = {name: stored[name] for name in ("largest", "mean", "members")}
        return pd.DataFrame({"run": self.run_ids} | columns)


def compute(comparison: Comparison, folder: Path, report: Report, stopped: Stopped) -> None:
    """Store linkage, map, covering curves and spread under every distance."""
    metrics = comparison.metrics
    grouped = np.ix_(comparison.grouped, comparison.grouped)
    for i, key in enumerate(metrics):
        matrix = np.array(distances.STAGE.of(comparison).matrix(key))
        files.write_array(folder / f"linkage-{key}.npy", modes.linkage(matrix[grouped]))
        points = projection.project(matrix)
        quality = np.array(projection.projection_quality(matrix))
        files.write_arrays(folder / f"projection-{key}.npz", {"points": points, "quality": quality})
        upper = largest_distance(matrix)
        within = within_runs(comparison, matrix)
        found = [persistence(m, COVERAGE_POINTS, upper=upper) for m in within]
        arrays = {
            "epsilon": found[0][0],
            "covering": np.array([covering for _, covering in found]),
            "largest": np.array([largest_distance(m) for m in within]),
            "mean": np.array([mean_distance(m) for m in within]),
            "members": np.array([len(m) for m in within]),
        }
        files.write_arrays(folder / f"coverage-{key}.npz", arrays)
        report((i + 1) / len(metrics))
        raise_if_cancelled(stopped, "modes and coverage")


def read(comparison: Comparison, folder: Path) -> Structure:
    """The stored clustering, map and coverage."""
    return Structure(folder, comparison.run_ids)


def within_runs(comparison: Comparison, matrix: np.ndarray) -> list[np.ndarray]:
    """The distances (m, m) between the members of each run."""
    return [matrix[np.ix_(rows, rows)] for rows in comparison.rows_by_run()]


def curves(run_ids: list[str], epsilon: np.ndarray, covering: np.ndarray) -> pd.DataFrame:
    """Columns run, epsilon, covering; without runs whose numbers are −1: not counted."""
    frames = [
        pd.DataFrame({"run": run_id, "epsilon": epsilon, "covering": numbers})
        for run_id, numbers in zip(run_ids, covering, strict=True)
        if numbers[0] >= 0
    ]
    empty = pd.DataFrame(columns=["run", "epsilon", "covering"])
    return pd.concat(frames, ignore_index=True) if frames else empty


def coverage_of(
    comparison: Comparison, metric: str, kept: np.ndarray
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Greedy curves and spread of some members, as :class:`Structure` has them of all.

    ``kept`` is (m,) bool over the members; a run without any is left out.
    """
    matrix = np.array(distances.STAGE.of(comparison).matrix(metric))
    upper = largest_distance(matrix)
    found, spread = [], []
    for run_id, labels in comparison.members[kept].groupby("run", sort=False).groups.items():
        rows = np.asarray(labels)
        within = matrix[np.ix_(rows, rows)]
        epsilon, covering = persistence(within, COVERAGE_POINTS, upper)
        found.append(pd.DataFrame({"run": run_id, "epsilon": epsilon, "covering": covering}))
        spread.append((run_id, within.max(), mean_distance(within), len(rows)))
    columns = ["run", "largest", "mean", "members"]
    return pd.concat(found, ignore_index=True), pd.DataFrame(spread, columns=columns)


def suggested_threshold(comparison: Comparison, metric: str) -> float:
    """The threshold between modes to start looking from.

    Of the largest angle it is 15°, see :data:`modes.SAME_MODE`; of other distances that of
    :func:`modes.suggest_threshold`.
    """
    if metric == METRIC:
        return max(modes.SAME_MODE, comparison.resolution)
    matrix = distances.STAGE.of(comparison).matrix(metric)
    between = matrix[np.ix_(comparison.grouped, comparison.grouped)]
    distance = DISTANCES[metric]
    return modes.suggest_threshold(
        between, distance.resolution(comparison.rank), finest_threshold(comparison, metric)
    )


def finest_threshold(comparison: Comparison, metric: str) -> float:
    """Below this, in the metric's unit, optima may still meet; 0 where that is not known."""
    return comparison.resolution if DISTANCES[metric].unit == "°" else 0.0


def modes_at(comparison: Comparison, metric: str, threshold: float) -> modes.Modes:
    """The modes of a comparison whose structure is stored; every run counts the same."""
    matrix = distances.STAGE.of(comparison).matrix(metric)
    weights = comparison.members["weight"].to_numpy() / len(comparison.runs)
    tree = STAGE.of(comparison).linkage(metric)
    ends = basins.STAGE.of(comparison).ends
    return modes.find_modes(matrix, threshold, weights, np.asarray(tree), comparison.optima, ends)


STAGE = Stage(
    key="structure",
    label="Finding modes and coverage",
    needs=(distances.STAGE, basins.STAGE),
    version=3,
    compute=compute,
    read=read,
    by_distance=True,
)
