"""Clustering, a map, and the coverage of each run, from the distances."""

from collections.abc import Collection, Mapping, Sequence
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
from bnmf_core.core.errors import raise_if_cancelled
from bnmf_core.store import files

COVERAGE_POINTS = 100
# Spread statistics of the members of a run or a chain.
SPREAD = ("largest", "mean", "members")
# Chains lie in different regions if they jointly span this multiple of the widest chain.
WIDER = 1.5


@dataclass(frozen=True)
class Structure:
    """The stored clustering, map and coverage."""

    folder: Path
    run_ids: list[str]

    def linkage(self, metric: str) -> np.ndarray:
        """Complete linkage of the distances between the members that modes are made of."""
        return files.read_array(self.folder / f"linkage-{metric}.npy")

    def projection(self, metric: str) -> tuple[np.ndarray, float]:
        """(m, 2) places on a map, and its stress; see :func:`projection.spread_out`."""
        stored = files.read_arrays(self.folder / f"projection-{metric}.npz")
        return stored["points"], float(stored["stress"])

    def coverage(self, metric: str) -> pd.DataFrame:
        """Columns run, epsilon, covering: 100 greedy covering numbers per run on one grid."""
        stored = files.read_arrays(self.folder / f"coverage-{metric}.npz")
        return curves(self.run_ids, stored["epsilon"], stored["covering"])

    def spread(self, metric: str) -> pd.DataFrame:
        """Largest and mean distance within each run: columns run, largest, mean, members."""
        stored = files.read_arrays(self.folder / f"coverage-{metric}.npz")
        return pd.DataFrame({"run": self.run_ids} | {name: stored[name] for name in SPREAD})

    def chains(self, metric: str) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Curve and spread of each chain, where a sampler made several in one run.

        Columns as those of :meth:`coverage` and :meth:`spread`, and chain, the chain's number.
        """
        stored = files.read_arrays(self.folder / f"chains-{metric}.npz")
        keys = [
            (self.run_ids[i], int(c)) for i, c in zip(stored["run"], stored["chain"], strict=True)
        ]
        return _tables(keys, stored)


def compute(comparison: Comparison, folder: Path, report: Report, stopped: Stopped) -> None:
    """Store linkage, map, covering curves and spread under every distance."""
    metrics = comparison.metrics
    grouped = np.ix_(comparison.grouped, comparison.grouped)
    for i, key in enumerate(metrics):
        matrix = np.array(distances.STAGE.of(comparison).matrix(key))
        tree = modes.linkage(matrix[grouped])
        files.write_array(folder / f"linkage-{key}.npy", tree)
        threshold = suggested_threshold(comparison, key)
        points, stress = projection.spread_out(
            matrix, _modes(comparison, matrix, threshold, tree).representative
        )
        arrays = {"points": points, "stress": np.array(stress)}
        files.write_arrays(folder / f"projection-{key}.npz", arrays)
        upper = largest_distance(matrix)
        arrays = _measured(matrix, comparison.rows_by_run(), upper)
        files.write_arrays(folder / f"coverage-{key}.npz", arrays)
        several = _chains(comparison.members, comparison.samplers)
        numbers = {
            "run": np.array([comparison.run_ids.index(run_id) for run_id, _ in several], int),
            "chain": np.array([chain for _, chain in several], int),
        }
        arrays = _measured(matrix, [*several.values()], upper) | numbers
        files.write_arrays(folder / f"chains-{key}.npz", arrays)
        report((i + 1) / len(metrics))
        raise_if_cancelled(stopped, "modes and coverage")


def read(comparison: Comparison, folder: Path) -> Structure:
    """The stored clustering, map and coverage."""
    return Structure(folder, comparison.run_ids)


def _measured(
    matrix: np.ndarray, groups: Sequence[np.ndarray], upper: float
) -> dict[str, np.ndarray]:
    """Covering curve up to a radius and spread of each of k groups of members, by their rows."""
    within = [matrix[np.ix_(rows, rows)] for rows in groups]
    covering = [persistence(m, COVERAGE_POINTS, upper)[1] for m in within]
    return {
        "epsilon": np.linspace(0.0, upper, COVERAGE_POINTS),
        "covering": np.array(covering, int).reshape(-1, COVERAGE_POINTS),
        "largest": np.array([largest_distance(m) for m in within]),
        "mean": np.array([mean_distance(m) for m in within]),
        "members": np.array([len(m) for m in within], int),
    }


def _chains(members: pd.DataFrame, samplers: Collection[str]) -> dict[tuple[str, int], np.ndarray]:
    """Run and number of each of several chains in a run, of two draws or more → rows of draws."""
    sampled = members[members["algorithm"].isin(samplers)]
    sampled = sampled[sampled.groupby(["run", "chain"])["chain"].transform("size") > 1]
    found: dict[tuple[str, int], np.ndarray] = {}
    for run_id, of_run in sampled.groupby("run", sort=False):
        numbers = np.unique(of_run["chain"])
        for chain in numbers if numbers.size > 1 else ():
            found[str(run_id), int(chain)] = np.asarray(of_run.index[of_run["chain"] == chain])
    return found


def _tables(
    chains: Sequence[tuple[str, int]], measured: Mapping[str, np.ndarray]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Curves and spread of chains, each (run, number)."""
    named = pd.DataFrame(chains, columns=["run", "chain"])
    curves = named.loc[named.index.repeat(COVERAGE_POINTS)].reset_index(drop=True)
    curves["epsilon"] = np.tile(measured["epsilon"], len(chains))
    curves["covering"] = measured["covering"].ravel()
    return curves, named.assign(**{name: measured[name] for name in SPREAD})


