"""Variational mixtures of Gaussians from the factorizations of each run.

All factorizations of a run are proposed, in the order of their number, to a mixture that is empty
at first (online variational inference; paper 2, §3.1): as they are, and at their best scale.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple, TypedDict

import numpy as np
import pandas as pd

from bnmf_core import registry
from bnmf_core.analysis.board import Board
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.criteria import Criterion
from bnmf_core.analysis.stage import Report, Stage, Stopped
from bnmf_core.analysis.structure import curves
from bnmf_core.compare.coverage import largest_distance, mean_distance, persistence
from bnmf_core.compare.distances.pairwise import pairwise
from bnmf_core.core.errors import raise_if_cancelled
from bnmf_core.core.model import Support
from bnmf_core.core.particles import Particles
from bnmf_core.core.problem import Problem
from bnmf_core.numerics.linalg import evenly_spaced
from bnmf_core.posterior.places import problem_of
from bnmf_core.rrt.mixture import NO_BORDERS, Mixture, component_of, variance_alone
from bnmf_core.rrt.online import Decision, OnlineSettings, propose
from bnmf_core.store import files

MOST_PROPOSALS = 2000
# Maximum number of compared components of a run.
MOST_COMPARED = 200
# Number of proposals between checks for cancellation.
BLOCK = 20
# One for all runs, so that they can be compared: nats.
TOLERANCE = OnlineSettings().tolerance
VARIANTS = {"best": "At the scale of least curvature", "found": "As they were found"}
KINDS = {"remain": "that remain", "joined": "that ever joined"}
# Radii of a covering curve.
RADII = 100
# Stored columns of every component, and of the distances between components of a run.
COMPONENT = ("numbers", "weights", "variances", "log_joint")
SPREAD = ("largest", "mean", "compared")
# Fraction of the work for proposals; the rest is distances.
PROPOSING = 0.8


class Proposals(NamedTuple):
    """Decisions on the factorizations of one run.

    decisions : one row per proposal with the columns of ``Decision``, but ``left`` for
        ``removed``: the proposal at which the component left again, −1 if it has not.
    components : number, weight, variance, log_joint of those in the final mixture, heaviest first.
    fixed_variance : σ² of all components under a flat likelihood, else None.
    total : factorizations that the run has. model : runs with the same number share model and
        settings, so that their bounds can be compared.
    own_bounds : bounds of the mixtures, equally weighted, whose centres the run was to find.
    """

    decisions: pd.DataFrame
    components: pd.DataFrame
    fixed_variance: float | None
    total: int
    model: int
    own_bounds: list[float]


class OfRun(TypedDict):
    """Metadata of one run; see :class:`Proposals`."""

    fixed_variance: float | None
    total: int
    model: int
    own_bounds: list[float]


# A model's key and its settings: bounds of runs that share both can be compared.
Kind = tuple[str, object]


@dataclass(frozen=True)
class Mixtures:
    """Stored mixtures of every run.

    without : run id → why there is no mixture for it. runs : metadata of the others.
    """

    folder: Path
    without: dict[str, str]
    runs: dict[str, OfRun]

    def proposals(self, variant: str) -> dict[str, Proposals]:
        """Run id → what became of its factorizations; ``variant`` is a key of ``VARIANTS``."""
        found = {}
        for run_id, metadata in self.runs.items():
            stored = files.read_arrays(self.folder / f"{run_id}-{variant}.npz")
            components = pd.DataFrame({name: stored.pop(f"component_{name}") for name in COMPONENT})
            components.columns = pd.Index(["number", "weight", "variance", "log_joint"])
            components = components.sort_values("weight", ascending=False, ignore_index=True)
            found[run_id] = Proposals(pd.DataFrame(stored), components, **metadata)
        return found

    def weights(self, members: pd.DataFrame) -> np.ndarray | None:
        """(m,) weight of every member in the mixture with the highest bound; None without one.

        Mixtures at the scale of least curvature, of runs that share the first one's model. The
        weights sum to 1, unless components are no members.
        """
        found = self.proposals("best")
        if not found:
            return None
        first = next(iter(found.values())).model
        bounds = {
            run_id: of_run.decisions["elbo"].iloc[-1]
            for run_id, of_run in found.items()
            if of_run.model == first
        }
        best = max(bounds, key=lambda run_id: bounds[run_id])
        of_number = found[best].components.set_index("number")["weight"]
        weights = members["particle"].map(of_number).fillna(0.0).where(members["run"] == best, 0.0)
        return weights.to_numpy()

    def coverage(self, metric: str, variant: str, kind: str) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Distances between the components of every run; ``kind`` is a key of ``KINDS``.

        Returns
        -------
        curves (columns run, epsilon, covering) and spread (run, largest, mean, components
        compared), in the unit of the metric; without runs that have none.
        """
        stored = files.read_arrays(self.folder / f"distances-{metric}.npz")
        place = slice(None), list(VARIANTS).index(variant), list(KINDS).index(kind)
        run_ids = stored["run_ids"].tolist()
        spread = pd.DataFrame({"run": run_ids} | {name: stored[name][place] for name in SPREAD})
        together = curves(run_ids, stored["epsilon"], stored["covering"][place])
        return together, spread[spread["compared"] > 0].reset_index(drop=True)


