"""One cell of the study of binary matrices: a run of IASG, a reference, or three variables."""

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from bnmf_core import Dataset, Particles, RunSpec, boolean_tiles, run, threshold_curve
from bnmf_core.boolean import iasg
from bnmf_core.boolean import model as boolean
from bnmf_core.boolean.three_variables import ThreeVariables
from bnmf_core.boolean.thresholds import PAPER_GRID, errors_at
from bnmf_core.core.algorithm import Shard
from bnmf_core.core.errors import raise_if_cancelled
from bnmf_core.core.problem import Problem
from bnmf_core.numerics.matrix import boolean_product
from bnmf_core.numerics.threads import one_blas_thread
from studies.runner import Cancel
from studies.words import declared, words

# Size of the published table; ranks and batch sizes are in its units.
SIDE, TILES = 512, 30
SIGMA = 1.0
# Fraction of outputs that count as burn-in.
BURN_IN = 0.6
# Entries whose mean, standard deviation and gradient a figure shows; points of a trace.
POINTS, TRACE = 300, 120
BINS = 50
DIGITS = 5
# The data set that figures show.
DRAWN = "implied_clean"
# Part, prior, rank and batch whose means figure 4.4 shows; entries below the least are left out.
IMAGED = ("grid", "normal", "30", "512")
LEAST = 0.02
# Three variables (§4.1.2): observations of their products, and the priors of figures 4.2 and 4.3.
CASES = tuple("".join(bits) for bits in product("01", repeat=3))
CASE_PRIORS = ("flat", "normal")
TITLE = "a cell of the study of binary matrices"

# Quantity, index of a point, a bin or an output (0 if single), and value.
Rows = list[tuple[str, float, float]]


@dataclass(frozen=True)
class Table:
    """A kind of table of tiles; without a density the plan sets the number of pattern ones."""

    key: str
    label: str
    noise: str
    rates: tuple[float, float]
    density: float | None = None


@dataclass(frozen=True)
class Reference:
    """A reference algorithm and its settings; without ``sigma``, σ is inferred."""

    key: str
    label: str
    algorithm: str
    settings: dict[str, Any] = field(default_factory=dict)
    sigma: float | None = None


_PLAN = words("boolean", "plan")
PROBLEMS = declared(Table, _PLAN["problems"])
REFERENCES = declared(Reference, _PLAN["references"])
PRIORS: dict[str, str] = words("boolean")["priors"]
LABELS = PRIORS | {key: entry.label for key, entry in (PROBLEMS | REFERENCES).items()}


@dataclass(frozen=True)
class BooleanPlan:
    """What decides the numbers.

    Attributes
    ----------
    iterations, long, longest : outputs of IASG ("60k", "600k", "2M"). repetitions : data sets where
        a claim depends on luck. calibration : gradients for the steps. sweeps : of Gibbs samplers,
        half of them discarded. side, tiles : of a table. pattern : ones a tile has beside its own
        rows, as the published errors imply; 2 of 332 at 512×512.
    """

    iterations: int = 60_000
    long: int = 600_000
    longest: int = 2_000_000
    repetitions: int = 10
    calibration: int = 2500
    sweeps: int = 240
    side: int = SIDE
    tiles: int = TILES
    pattern: int = 2
    seed: int = 0

    def decides(self, place: "Place") -> dict[str, int]:
        """The fields of the plan that decide one cell: outputs of other cells do not."""
        needed = asdict(self)
        others = {"iterations", "long", "longest", "repetitions"} - {place.length}
        if place.length:
            others.add("sweeps")
        return {name: value for name, value in needed.items() if name not in others}


@dataclass(frozen=True)
class Place:
    """What a cell measures.

    ``rank`` and ``size``, the batch, in units of the published table. ``length`` : the field of
    the plan with the number of outputs. ``repetition`` : number of the data set.
    """

    part: str
    problem: str
    column: str
    start: str = ""
    rank: str = ""
    size: str = ""
    weight: str = ""
    length: str = ""
    repetition: int = 0


def measured(place: Place, plan: BooleanPlan, cancel: Cancel = None) -> Rows:
    """The numbers of one cell."""
    with one_blas_thread():
        if place.part == "three":
            return _rounded(_three(place))
        if place.part == "reference":
            return _rounded(_reference(place, plan, cancel))
        return _rounded(_iasg(place, plan, cancel))


def _rounded(found: Iterator[tuple[str, float, float]]) -> Rows:
    return [(name, float(x), float(f"{value:.{DIGITS}g}")) for name, x, value in found]


