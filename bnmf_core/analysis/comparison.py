"""Factorizations of one or several runs of the same data and rank, beside each other."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from bnmf_core import registry
from bnmf_core.compare.alignment import largest_first, matching
from bnmf_core.compare.distances import suited
from bnmf_core.compare.distances.pairwise import Distance
from bnmf_core.core.algorithm import AnyAlgorithm
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import RunError
from bnmf_core.core.loss import MEASURE, Loss
from bnmf_core.core.model import Model, Support
from bnmf_core.core.names import listed
from bnmf_core.core.particles import Particles
from bnmf_core.core.problem import Problem
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.data.split import split
from bnmf_core.likelihoods import MODELS
from bnmf_core.numerics.linalg import evenly_spaced
from bnmf_core.store import files, manifest
from bnmf_core.store.records import RunRecord
from bnmf_core.store.run_store import RunStore

MEMBERS_PER_RUN = 200
# Part of the key: results that an older program stored for other members are not read.
LAYOUT = 7
# File in the folder of a comparison that lists its runs.
ABOUT = "comparison.json"


@dataclass(frozen=True, eq=False)
class Comparison:
    """A set of runs, their members, and the folder of their results.

    Attributes
    ----------
    key : names the comparison in the store. folder : its files.
    runs : the records. dataset : what they factorized.
    """

    key: str
    folder: Path
    runs: tuple[RunRecord, ...]
    particles: tuple[Particles, ...]
    dataset: Dataset

    @property
    def metrics(self) -> dict[str, Distance]:
        """The distances that suit these factorizations, by their keys."""
        return suited(self.of_tiles)

    @property
    def of_tiles(self) -> bool:
        """Whether all factors lie between 0 and 1."""
        unit = Support.UNIT_INTERVAL
        return all(model.support_A == model.support_W == unit for model in self._models)

    @cached_property
    def read_already(self) -> dict[str, object]:
        """Results of stages that have been read of this comparison, by the names of their folders.

        What a stage has stored whole changes no more.
        """
        return {}

    @cached_property
    def optimizers(self) -> list[str]:
        """Labels of the algorithms that run one of these models until it converges."""
        return [
            algorithm.label
            for algorithm in registry.ALGORITHMS.values()
            if algorithm.runs_to_optima and any(algorithm.works_with(one) for one in self._models)
        ]

    @property
    def advised(self) -> str:
        """The first two of ``optimizers``, to recommend; "" without any."""
        return listed(self.optimizers[:2], "or")

    @property
    def _models(self) -> list[Model]:
        """The registered models of these runs, run by run."""
        return [
            registry.model(record.spec.model) for record in self.runs if record.spec.model in MODELS
        ]

    @cached_property
    def losses(self) -> list[Loss]:
        """The loss of each run; the squared error for models that are no longer registered."""
        losses = []
        for record, particles in zip(self.runs, self.particles, strict=True):
            if record.spec.model in MODELS:
                model, settings = registry.model_of(particles)
                losses.append(model.loss(settings))
            else:
                losses.append(SQUARED_ERROR)
        return losses

    @property
    def loss(self) -> Loss | None:
        """The loss of all runs; None where they made different ones small."""
        return self.losses[0] if len({loss.key for loss in self.losses}) == 1 else None

    @property
    def measure(self) -> str:
        """Name of the measure of fit; a general name where losses differ."""
        return self.loss.measure if self.loss else MEASURE

    @property
    def explains(self) -> str:
        """What these runs explain a fraction of; "" where the loss does not define it."""
        return self.loss.explains if self.loss else ""

    @property
    def measure_heading(self) -> str:
        """Heading of a column of :meth:`format_measure`."""
        return self.loss.heading if self.loss else MEASURE

    def format_measure(self, error: float) -> str:
        """Format an error of these runs for a table."""
        return (self.loss or SQUARED_ERROR).format(error)

    @property
    def measure_axis(self) -> str:
        """Axis title of the measure of fit."""
        return self.loss.axis if self.loss else f"{MEASURE}, by each run's own model"

    @property
    def measure_ends(self) -> str:
        """Meaning of the ends of that axis."""
        return self.loss.ends if self.loss else Loss.ends

    @property
    def fit(self) -> Problem:
        """The problem that further solvers work on: the data and the loss of these runs.

        The loss is the squared error where runs minimized different losses.
        """
        loss = self.loss or SQUARED_ERROR
        return Problem.without_model(self.seen_dataset, self.rank, loss=loss)

    @property
    def same_loss(self) -> np.ndarray:
        """(m,) True for members whose run made the same loss small as the first run."""
        same = np.array([loss.key == self.losses[0].key for loss in self.losses])
        return same[self.run_of_member]

    @cached_property
    def run_of_member(self) -> np.ndarray:
        """(m,) the number of each member's run, 0 for the first."""
        numbers = {record.id: i for i, record in enumerate(self.runs)}
        return self.members["run"].map(numbers).to_numpy()

    @cached_property
    def members(self) -> pd.DataFrame:
        """One row per factorization that is compared, at most 200 per run, see ``representing``.

        Columns: run, algorithm, particle (its number in the run), chain, draw, weight (within
        the run), log_joint, error, seconds, degenerate, kkt, movement and gain (NaN where they are
        not known), converged (False only where it is known not to have), ridge, position (row in
        the run's arrays).
        """
        parts = []
        for record, particles in zip(self.runs, self.particles, strict=True):
            chosen, weight = representing(
                np.asarray(particles.weights), MEMBERS_PER_RUN, np.asarray(particles.chain)
            )
            columns = {
                "run": record.id,
                "algorithm": record.spec.algorithm,
                "particle": np.asarray(particles.ids)[chosen],
                "chain": np.asarray(particles.chain)[chosen],
                "draw": np.asarray(particles.draw)[chosen],
                "weight": weight,
                "log_joint": np.asarray(particles.log_joint)[chosen],
                "error": np.asarray(particles.error)[chosen],
                "seconds": np.asarray(particles.seconds)[chosen],
                "degenerate": particles.degenerate[chosen],
                "kkt": particles.kkt[chosen],
                "movement": particles.movement[chosen],
                "gain": particles.gain[chosen],
                "converged": _converged(particles)[chosen],
                "ridge": particles.ridge[chosen],
                "position": chosen,
            }
            parts.append(pd.DataFrame(columns))
        return pd.concat(parts, ignore_index=True)

    @cached_property
    def optima(self) -> np.ndarray:
        """(m,) True for members that are known to have converged to an optimum; draws are none."""
        return (self.members["movement"].notna() & self.members["converged"]).to_numpy()

    @cached_property
    def grouped(self) -> np.ndarray:
        """Rows of the members that modes are made of: the optima, or all where none is known."""
        return np.flatnonzero(self.optima) if self.optima.any() else np.arange(len(self.members))

    @cached_property
    def resolution(self) -> float:
        """Degrees below which members are identical: the remaining rotation of converged ones.

        0 where it is unknown.
        """
        movement = self.members.loc[self.members["converged"], "movement"].dropna()
        return float(movement.max()) if len(movement) else 0.0

    @property
    def run_ids(self) -> list[str]:
        """Ids of the runs, in their order."""
        return [record.id for record in self.runs]

    @cached_property
    def algorithm_of(self) -> dict[str, str]:
        """The key of the algorithm that made each run, by run id."""
        return {run.id: run.spec.algorithm for run in self.runs}

    @cached_property
    def samplers(self) -> list[str]:
        """Keys of the algorithms that made chains, rather than look for good factorizations."""
        return [algorithm.key for algorithm in self._algorithms if algorithm.family == "sampler"]

    @cached_property
    def exact_samplers(self) -> list[str]:
        """Keys of those samplers whose chains are draws from the posterior."""
        return [algorithm.key for algorithm in self._algorithms if algorithm.exact]

    @cached_property
    def caveats(self) -> dict[str, str]:
        """Key of each inexact sampler → why its outputs are no draws."""
        return {
            algorithm.key: algorithm.caveat for algorithm in self._algorithms if algorithm.caveat
        }

    @property
    def _algorithms(self) -> list[AnyAlgorithm]:
        """The registered algorithms of these runs, each once."""
        used = dict.fromkeys(self.algorithm_of.values())
        return [registry.ALGORITHMS[key] for key in used if key in registry.ALGORITHMS]

    @cached_property
    def same_model(self) -> np.ndarray:
        """(m,) True for members whose log joint is that of the first run's model."""
        first = self.particles[0]
        same = {
            record.id
            for record, particles in zip(self.runs, self.particles, strict=True)
            if particles.spec.model == first.spec.model
            and particles.info.get("model_settings") == first.info.get("model_settings")
        }
        return self.members["run"].isin(same).to_numpy()

    @cached_property
    def content(self) -> str:
        """Equal in comparisons, of whatever owner, of which every stage has the same result."""
        parts = (LAYOUT, self.dataset.hash, [particles.fingerprint for particles in self.particles])
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    @property
    def cache_key(self) -> str:
        """Unique among the comparisons of all owners: the key of everything cached in memory.

        ``key`` is not: whoever opens an archive chooses the ids of its runs.
        """
        return str(self.folder)

    @property
    def root(self) -> Path:
        """The folder of the store."""
        return self.folder.parents[1]

    @property
    def rank(self) -> int:
        """R, the same for every run."""
        return self.runs[0].spec.rank

    @property
    def holdout(self) -> float:
        """Fraction of the observations that no run saw."""
        return self.runs[0].spec.holdout

    @cached_property
    def seen_dataset(self) -> Dataset:
        """The observations that the runs saw."""
        if not self.holdout:
            return self.dataset
        return self.dataset.columns(split(self.dataset, self.holdout)[0])

    @property
    def seen_squared_norm(self) -> float:
        """‖X‖² of the observations that the runs saw."""
        return self.seen_dataset.squared_norm

    def rows_by_run(self) -> list[np.ndarray]:
        """Rows of ``members`` of each run, in the order of the runs."""
        groups = self.members.groupby("run", sort=False).indices
        return [np.asarray(groups[run_id]) for run_id in self.run_ids]

    def factors(self, index: Sequence[int] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A (k, D, R) and W (k, R, N) of the chosen rows of ``members``, in their order."""
        W = [particles.W[position] for particles, position in self._places(index)]
        return self.bases(index), np.array(W).reshape(-1, *self.particles[0].W.shape[1:])

    def bases(self, index: Sequence[int] | np.ndarray) -> np.ndarray:
        """A (k, D, R) of the chosen rows alone: where observations are many, W is most of both."""
        A = [particles.A[position] for particles, position in self._places(index)]
        return np.array(A).reshape(-1, *self.particles[0].A.shape[1:])

    def _places(self, index: Sequence[int] | np.ndarray) -> list[tuple[Particles, int]]:
        chosen = self.members.iloc[np.asarray(index, dtype=np.int64)]
        by_id = dict(zip(self.run_ids, self.particles, strict=True))
        return [
            (by_id[run_id], position)
            for run_id, position in zip(chosen["run"], chosen["position"], strict=True)
        ]

    def aligned(self, index: Sequence[int] | np.ndarray) -> np.ndarray:
        """Bases (k, D, R) of the chosen rows, components in one order: the first one's.

        Of these the one that explains most of X comes first. Where a component has a number, it is
        its place in this order.
        """
        return self.aligned_factors(index)[0]

    def aligned_factors(self, index: Sequence[int] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bases (k, D, R) and weights (k, R, N) in the order of :meth:`aligned`."""
        A, W = self.factors(index)
        order = matching(A, A[0][:, largest_first(A[0], W[0])])
        return (
            np.take_along_axis(A, order[:, None, :], axis=2),
            np.take_along_axis(W, order[:, :, None], axis=1),
        )

    def repetitions(self) -> dict[str, list[str]]:
        "Runs that differ only in the seed: their mean and range."
        groups: dict[str, list[str]] = {}
        for record in self.runs:
            spec = {key: value for key, value in record.spec.to_dict().items() if key != "seed"}
            groups.setdefault(repr(spec), []).append(record.id)
        return {ids[0]: ids for ids in groups.values()}

    def trace(self, run_id: str, most: int) -> pd.DataFrame:
        """The trace of a sampler's chains: at most ``most`` states of each chain.

        Columns chain, sweep, warm_up and the quantities; empty for an explorer's run.
        """
        table = pd.DataFrame(dict(self.particles[self.run_ids.index(run_id)].trace))
        if table.empty:
            return table
        rows = [
            part[evenly_spaced(len(part), most)]
            for part in table.groupby("chain", sort=True).indices.values()
        ]
        return table.iloc[np.concatenate(rows)].reset_index(drop=True)


def representing(
    weights: np.ndarray, most: int, chain: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """At most so many particles that stand for all, by weights (M,): indices (m,), weights (m,).

    The indices rise and the weights sum to 1. Where all count the same, evenly spaced ones of each
    chain, whose numbers are ``chain`` (M,), or of all where chains are too many for that. Else
    those at evenly spaced parts of the cumulative weight, each with the parts that fall on it: a
    group's weight is right to within 1/``most`` of the whole however few particles carry it.
    """
    if weights.size <= most:
        return np.arange(weights.size), weights / weights.sum()
    if np.ptp(weights) <= 1e-12 * weights.max():
        chosen = evenly_spaced(weights.size, most)
        numbers = np.unique(chain) if chain is not None else np.empty(0)
        if 1 < numbers.size <= most // 2:
            parts = [np.flatnonzero(chain == number) for number in numbers]
            each = most // numbers.size
            chosen = np.sort(
                np.concatenate([part[evenly_spaced(part.size, each)] for part in parts])
            )
        return chosen, np.full(chosen.size, 1 / chosen.size)
    cumulative = np.cumsum(weights)
    parts = (np.arange(most) + 0.5) / most * cumulative[-1]
    chosen, count = np.unique(np.searchsorted(cumulative, parts), return_counts=True)
    return chosen, count / most


def _converged(particles: Particles) -> np.ndarray:
    # Draws do not converge one by one, and what older runs call so was an end of patience.
    if "movement" not in particles.diagnostics:
        return np.ones(particles.M, dtype=bool)
    return np.asarray(particles.diagnostics["converged"], dtype=bool)


def open_comparison(store: RunStore, run_ids: Sequence[str]) -> Comparison:
    """The comparison of these runs; nothing may have been computed of it yet.

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
    key = comparison_key(parts)
    folder = store.root / "analyses" / key
    return Comparison(key, folder, records, particles, store.dataset(first.dataset))


def comparison_key(parts: Sequence[tuple[str, int]]) -> str:
    """Key of a comparison; ``parts`` : id and number of particles of each run."""
    plain = [(run_id, int(count)) for run_id, count in parts]
    return hashlib.sha256(repr((LAYOUT, plain)).encode()).hexdigest()[:12]


def write_about(comparison: Comparison) -> None:
    """Say in its folder which runs it is of, so that it can be removed with them."""
    path = comparison.folder / ABOUT
    if not manifest.is_sound(path):
        made = [particles.M for particles in comparison.particles]
        files.write_json(path, {"runs": comparison.run_ids, "particles": made})
