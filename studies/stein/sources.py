"""Particles of one algorithm, and their numbers over time (paper 3, appendix E).

- Explorers that solve from starts: the first M of one run, after the sum of their times.
- Samplers: one chain, thinned to M at several points; after the time since its start.
- Descents: M particles that see each other, once for each number of iterations; after the time of
  the whole descent. Each has its own schedule of steps, so that each has come to rest.

One thread makes everything, so times do not depend on how many cores there are.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from bnmf_core import registry
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.particles import Particles
from bnmf_core.core.spec import Progress, RunSpec
from bnmf_core.explorers.from_starts import SolverSettings
from bnmf_core.explorers.transforms import SETS_IN_PAPER, Recipe, learn
from bnmf_core.numerics.linalg import evenly_spaced
from bnmf_core.runs.engine import run
from studies.stein.problems import Column
from studies.words import words

PLAN = words("stein", "plan")
SWEEPS: int = PLAN["sweeps"]
BRIEF: Mapping[str, Any] = PLAN["brief"]
# Fractions of a chain's draws at its points in time.
PARTS = (0.125, 0.25, 0.5, 1.0)


@dataclass(frozen=True)
class Point:
    """Indices (M,) of particles of a source, and the seconds when they were complete.

    ``last`` : whether there is no later point of as many particles.
    """

    M: int
    seconds: float
    index: np.ndarray
    last: bool


@dataclass(frozen=True, eq=False)
class Source:
    """Particles, their points in time, and the number of steps.

    ``steps`` : sweeps, trajectories or iterations. ``learning`` : the part of every point's seconds
    in which transforms were learned, a cost that all data sets share.
    """

    particles: Particles
    points: tuple[Point, ...]
    steps: int
    learning: float = 0.0


class OneByOne(ThreadPoolExecutor):
    """Makes one step of one shard at a time, a shard to its end before the next one."""

    at_once = 1

    def __init__(self) -> None:
        super().__init__(1)


class Deadline:
    """A run's cancel event: set when its time is over, and enough particles are made."""

    def __init__(self, seconds: float, enough: int) -> None:
        self.end, self.enough, self.made = time.perf_counter() + seconds, enough, 0

    def note(self, progress: Progress) -> None:
        """Progress callback of the run."""
        self.made = progress.done

    def is_set(self) -> bool:
        """Whether the run should stop."""
        return self.made >= self.enough and time.perf_counter() > self.end


def length(column: Column, iterations: int) -> int | None:
    """Planned number of sweeps, trajectories or iterations; None for solvers."""
    if kind(column.algorithm) == "restarts":
        return None
    if kind(column.algorithm) == "chain":
        return SWEEPS + int(column.settings["warm_up"])
    return iterations


def kind(algorithm_key: str) -> str:
    """How an algorithm is timed: "chain", "restarts" or "descent"."""
    algorithm = registry.algorithm(algorithm_key)
    if algorithm.family == "sampler":
        return "chain"
    return "restarts" if issubclass(algorithm.Settings, SolverSettings) else "descent"


def sources(
    dataset: Dataset,
    spec: RunSpec,
    sizes: Sequence[int],
    ladder: Sequence[int],
    seconds: float,
) -> list[Source]:
    """Make the particles of one algorithm.

    Parameters
    ----------
    spec : algorithm and model with all their settings, rank, seed, hold-out; how many particles and
        iterations is decided here.
    sizes : the numbers of particles M, ascending. ladder : the iterations of the descents.
    seconds : a chain of enough draws is stopped after this time. Of a ladder a rung is left out
        when all of it would take longer, except for the first.

    Raises
    ------
    BNMFError
        When the algorithm cannot be run on these data, or made nothing.
    """
    _warm_up(dataset, json.dumps(replace(spec, particles=2, seed=0).to_dict()))
    if kind(spec.algorithm) == "chain":
        return [_chain(dataset, spec, sizes, seconds)]
    if kind(spec.algorithm) == "restarts":
        return [_restarts(dataset, spec, sizes)]
    return [s for M in sizes for s in _descents(dataset, spec, M, ladder, seconds)]


def _restarts(dataset: Dataset, spec: RunSpec, sizes: Sequence[int]) -> Source:
    settings = spec.settings | {"block": min(sizes)}
    particles = _made(dataset, replace(spec, particles=max(sizes), settings=settings))
    before = _transfer(spec.algorithm)
    points = tuple(
        Point(M, before + float(particles.seconds[:M].max()), np.arange(M), True) for M in sizes
    )
    return Source(particles, points, int(particles.diagnostics["iterations"].max()), before)


def _chain(dataset: Dataset, spec: RunSpec, sizes: Sequence[int], seconds: float) -> Source:
    settings = spec.settings
    spec = replace(spec, particles=max(SWEEPS // settings["thinning"], *sizes))
    particles = _made(dataset, spec, Deadline(seconds, max(sizes)))
    counts = sorted({max(1, round(part * particles.M)) for part in PARTS})
    points = [
        Point(M, float(particles.seconds[n - 1]), evenly_spaced(n, M), n == counts[-1])
        for M in sizes
        for n in counts
        if n >= M
    ]
    # What no point looks at need not be kept.
    used = np.unique(np.concatenate([[0], *(point.index for point in points)])).astype(int)
    points = [replace(point, index=np.searchsorted(used, point.index)) for point in points]
    steps = settings["warm_up"] + settings["thinning"] * particles.M
    return Source(particles.subset(used), tuple(points), steps)


def _descents(
    dataset: Dataset,
    spec: RunSpec,
    M: int,
    ladder: Sequence[int],
    seconds: float,
) -> Iterator[Source]:
    spent, took, made = 0.0, 0.0, []
    before = _transfer(spec.algorithm)
    for iterations in ladder:
        if made and spent + took * iterations / made[-1].steps > seconds:
            break
        settings = spec.settings | {"iterations": iterations, "together": M}
        particles = _made(dataset, replace(spec, particles=M, settings=settings))
        took = float(particles.seconds.max())
        spent += took
        point = Point(M, before + took, np.arange(M), False)
        made.append(Source(particles, (point,), iterations, before))
    for source in made:
        last = replace(source.points[0], last=source is made[-1])
        yield replace(source, points=(last,))


def _made(dataset: Dataset, spec: RunSpec, cancel: Deadline | None = None) -> Particles:
    with OneByOne() as executor:
        note = None if cancel is None else cancel.note
        return run(dataset, spec, on_progress=note, cancel=cancel, executor=executor)


def _transfer(algorithm: str) -> float:
    """Seconds to learn the transforms, which appendix E counts for every data set."""
    transfers = "transfer_rank" in registry.algorithm(algorithm).Settings.__dataclass_fields__
    return learning() if transfers else 0.0


@lru_cache(maxsize=2)
def learning(clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds, by this clock, to learn as many sets of transforms as the paper."""
    learn(Recipe(), 1)  # compiles what it calls
    began = clock()
    learn(Recipe(), SETS_IN_PAPER)
    return clock() - began


@lru_cache(maxsize=64)
def _warm_up(dataset: Dataset, spec: str) -> None:
    """Run an algorithm briefly, so that later times exclude the loading of compiled code."""
    whole = RunSpec(**json.loads(spec))
    known = registry.algorithm(whole.algorithm).Settings.__dataclass_fields__
    brief = {name: value for name, value in BRIEF.items() if name in known}
    _made(dataset, replace(whole, settings=whole.settings | brief))