@lru_cache(maxsize=2)
def table(problem: str, repetition: int, plan: BooleanPlan) -> Dataset:
    """The data set of a repetition; its truth holds the tiles."""
    kind = PROBLEMS[problem]
    counted = {"ones": plan.pattern} if kind.density is None else {"density": kind.density}
    rng = np.random.default_rng([plan.seed, repetition])
    return boolean_tiles(plan.side, plan.side, plan.tiles, **counted, **_flips(kind), rng=rng)


def _flips(kind: Table) -> dict[str, float]:
    return {"false_positive": kind.rates[0], "false_negative": kind.rates[1]}


def noise_free(data: Dataset) -> np.ndarray:
    """C, (D, N): the table before cells are flipped."""
    return boolean_product(data.truth[0].A, data.truth[0].W)


def spec_of(place: Place, plan: BooleanPlan) -> RunSpec:
    """The run of IASG that a cell measures."""
    outputs = getattr(plan, place.length)
    warm_up = min(int(BURN_IN * outputs), outputs - 1)
    settings = {
        "chains": 1,
        "warm_up": warm_up,
        "thinning": outputs - warm_up,
        "batch": max(round(int(place.size) * plan.side / SIDE), 1),
        "prior_weight": place.weight,
        "calibration": plan.calibration,
        "start": {"random": "uniform"}.get(place.start, place.start),
    }
    rank = max(round(int(place.rank) * plan.tiles / TILES), 1)
    model = {"prior": place.column, "sigma": SIGMA}
    return RunSpec("iasg", rank, "boolean", 1, plan.seed + place.repetition, settings, model)


def start_of(data: Dataset, spec: RunSpec) -> tuple[np.ndarray, np.ndarray]:
    """Initial A (D, R) and W (R, N) of a run of IASG."""
    problem = Problem(data, boolean.MODEL, boolean.Settings(**spec.model_settings), spec.rank)
    settings = iasg.Settings(**spec.settings)
    state = iasg.init(problem, settings, Shard(0, 0, 1, spec.seed), np.random.default_rng(0))
    return state.A[0], state.V[0].T


@dataclass(frozen=True)
class _Token:
    """A study's cancellation token, as a run takes it."""

    cancel: Callable[[], bool]

    def is_set(self) -> bool:
        """Whether to stop."""
        return self.cancel()


def _run(data: Dataset, spec: RunSpec, cancel: Cancel) -> tuple[Particles, float]:
    began = time.process_time()
    particles = run(data, spec, cancel=None if cancel is None else _Token(cancel))
    raise_if_cancelled(cancel, TITLE)
    return particles, time.process_time() - began


def _iasg(place: Place, plan: BooleanPlan, cancel: Cancel) -> Iterator[tuple[str, float, float]]:
    data, spec = table(place.problem, place.repetition, plan), spec_of(place, plan)
    particles, seconds = _run(data, spec, cancel)
    totals = {name: values[0] for name, values in particles.totals.items()}
    C = noise_free(data)
    yield from _of_data(data, C)
    yield "seconds", 0, seconds
    # Nothing is discarded as published; "late_" is without the burn-in.
    for prefix, name in (("", "all_mean"), ("late_", "mean"), ("last_", "last")):
        yield from errors(prefix, totals[f"{name}_A"], totals[f"{name}_W"], C)
    yield "at_zero", 0, totals["at_zero"]
    yield "at_one", 0, totals["at_one"]
    yield "log_likelihood", 0, float(particles.trace["log_likelihood"][-1])
    mean, sd = _flat(totals, "all_mean"), _flat(totals, "all_sd")
    start = np.concatenate([part.ravel() for part in start_of(data, spec)])
    yield "start_correlation", 0, _correlation(np.abs(mean - start), sd)
    yield "all_sd", 0, float(np.sqrt(np.mean(sd**2)))
    yield "late_sd", 0, float(np.sqrt(np.mean(_flat(totals, "sd") ** 2)))
    if place.problem == DRAWN and place.part in ("grid", "long", "longest"):
        yield from _drawn(totals, mean, sd)
        if (place.part, place.column, place.rank, place.size) == IMAGED:
            yield from _images(totals)


