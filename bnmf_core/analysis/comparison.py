"""Everything the pages show of a set of runs, computed once in the background and stored.

An analysis takes the factorizations of one or several runs of the same data and rank, and
goes through stages: distances, their clustering and projection, coverage, downstream scores.
Each stage's result is a file; what is there can be shown while the next stage is computed.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bnmf_core.analysis import mixing as mixing_stage
from bnmf_core.analysis import quality as quality_stage
from bnmf_core.analysis import stein as stein_stage
from bnmf_core.analysis import tree as tree_stage
from bnmf_core.analysis import variational as variational_stage
from bnmf_core.compare import modes, projection
from bnmf_core.compare.coverage import largest_distance, mean_distance, persistence
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.compare.distances.pairwise import pairwise
from bnmf_core.data.split import split
from bnmf_core.nouns.dataset import Dataset
from bnmf_core.nouns.errors import Cancelled, DataError, RunError, raise_if_cancelled
from bnmf_core.nouns.particles import Particles
from bnmf_core.numerics.linalg import evenly_spaced
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.store import files
from bnmf_core.store.run_store import RunRecord, RunStore

MEMBERS_PER_RUN = 200
COVERAGE_POINTS = 100
# Exact covering numbers take under a second up to this many members, and minutes soon after.
EXACT_LIMIT = 60
# Part of the key: results of an older layout are not read by a newer program.
LAYOUT = 4

Report = Callable[[float], None]
Stopped = Callable[[], bool]


@dataclass(frozen=True, eq=False)
class Analysis:
    """A set of runs, their members, and the stored results that are ready.

    Attributes
    ----------
    key : names the analysis in the store. folder : its files.
    runs : the records. dataset : what they factorized.
    """

    key: str
    folder: Path
    runs: tuple[RunRecord, ...]
    particles: tuple[Particles, ...]
    dataset: Dataset

    @cached_property
    def members(self) -> pd.DataFrame:
        """One row per factorization that is compared, at most 200 per run, evenly spaced.

        Columns: run, algorithm, particle (its number in the run), chain, draw, weight (within
        the run), log_joint, error, seconds, degenerate, position (row in the run's arrays).
        """
        parts = []
        for record, particles in zip(self.runs, self.particles, strict=True):
            chosen = evenly_spaced(particles.M, MEMBERS_PER_RUN)
            weight = np.asarray(particles.weights)[chosen]
            columns = {
                "run": record.id,
                "algorithm": record.spec.algorithm,
                "particle": np.asarray(particles.ids)[chosen],
                "chain": np.asarray(particles.chain)[chosen],
                "draw": np.asarray(particles.draw)[chosen],
                "weight": weight / weight.sum(),
                "log_joint": np.asarray(particles.log_joint)[chosen],
                "error": np.asarray(particles.error)[chosen],
                "seconds": np.asarray(particles.seconds)[chosen],
                "degenerate": particles.degenerate[chosen],
                "position": chosen,
            }
            parts.append(pd.DataFrame(columns))
        return pd.concat(parts, ignore_index=True)

    @property
    def rank(self) -> int:
        """R, the same for every run."""
        return self.runs[0].spec.rank

    @property
    def holdout(self) -> float:
        """Fraction of the observations that no run saw."""
        return self.runs[0].spec.holdout

    @cached_property
    def seen_squared_norm(self) -> float:
        """‖X‖² of the observations that the runs saw."""
        if not self.holdout:
            return self.dataset.squared_norm
        return self.dataset.columns(split(self.dataset, self.holdout)[0]).squared_norm

    def factors(self, index: Sequence[int] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A (k, D, R) and W (k, R, N) of the chosen rows of ``members``, in their order."""
        index = np.asarray(index, dtype=np.int64)
        run_ids = [record.id for record in self.runs]
        A, W = [], []
        for row in self.members.iloc[index].itertuples():
            particles = self.particles[run_ids.index(row.run)]
            A.append(particles.A[row.position])
            W.append(particles.W[row.position])
        shape_A, shape_W = self.particles[0].A.shape[1:], self.particles[0].W.shape[1:]
        return np.array(A).reshape(-1, *shape_A), np.array(W).reshape(-1, *shape_W)

    def ready(self, stage: str) -> bool:
        """Whether a stage's result is stored."""
        return (self.folder / f"{stage}.done").exists()

    @property
    def complete(self) -> bool:
        """Whether every stage is done."""
        return all(self.ready(stage) for stage in STAGES)

    def distances(self, metric: str) -> np.ndarray:
        """(m, m) distances between the members."""
        return files.read_array(self.folder / f"distances-{metric}.npy")

    def linkage(self, metric: str) -> np.ndarray:
        """(m − 1, 4) complete linkage of the distances."""
        return files.read_array(self.folder / f"linkage-{metric}.npy")

    def projection(self, metric: str) -> tuple[np.ndarray, float]:
        """(m, 2) classical scaling of the distances, and the share of them that it keeps."""
        stored = files.read_arrays(self.folder / f"projection-{metric}.npz")
        return stored["points"], float(stored["quality"])

    def coverage(self, metric: str, method: str = "greedy") -> pd.DataFrame:
        """Columns run, epsilon, covering: 100 covering numbers per run on a common grid.

        ``method`` "exact" needs the stage of that name, and has the runs with at most 60
        members only.
        """
        epsilon = files.read_arrays(self.folder / f"coverage-{metric}.npz")["epsilon"]
        name = {"greedy": "coverage", "exact": "exact"}[method]
        covering = files.read_arrays(self.folder / f"{name}-{metric}.npz")["covering"]
        frames = [
            pd.DataFrame({"run": run.id, "epsilon": epsilon, "covering": numbers})
            for run, numbers in zip(self.runs, covering, strict=True)
            if numbers[0] >= 0
        ]
        empty = pd.DataFrame(columns=["run", "epsilon", "covering"])
        return pd.concat(frames, ignore_index=True) if frames else empty

    def repetitions(self) -> dict[str, list[str]]:
        """Runs that differ in nothing but the seed: the first one's id → all their ids."""
        groups: dict[str, list[str]] = {}
        for record in self.runs:
            spec = {key: value for key, value in record.spec.to_dict().items() if key != "seed"}
            groups.setdefault(repr(spec), []).append(record.id)
        return {ids[0]: ids for ids in groups.values()}

    def coverage_of(self, metric: str, kept: np.ndarray) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Greedy curves and spread, as :meth:`coverage` and :meth:`spread`, of some members.

        ``kept`` is (m,) bool over the members; a run without any is left out.
        """
        matrix = np.array(self.distances(metric))
        upper = largest_distance(matrix)
        curves, spread = [], []
        for run_id, rows in self.members[kept].groupby("run", sort=False).groups.items():
            within = matrix[np.ix_(rows, rows)]
            epsilon, covering = persistence(within, COVERAGE_POINTS, upper)
            curves.append(pd.DataFrame({"run": run_id, "epsilon": epsilon, "covering": covering}))
            spread.append((run_id, within.max(), mean_distance(within), len(rows)))
        columns = ["run", "largest", "mean", "members"]
        return pd.concat(curves, ignore_index=True), pd.DataFrame(spread, columns=columns)

    def spread(self, metric: str) -> pd.DataFrame:
        """Largest and mean distance within each run: columns run, largest, mean, members."""
        stored = files.read_arrays(self.folder / f"coverage-{metric}.npz")
        return pd.DataFrame(
            {
                "run": [record.id for record in self.runs],
                "largest": stored["largest"],
                "mean": stored["mean"],
                "members": self.members.groupby("run", sort=False).size().to_numpy(),
            }
        )

    def downstream(self) -> pd.DataFrame:
        """Columns member, label, task, auc, n_positive; empty when the data have no labels."""
        return pd.DataFrame(files.read_json(self.folder / "downstream.json")["scores"])

    def downstream_left_out(self) -> dict[str, list[str]]:
        """Per label, the classes with too few members to be scored."""
        return files.read_json(self.folder / "downstream.json")["left_out"]

    def mixing(self) -> dict[str, mixing_stage.MixingReport]:
        """Per sampler's run, how well its chains have mixed."""
        return mixing_stage.read(self)

    def trace(self, run_id: str, most: int) -> pd.DataFrame:
        """What a sampler recorded along its chains: at most ``most`` states of each chain.

        Columns chain, sweep, warm_up and the quantities; empty for an explorer's run.
        """
        index = [record.id for record in self.runs].index(run_id)
        table = pd.DataFrame(dict(self.particles[index].trace))
        if table.empty:
            return table
        rows = [
            part[evenly_spaced(len(part), most)]
            for part in table.groupby("chain", sort=True).indices.values()
        ]
        return table.iloc[np.concatenate(rows)].reset_index(drop=True)


def open_analysis(store: RunStore, run_ids: Sequence[str]) -> Analysis:
    """The analysis of these runs; its stages may not have been computed yet.

    Raises
    ------
    RunError, NotFoundError, StoreError
        When the runs do not belong together or have made nothing yet.
    """
    records = tuple(
        sorted((store.run(run_id) for run_id in set(run_ids)), key=lambda run: run.created)
    )
    if not records:
        raise RunError("Choose at least one run.")
    first = records[0]
    for other in records[1:]:
        if other.dataset != first.dataset:
            raise RunError("These runs used different data; compare runs of the same data.")
        for what in ("rank", "holdout"):
            ours, theirs = getattr(first.spec, what), getattr(other.spec, what)
            if ours != theirs:
                raise RunError(
                    f"These runs differ in {what} ({ours} and {theirs}); factorizations can be "
                    "compared only where it is the same."
                )
    particles = tuple(store.particles(record.id) for record in records)
    parts = [(record.id, p.M) for record, p in zip(records, particles, strict=True)]
    key = hashlib.sha256(repr((LAYOUT, parts)).encode()).hexdigest()[:12]
    folder = store.root / "analyses" / key
    return Analysis(key, folder, records, particles, store.dataset(first.dataset))


def compute(
    analysis: Analysis,
    on_progress: Callable[[float, str], None],
    stopped: Stopped,
    stages: Sequence[str] | None = None,
) -> None:
    """Compute every stage that is not stored yet; stops between blocks when told to.

    ``stages`` names those that are wanted, each after the ones it builds on; None is all.
    """
    analysis.folder.mkdir(parents=True, exist_ok=True)
    todo = [stage for stage in stages or STAGES if not analysis.ready(stage)]
    total = sum(STAGES[stage].weight for stage in todo)
    before = 0.0
    for name in todo:
        stage = STAGES[name]

        def report(part: float, before: float = before, stage: "Stage" = stage) -> None:
            on_progress((before + part * stage.weight) / total, stage.label)

        report(0.0)
        try:
            with one_blas_thread():
                stage.compute(analysis, report, stopped)
        except Cancelled:
            return
        files.write_json(analysis.folder / f"{name}.done", True)
        before += stage.weight


@dataclass(frozen=True)
class Stage:
    """One part of an analysis: what it does in words, its share of the time, the function."""

    label: str
    weight: float
    compute: Callable[[Analysis, Report, Stopped], None]


def _distances(analysis: Analysis, report: Report, stopped: Stopped) -> None:
    A, W = analysis.factors(np.arange(len(analysis.members)))
    for i, (key, distance) in enumerate(DISTANCES.items()):
        path = analysis.folder / f"distances-{key}.npy"
        if not path.exists():
            matrix = pairwise(
                A, W, distance, lambda part, i=i: report((i + part) / len(DISTANCES)), stopped
            )
            files.write_array(path, matrix)


def _structure(analysis: Analysis, report: Report, stopped: Stopped) -> None:
    for i, key in enumerate(DISTANCES):
        matrix = np.array(analysis.distances(key))
        files.write_array(analysis.folder / f"linkage-{key}.npy", modes.linkage(matrix))
        points = projection.project(matrix)
        quality = np.array(projection.projection_quality(matrix))
        path = analysis.folder / f"projection-{key}.npz"
        files.write_arrays(path, {"points": points, "quality": quality})
        upper = largest_distance(matrix)
        within = _within_runs(analysis, matrix)
        curves = [persistence(m, COVERAGE_POINTS, upper=upper) for m in within]
        arrays: dict[str, Any] = {
            "epsilon": curves[0][0],
            "covering": np.array([covering for _, covering in curves]),
            "largest": np.array([largest_distance(m) for m in within]),
            "mean": np.array([mean_distance(m) for m in within]),
        }
        files.write_arrays(analysis.folder / f"coverage-{key}.npz", arrays)
        report((i + 1) / len(DISTANCES))
        raise_if_cancelled(stopped, "modes and coverage")


def _within_runs(analysis: Analysis, matrix: np.ndarray) -> list[np.ndarray]:
    """The distances (m, m) between the members of each run."""
    groups = analysis.members.groupby("run", sort=False).indices
    return [matrix[np.ix_(groups[run.id], groups[run.id])] for run in analysis.runs]


def _exact(analysis: Analysis, report: Report, stopped: Stopped) -> None:
    for i, key in enumerate(DISTANCES):
        matrix = np.array(analysis.distances(key))
        upper = largest_distance(matrix)
        # −1 stands for a run with too many members.
        covering = np.full((len(analysis.runs), COVERAGE_POINTS), -1)
        for position, within in enumerate(_within_runs(analysis, matrix)):
            if len(within) <= EXACT_LIMIT:
                covering[position] = persistence(within, COVERAGE_POINTS, upper, "exact")[1]
            raise_if_cancelled(stopped, "exact covering numbers")
        files.write_arrays(analysis.folder / f"exact-{key}.npz", {"covering": covering})
        report((i + 1) / len(DISTANCES))


def _downstream(analysis: Analysis, report: Report, stopped: Stopped) -> None:
    from bnmf_core.compare.downstream import downstream_auc  # noqa: PLC0415  (slow to import)

    scores, left_out = [], {}
    labels = list(analysis.dataset.labels)
    held_out = split(analysis.dataset, analysis.holdout)[1] if analysis.holdout else None
    A, _ = analysis.factors(np.arange(len(analysis.members)))
    for i, label in enumerate(labels):
        try:
            table = downstream_auc(
                A, analysis.dataset, label, held_out=held_out,
                on_progress=lambda part, i=i: report((i + part) / len(labels)), cancel=stopped,
            )  # fmt: skip
        except DataError:  # such as a name that every observation has for itself
            left_out[label] = np.unique(analysis.dataset.labels[label]).tolist()
            continue
        left_out[label] = list(table.attrs.get("left_out", []))
        scores += table.rename(columns={"particle": "member"}).to_dict("records")
    files.write_json(analysis.folder / "downstream.json", {"scores": scores, "left_out": left_out})


STAGES: dict[str, Stage] = {
    "distances": Stage("Measuring distances between factorizations", 3.0, _distances),
    "structure": Stage("Finding modes and coverage", 1.0, _structure),
    "tree": Stage("Mapping trees and what lies around them", 1.0, tree_stage.compute),
    "exact": Stage("Counting covering balls exactly", 1.0, _exact),
    "mixing": Stage("Measuring how well chains have mixed", 1.0, mixing_stage.compute),
    "stein": Stage("Weighing factorizations by their Stein discrepancy", 2.0, stein_stage.compute),
    "variational": Stage(
        "Proposing factorizations to a variational mixture", 2.0, variational_stage.compute
    ),
    "quality": Stage("Measuring errors on unseen observations", 1.0, quality_stage.compute),
    "downstream": Stage("Scoring labels with every factorization", 6.0, _downstream),
}