def pooled_only(spread: pd.DataFrame, of_chains: pd.DataFrame) -> pd.DataFrame:
    """Runs whose chains together span far more than any one of them: they are in different places.

    Parameters
    ----------
    spread : of runs, columns run and largest. of_chains : of chains, the same columns.

    Returns
    -------
    Columns run, chains (how many), largest (all chains together) and widest (the largest distance
    within a single chain), where the first is more than ``WIDER`` times the second.
    """
    single = of_chains.groupby("run", sort=False)["largest"].agg(chains="size", widest="max")
    found = spread[["run", "largest"]].merge(single, on="run")
    return found[found["largest"] > WIDER * found["widest"]].reset_index(drop=True)


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
    comparison: Comparison, metric: str, mask: np.ndarray
) -> tuple[pd.DataFrame, pd.DataFrame, tuple[pd.DataFrame, pd.DataFrame]]:
    """Greedy curves, spread, and both of each chain, of some members only.

    As :class:`Structure` has them of all. ``mask`` : (m,) bool over the members; runs without any
    are left out.
    """
    matrix = np.array(distances.STAGE.of(comparison).matrix(metric))
    upper, members = largest_distance(matrix), comparison.members[mask]
    of_run = {
        str(run): np.asarray(at) for run, at in members.groupby("run", sort=False).groups.items()
    }
    measured = _measured(matrix, [*of_run.values()], upper)
    spread = pd.DataFrame({"run": [*of_run]} | {name: measured[name] for name in SPREAD})
    of_chain = _chains(members, comparison.samplers)
    chains = _tables([*of_chain], _measured(matrix, [*of_chain.values()], upper))
    return curves([*of_run], measured["epsilon"], measured["covering"]), spread, chains


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


def modes_at(comparison: Comparison, metric: str, threshold: float | None = None) -> modes.Modes:
    """The modes of a comparison whose structure is stored; every run counts the same.

    ``threshold`` : in the distance's unit; None: the suggested one.
    """
    if threshold is None:
        threshold = suggested_threshold(comparison, metric)
    matrix = distances.STAGE.of(comparison).matrix(metric)
    return _modes(comparison, matrix, threshold, np.asarray(STAGE.of(comparison).linkage(metric)))


def _modes(
    comparison: Comparison, matrix: np.ndarray, threshold: float, tree: np.ndarray
) -> modes.Modes:
    weights = comparison.members["weight"].to_numpy() / len(comparison.runs)
    ends = basins.STAGE.of(comparison).ends
    return modes.find_modes(matrix, threshold, weights, tree, comparison.optima, ends)


STAGE = Stage(
    key="structure",
    label="Finding modes and coverage",
    needs=(distances.STAGE, basins.STAGE),
    version=5,
    compute=compute,
    read=read,
    by_distance=True,
)
