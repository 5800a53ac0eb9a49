"""Estimate the cost of a run before it starts."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from bnmf_core.core.algorithm import AnyAlgorithm
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import BNMFError
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import build
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.split import split
from bnmf_core.likelihoods import MODELS
from bnmf_core.runs.engine import WORKERS
from bnmf_core.runs.memory import memory_needed
from bnmf_core.runs.on_blocks import passes, seconds_of_reading
from bnmf_core.runs.pilots import Pilot
from bnmf_core.runs.planning import check
from bnmf_core.store.records import RunRecord
from bnmf_core.store.run_store import RunStore

# Multiply-adds per second and core, until the store has runs to learn from.
FIRST_GUESS = 4.5e9
# Overhead of a run in seconds.
PREPARING = 0.3
# Uncertainty factors of durations: from multiply-adds, from other runs of the algorithm, from an
# unfinished or a finished pilot, and from the same run of the same data.
GUESSED, LEARNED, TRIED, TRIED_OUT, KNOWN = 3.0, 2.5, 1.7, 1.4, 1.25
# Further factor for passes over blocks: poorly determined components take 200 of them.
OF_PASSES = 3.0
# Number of newest finished runs to learn from.
LEARN_FROM = 5
SHORTEST = 0.5
# Leading digits of rounded estimates.
STEPS = (1, 1.5, 2, 3, 4, 5, 6, 8, 10)


@dataclass(frozen=True)
class Estimate:
    """Expected cost of a run.

    seconds : expected duration on an idle machine. factor : uncertainty of the duration, up and
    down. busy : total CPU seconds. particle_bytes : size of the particles. memory : peak, bytes.
    passes : over X, if it is in blocks.
    """

    seconds: float
    particle_bytes: int
    memory: int
    factor: float = GUESSED
    busy: float = 0.0
    passes: int = 0

    @property
    def low(self) -> float:
        """The shortest duration to expect, seconds."""
        return self.seconds / self.factor

    @property
    def high(self) -> float:
        """The longest duration to expect, seconds."""
        return self.seconds * self.factor


def estimate(
    dataset: Dataset, spec: RunSpec, store: RunStore | None = None, pilot: Pilot | None = None
) -> Estimate:
    """Time and memory of a run.

    The best source is used: the same run of the same data in ``store``, else a ``pilot``, else
    other runs of the algorithm, else multiply-adds.

    Raises
    ------
    BNMFError
        When the spec does not fit.
    """
    algorithm, settings = check(dataset, spec)
    needed = memory_needed(dataset, spec)
    at_once = _at_once(algorithm, settings, spec, dataset)
    problem = problem_of(dataset, spec)
    count, reading = 0, 0.0
    if dataset.whole is not None:
        count = passes(algorithm, settings, problem, spec.particles)
        reading = seconds_of_reading(dataset.whole, count)
    earlier = [] if store is None else _finished(store, spec.algorithm)
    if same := [run for run in earlier if _same(run, dataset, spec)]:
        busy = median(_busy(run, at_once) for run in same[:LEARN_FROM])
        factor, reading = KNOWN, 0.0
    elif pilot is not None:
        busy, factor = pilot.busy, TRIED_OUT if pilot.part == 1.0 else TRIED
    else:
        work = spec.particles * algorithm.work(problem, settings)
        rate = _learned_rate(store, earlier)
        busy, factor = work / (rate or FIRST_GUESS), LEARNED if rate else GUESSED
    if algorithm.family == "explorer" and dataset.whole is not None and not same:
        factor *= OF_PASSES
    if spec.seconds:
        busy = min(busy, spec.seconds)
    seconds = PREPARING + busy / at_once + reading
    return Estimate(seconds, needed.particles, needed.held + needed.added, factor, busy, count)


def together(estimates: Sequence[Estimate]) -> tuple[float, float]:
    """The shortest and longest duration, in seconds, of runs that share this machine's cores."""
    alone = max((one.seconds for one in estimates), default=0.0)
    shared = PREPARING + sum(one.busy for one in estimates) / WORKERS
    busy = sum(one.busy for one in estimates)
    # Errors of several runs cancel in part.
    spread = math.exp(
        math.sqrt(sum((one.busy * math.log(one.factor)) ** 2 for one in estimates)) / busy
        if busy
        else 0.0
    )
    return max(alone, shared) / spread, max(alone, shared) * spread


