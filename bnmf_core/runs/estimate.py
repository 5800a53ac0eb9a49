"""What a run will cost, before it starts."""

from dataclasses import dataclass
from statistics import median

from bnmf_core.data.split import split
from bnmf_core.nouns.dataset import Dataset
from bnmf_core.nouns.errors import BNMFError
from bnmf_core.nouns.problem import Problem
from bnmf_core.nouns.spec import RunSpec
from bnmf_core.runs.engine import WORKERS
from bnmf_core.runs.memory import memory_needed
from bnmf_core.runs.planning import check
from bnmf_core.store.run_store import RunStore

# Multiply-adds per second and core assumed until runs of this store have shown better.
FIRST_GUESS = 3e9


@dataclass(frozen=True)
class Estimate:
    """seconds : expected duration. bytes_kept : size of the particles. memory : peak, bytes."""

    seconds: float
    bytes_kept: int
    memory: int


def estimate(dataset: Dataset, spec: RunSpec, store: RunStore | None = None) -> Estimate:
    """Time and memory of a run; earlier runs of the same algorithm in ``store`` calibrate it.

    Raises
    ------
    BNMFError
        When the spec does not fit.
    """
    algorithm, settings = check(dataset, spec)
    needed = memory_needed(dataset, spec)
    if spec.holdout:
        dataset = dataset.columns(split(dataset, spec.holdout)[0])
    problem = Problem.without_model(dataset, spec.rank)
    work = spec.particles * algorithm.work(problem, settings)
    shards = len(algorithm.shard_sizes(settings, spec.particles))
    rate = _measured_rate(store, spec.algorithm) or FIRST_GUESS * min(shards, WORKERS)
    return Estimate(0.3 + work / rate, needed.kept, needed.held + needed.added)


def _measured_rate(store: RunStore | None, algorithm_key: str) -> float | None:
    if store is None:
        return None
    rates = []
    for run in store.runs():
        same = run.spec.algorithm == algorithm_key and run.status == "complete"
        if not same or run.seconds <= 0.5:
            continue
        try:
            dataset = store.dataset(run.dataset)
            algorithm, settings = check(dataset, run.spec)
        except BNMFError:  # a run of another version, or of data that are gone, tells nothing
            continue
        problem = Problem.without_model(dataset, run.spec.rank)
        rates.append(run.done * algorithm.work(problem, settings) / run.seconds)
        if len(rates) == 5:
            break
    return median(rates) if rates else None
