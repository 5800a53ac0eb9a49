"""A run that has been checked and is ready to start."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from bnmf_core import registry
from bnmf_core.core import settings
from bnmf_core.core.algorithm import AnyAlgorithm, Shard
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import SettingsError
from bnmf_core.core.names import listed
from bnmf_core.core.plain import is_number, is_whole
from bnmf_core.core.problem import Problem, check_fit, check_model
from bnmf_core.core.spec import RunInfo, RunSpec
from bnmf_core.data.split import split
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.runs.memory import Room, check_memory, largest_block
from bnmf_core.version import VERSION

MOST_PARTICLES = 1_000_000


@dataclass(frozen=True, eq=False)
class Plan:
    """A run that has been checked and is ready to start."""

    spec: RunSpec
    algorithm: AnyAlgorithm
    settings: object
    problem: Problem
    shards: tuple[Shard, ...]


def check(dataset: Dataset, spec: RunSpec) -> tuple[AnyAlgorithm, Any]:
    """Validate a spec for a dataset; return the algorithm and its settings.

    Raises
    ------
    NotFoundError, SettingsError, DataError, RunError
        When a value is not allowed.
    """
    algorithm = _for_size(registry.algorithm(spec.algorithm), dataset)
    model = registry.model(spec.model)
    why_not = algorithm.why_not(model)
    if why_not:
        raise SettingsError(why_not)
    if not (is_whole(spec.particles) and 1 <= spec.particles <= MOST_PARTICLES):
        raise SettingsError(
            f"{spec.particles!r} factorizations were asked for; a whole number from 1 to "
            f"{MOST_PARTICLES:,} is allowed."
        )
    if not (is_whole(spec.rank) and spec.rank >= 1):
        raise SettingsError(f"The rank was {spec.rank!r}; a whole number of 1 or more is needed.")
    if not (is_whole(spec.seed) and 0 <= spec.seed < 2**63):
        raise SettingsError(f"The seed was {spec.seed!r}; a whole number ≥ 0 is needed.")
    if not (is_number(spec.seconds) and 0 <= spec.seconds < math.inf):
        raise SettingsError(
            f"The budget was {spec.seconds!r} seconds; a number ≥ 0 is needed, 0 for none."
        )
    model_settings: object = settings.build(model.Settings, spec.model_settings, model.label)
    check_fit(dataset, split(dataset, spec.holdout)[0], spec.rank)
    check_model(dataset, model)
    chosen = settings.build(algorithm.Settings, spec.settings, algorithm.label)
    if algorithm.check is not None:
        algorithm.check(Problem(dataset, model, model_settings, spec.rank), chosen)
    return algorithm, chosen


def _for_size(algorithm: AnyAlgorithm, dataset: Dataset) -> AnyAlgorithm:
    """The algorithm, in its version for blocks if X is in blocks."""
    if dataset.whole is None:
        return algorithm
    if algorithm.on_blocks is None:
        able = [one.label for one in registry.ALGORITHMS.values() if one.on_blocks is not None]
        raise SettingsError(
            f"{algorithm.label} needs all of X in memory, and {dataset.name!r} is read in blocks; "
            f"choose {listed(able, 'or')}, or make a smaller data set of some observations."
        )
    return replace(algorithm, **vars(algorithm.on_blocks))


def make_plan(dataset: Dataset, spec: RunSpec, rooms: Sequence[Room] = ()) -> Plan:
    """Validate a spec and prepare the shared problem; ``rooms`` as in check_memory.

    Raises
    ------
    BNMFError
        When something does not fit.
    """
    algorithm, chosen = check(dataset, spec)
    check_memory(dataset, spec, rooms)
    seen = dataset
    if spec.holdout:
        train, held = split(dataset, spec.holdout)
        seen = dataset.columns(train)
        if dataset.whole is not None:
            seen = replace(seen, whole=dataset.whole.without(train, held))
    model = registry.model(spec.model)
    model_settings: object = settings.build(model.Settings, spec.model_settings, model.label)
    with one_blas_thread():
        problem = Problem.prepare(seen, model, model_settings, spec.rank)
    # Limit the memory of blocks for large data; results stay the same.
    most = largest_block(seen, spec.rank)
    chosen = replace(chosen, block=most) if getattr(chosen, "block", 0) > most else chosen
    shards, begin = [], 0
    for index, size in enumerate(algorithm.shard_sizes(chosen, spec.particles)):
        shards.append(Shard(index, begin, size, spec.seed))
        begin += size
    return Plan(spec, algorithm, chosen, problem, tuple(shards))


def as_begun(plan: Plan, starts: Sequence[int]) -> Plan:
    """Replace the shards of a plan by those of a run that was begun before."""
    ends = [*starts[1:], plan.spec.particles]
    shards = tuple(
        Shard(index, start, end - start, plan.spec.seed)
        for index, (start, end) in enumerate(zip(starts, ends, strict=True))
    )
    return replace(plan, shards=shards)


def describe(plan: Plan) -> RunInfo:
    """Metadata of a run: all settings with their values, and the data."""
    return {
        "version": VERSION,
        "dataset": plan.problem.dataset.name,
        "algorithm_label": plan.algorithm.label,
        "settings": settings.values_of(plan.settings),
        "model_settings": settings.values_of(plan.problem.model_settings),
    }