@dataclass(frozen=True, eq=False)
class Candidates:
    """The proposals of one run: rows of its particles, and the problem that it solved."""

    particles: Particles
    problem: Problem
    rows: np.ndarray

    def pair(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        """A (D, R) and W (R, N) of a row."""
        A, W = self.particles.A[row], self.particles.W[row]
        return np.asarray(A, dtype=np.float64), np.asarray(W, dtype=np.float64)


# Rows of a run's components by variant and kind.
Groups = dict[tuple[str, str], np.ndarray]


def compute(comparison: Comparison, folder: Path, report: Report, stopped: Stopped) -> None:
    """Store the decisions of every run, its mixtures, and how far their components are apart."""
    without: dict[str, str] = {}
    runs: dict[str, OfRun] = {}
    candidates: dict[str, Candidates] = {}
    for record, particles in zip(comparison.runs, comparison.particles, strict=True):
        if reason := _why_none(particles):
            without[record.id] = reason
            continue
        in_order = np.argsort(np.asarray(particles.ids), kind="stable")
        rows = in_order[evenly_spaced(particles.M, MOST_PROPOSALS)]
        candidates[record.id] = Candidates(
            particles, problem_of(particles, comparison.dataset), rows
        )
    kinds: list[Kind] = [
        (c.problem.model.key, c.problem.model_settings) for c in candidates.values()
    ]
    variances = _fixed_variances(list(candidates.values()), kinds)
    for (run_id, of_run), kind in zip(candidates.items(), kinds, strict=True):
        runs[run_id] = {
            "fixed_variance": variances[kind],
            "total": of_run.particles.M,
            "model": list(variances).index(kind),
            "own_bounds": _own_bounds(of_run.particles),
        }
    total = len(VARIANTS) * sum(c.rows.size for c in candidates.values())
    done = 0

    def tick() -> None:
        nonlocal done
        if done % BLOCK == 0:
            raise_if_cancelled(stopped, "the variational mixtures")
            report(PROPOSING * done / total)
        done += 1

    compared: dict[str, Groups] = {run_id: {} for run_id in candidates}
    for run_id, of_run in candidates.items():
        for variant in VARIANTS:
            variance = runs[run_id]["fixed_variance"]
            mixture, decisions = _proposed(of_run, variant == "best", variance, tick)
            path = folder / f"{run_id}-{variant}.npz"
            files.write_arrays(path, _arrays(mixture, decisions))
            joined = of_run.rows[[decision.joined for decision in decisions]]
            remain = joined[np.isin(np.asarray(of_run.particles.ids)[joined], mixture.numbers)]
            for which, rows in (("remain", remain), ("joined", joined)):
                compared[run_id][variant, which] = rows[evenly_spaced(rows.size, MOST_COMPARED)]
    _distances(comparison, folder, candidates, compared, report, stopped)
    files.write_json(folder / "mixtures.json", {"without": without, "runs": runs})


def _proposed(
    of_run: Candidates, rescale: bool, variance: float | None, tick: Callable[[], None]
) -> tuple[Mixture, list[Decision]]:
    mixture, decisions = Mixture.empty(sum(F.size for F in of_run.pair(0))), []
    for row in of_run.rows:
        tick()
        component = component_of(of_run.problem, *of_run.pair(row), rescale)
        number = int(of_run.particles.ids[row])
        mixture, decision = propose(mixture, component, number, TOLERANCE, variance)
        decisions.append(decision)
    return mixture, decisions


def _why_none(particles: Particles) -> str:
    model = registry.model(particles.spec.model)
    fits = model.support in NO_BORDERS
    if fits and model.curvature is not None:
        return ""
    why = "the program has no second derivatives of this model"
    if not fits:
        in_A = model.support_A is not Support.POSITIVE
        where = model.support_A.of("A") if in_A else model.support_W.of("W")
        why = f"{where}, where no Gaussian over all entries fits"
    return (
        f"{model.label}: {why}. The page Fit and weights weighs its factorizations in another way."
    )


def _fixed_variances(candidates: list[Candidates], kinds: list[Kind]) -> dict[Kind, float | None]:
    # Under a flat likelihood, one variance for all runs of the same model and settings: the
    # entropy of d dimensions would tell runs of different variance apart, not their coverage.
    found: dict[Kind, float | None] = {}
    for of_run, kind in zip(candidates, kinds, strict=True):
        found.setdefault(kind, None)
        if of_run.problem.model.offending is None:
            continue
        for row in of_run.rows[np.isfinite(np.asarray(of_run.particles.log_joint)[of_run.rows])]:
            alone = variance_alone(of_run.problem, *(F[None] for F in of_run.pair(row)))
            found[kind] = max(alone, found[kind] or 0.0)
    return found


def _own_bounds(particles: Particles) -> list[float]:
    bounds = particles.diagnostics.get("bound")
    if bounds is None:
        return []
    firsts = np.unique(np.asarray(particles.chain), return_index=True)[1]
    return np.asarray(bounds)[firsts].tolist()


def _arrays(mixture: Mixture, decisions: list[Decision]) -> dict[str, np.ndarray]:
    names = [field.name for field in fields(Decision) if field.name != "removed"]
    columns = {name: np.array([getattr(d, name) for d in decisions]) for name in names}
    left_at = {number: d.number for d in decisions for number in d.removed}
    columns["left"] = np.array([left_at.get(d.number, -1) for d in decisions])
    parts = {name: getattr(mixture, name) for name in COMPONENT}
    return columns | {f"component_{name}": values for name, values in parts.items()}


def _distances(
    comparison: Comparison,
    folder: Path,
    candidates: dict[str, Candidates],
    compared: dict[str, Groups],
    report: Report,
    stopped: Stopped,
) -> None:
    """Covering curves of the components of every run, on one grid of radii per distance."""
    metrics = comparison.metrics
    shape = (len(comparison.runs), len(VARIANTS), len(KINDS))
    for i, (key, distance) in enumerate(metrics.items()):
        within: dict[tuple[int, int, int], np.ndarray] = {}
        for position, record in enumerate(comparison.runs):
            groups = compared.get(record.id, {})
            rows = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *groups.values()]))
            if not rows.size:
                continue
            pairs = [candidates[record.id].pair(row) for row in rows]
            A, W = (np.stack(factors) for factors in zip(*pairs, strict=True))
            matrix = pairwise(A, W, distance, None, stopped)
            for (variant, kind), chosen in groups.items():
                inside = np.searchsorted(rows, chosen)
                if inside.size:
                    place = position, list(VARIANTS).index(variant), list(KINDS).index(kind)
                    within[place] = matrix[np.ix_(inside, inside)]
        upper = max(map(largest_distance, within.values()), default=0.0)
        arrays = {
            "run_ids": np.array(comparison.run_ids),
            "epsilon": np.linspace(0.0, upper, RADII),
            "covering": np.full((*shape, RADII), -1),
            "largest": np.full(shape, np.nan),
            "mean": np.full(shape, np.nan),
            "compared": np.zeros(shape, dtype=np.int64),
        }
        for place, matrix in within.items():
            arrays["covering"][place] = persistence(matrix, RADII, upper)[1]
            arrays["largest"][place] = largest_distance(matrix)
            arrays["mean"][place] = mean_distance(matrix)
            arrays["compared"][place] = len(matrix)
        files.write_arrays(folder / f"distances-{key}.npz", arrays)
        report(PROPOSING + (1 - PROPOSING) * (i + 1) / len(metrics))


def read(comparison: Comparison, folder: Path) -> Mixtures:
    """The stored mixtures of every run."""
    return Mixtures(folder, **files.read_json(folder / "mixtures.json"))


STAGE = Stage(
    key="variational",
    label="Proposing factorizations to a variational mixture",
    needs=(),
    version=1,
    compute=compute,
    read=read,
    by_distance=True,
    weight=0.5,
    names_runs=True,
)


def _bound(board: Board, run_id: str) -> float:
    found = STAGE.perhaps(board.comparison)
    proposals = {} if found is None else found.proposals("best")
    if run_id not in proposals:
        return math.nan
    return float(proposals[run_id].decisions["elbo"].iloc[-1])


CRITERION = Criterion(
    "elbo",
    "evidence lower bound",
    _bound,
    unit="nats",
    better="more",
    page="mixture",
    about="Of the mixture that variational inference makes of a run.",
    stages=("variational",),
)