def slowdown() -> float:
    """Slowdown factor from the load of this machine."""
    try:
        load = os.getloadavg()[0]
    except (AttributeError, OSError):  # not on Windows
        return 1.0
    return max(1.0, (load + WORKERS) / (os.cpu_count() or WORKERS))


def spoken(low: float, high: float) -> str:
    """A range of seconds in words, such as "about 20–40 s"."""
    (first, unit), (last, name) = _rounded(low), _rounded(high)
    if (last, name) == ("1", "s"):
        return "about a second"
    if unit != name:
        return f"about {first} {unit} to {last} {name}"
    return f"about {last} {name}" if first == last else f"about {first}–{last} {name}"


def _rounded(seconds: float) -> tuple[str, str]:
    """Round to 1, 2, 3, 4, 5, 6, 8, 10, 15, … with the unit."""
    unit, name = (1.0, "s") if seconds < 75 else (60.0, "min") if seconds < 4500 else (3600.0, "h")
    value = max(seconds / unit, 1.0)
    power = 10.0 ** math.floor(math.log10(value))
    steps = [step * power for step in STEPS if (step * power).is_integer()]
    return f"{min(steps, key=lambda step: abs(math.log(step / value))):g}", name


def problem_of(dataset: Dataset, spec: RunSpec) -> Problem:
    """The problem of a run, without model settings inferred from the data."""
    if spec.holdout:
        dataset = replace(dataset.columns(split(dataset, spec.holdout)[0]), whole=dataset.whole)
    model = MODELS[spec.model]
    chosen: object = build(model.Settings, spec.model_settings, model.label)
    return Problem(dataset, model, chosen, spec.rank)


def _at_once(algorithm: AnyAlgorithm, settings: object, spec: RunSpec, dataset: Dataset) -> int:
    """Number of cores that a run keeps busy."""
    if dataset.whole is not None:
        return max(1, min(dataset.whole.count, WORKERS))
    if spec.seconds and algorithm.family != "sampler":
        return 1
    return max(1, min(len(algorithm.shard_sizes(settings, spec.particles)), WORKERS))


def _finished(store: RunStore, algorithm: str) -> list[RunRecord]:
    return [
        run
        for run in store.runs()
        if run.spec.algorithm == algorithm and run.status == "complete" and run.seconds > SHORTEST
    ]


def _same(run: RunRecord, dataset: Dataset, spec: RunSpec) -> bool:
    """Whether a run has the same data and spec, except for the seed."""
    mine, its = (
        {name: value for name, value in one.to_dict().items() if name != "seed"}
        for one in (spec, run.spec)
    )
    return run.dataset == dataset.hash and mine == its


def _busy(run: RunRecord, at_once: int) -> float:
    """CPU seconds of a run, estimated if they were not measured."""
    return run.busy or run.seconds * at_once


def _learned_rate(store: RunStore | None, runs: Sequence[RunRecord]) -> float | None:
    """Multiply-adds per CPU second, from the newest of these runs."""
    rates: list[float] = []
    for run in runs:
        assert store is not None
        try:
            dataset = store.dataset(run.dataset)
            algorithm, settings = check(dataset, run.spec)
        except BNMFError:  # skip runs of another version or of missing data
            continue
        work = run.done * algorithm.work(problem_of(dataset, run.spec), settings)
        rates.append(work / _busy(run, _at_once(algorithm, settings, run.spec, dataset)))
        if len(rates) == LEARN_FROM:
            break
    return median(rates) if rates else None