def _drawn(
    totals: dict[str, np.ndarray], mean: np.ndarray, sd: np.ndarray
) -> Iterator[tuple[str, float, float]]:
    """What figures 4.1 and 4.5 to 4.11 show: a trace, counts of means, some entries."""
    early = totals["early_log_likelihood"]
    early = early[~np.isnan(early)]
    for at in np.unique(np.geomspace(1, early.size, min(TRACE, early.size)).astype(int)):
        yield "trace", at, early[at - 1]
    for factor in ("A", "W"):
        counts, _ = np.histogram(totals[f"all_mean_{factor}"], bins=BINS, range=(0.0, 1.0))
        for i, count in enumerate(counts):
            yield f"histogram_{factor}", i, count
    gradient = _flat(totals, "gradient_mean")
    # Large entries are few: half of the points are drawn from them.
    order = np.argsort(mean)
    chosen = np.concatenate([order[-POINTS // 2 :], order[:: max(1, order.size // (POINTS // 2))]])
    for i, entry in enumerate(chosen):
        yield "point_mean", i, mean[entry]
        yield "point_sd", i, sd[entry]
        yield "point_gradient", i, gradient[entry]


def _images(totals: dict[str, np.ndarray]) -> Iterator[tuple[str, float, float]]:
    """Means of the entries of A (D, R) and of Wᵀ (N, R), in the order in which they are stored."""
    for factor, mean in (("A", totals["all_mean_A"]), ("W", totals["all_mean_W"].T)):
        for i in np.flatnonzero(mean >= LEAST):
            yield f"image_{factor}", i, round(float(mean.flat[i]), 2)


def _reference(
    place: Place, plan: BooleanPlan, cancel: Cancel
) -> Iterator[tuple[str, float, float]]:
    data, reference = table(place.problem, place.repetition, plan), REFERENCES[place.column]
    settings, model = dict(reference.settings), {"prior": "flat", "sigma": reference.sigma}
    draws = 1
    if reference.algorithm != "panpal":
        draws = max(plan.sweeps // 2, 1)
        settings |= {"chains": 1, "warm_up": plan.sweeps - draws, "thinning": 1}
    seed = plan.seed + place.repetition
    spec = RunSpec(reference.algorithm, plan.tiles, "boolean", draws, seed, settings, model)
    particles, seconds = _run(data, spec, cancel)
    C = noise_free(data)
    yield from _of_data(data, C)
    yield "seconds", 0, seconds
    A, W = np.asarray(particles.A), np.asarray(particles.W)
    yield from errors("", A.mean(axis=0), W.mean(axis=0), C)
    yield from errors("last_", A[-1], W[-1], C)
    entries = np.concatenate([A.reshape(len(A), -1), W.reshape(len(W), -1)], axis=1)
    yield "all_sd", 0, float(np.sqrt(entries.var(axis=0).mean()))
    yield "at_zero", 0, float((entries == 0.0).mean())
    yield "at_one", 0, float((entries == 1.0).mean())


def _of_data(data: Dataset, C: np.ndarray) -> Iterator[tuple[str, float, float]]:
    """Ones of the noise-free table, flipped cells, and the zero matrix's log likelihood."""
    X = np.asarray(data.X)
    yield "ones", 0, int(C.sum())
    yield "flipped", 0, int((X != C).sum())
    yield "zero_log_likelihood", 0, -0.5 * float(X.sum()) / SIGMA**2


def errors(
    prefix: str, A: np.ndarray, W: np.ndarray, C: np.ndarray
) -> Iterator[tuple[str, float, float]]:
    """Wrong cells at ½ and at the best published thresholds, with these thresholds.

    ``exact`` is the least error at any threshold, which the grid can miss.
    """
    thresholds, wrong = threshold_curve(A, W, C)
    on_grid = errors_at(thresholds, wrong, PAPER_GRID)
    best = np.flatnonzero(on_grid == on_grid.min())
    yield f"{prefix}half", 0, on_grid[49]
    yield f"{prefix}best", 0, on_grid.min()
    yield f"{prefix}low", 0, PAPER_GRID[best[0]]
    yield f"{prefix}high", 0, PAPER_GRID[best[-1]]
    yield f"{prefix}exact", 0, wrong.min()


def three(case: str, prior: str) -> ThreeVariables:
    """The three variables of a case."""
    return ThreeVariables(*map(float, case), prior=prior)


def _three(place: Place) -> Iterator[tuple[str, float, float]]:
    found = three(place.column, place.problem)
    yield "largest", 0, found.height
    for i, (at, mean) in enumerate(zip(found.maxima[0], found.means, strict=True)):
        yield "largest_at", i, at
        yield "mean", i, mean


def _flat(totals: dict[str, np.ndarray], name: str) -> np.ndarray:
    return np.concatenate([totals[f"{name}_{factor}"].ravel() for factor in ("A", "W")])


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    if a.std() == 0.0 or b.std() == 0.0:
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])
