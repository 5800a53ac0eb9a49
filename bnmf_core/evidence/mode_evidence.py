"""The posterior mass of modes: each annealed from its own neighbourhood.

From each factorization a population goes from truncated normals around it to the posterior, see
:mod:`bnmf_core.samplers.gibbs_path`; the ratio of totals is the evidence of the region that it
reaches. Regions of different starts may overlap, so each start answers for its own part only: what
of its population a solver takes back to it rather than to another start, its components in the
start's order. These parts share the posterior out among the starts. A start that its population
leaves is no mode of the posterior and has no mass; two starts that end in each other are one mode.
Every mode has the same R! relabellings, so the log evidence of all of them is log ΣZ_k + log R!.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor

import numpy as np
import pandas as pd

from bnmf_core import registry
from bnmf_core.compare.distances import find_distance
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import RunError, SettingsError
from bnmf_core.core.particles import Particles
from bnmf_core.core.plain import Value
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import build
from bnmf_core.evidence.annealing import Stopped, never
from bnmf_core.evidence.paths import why_not
from bnmf_core.evidence.weighing import Start, Weighing, shares
from bnmf_core.numerics.tasks import Tasks
from bnmf_core.posterior.places import problem_of

# A mode this many nats below the best has no mass that could be seen: its evidence is not computed
# again with more steps; nor, when a quick look puts it so far below, with more particles.
OUT_OF_REACH, FAR_OUT_OF_REACH = 30.0, 150.0
# Particles of a population, and how many numbers they draw in a sweep between these limits.
FEWEST, MOST, NUMBERS = 32, 256, 16_000
# Number of particles of a first estimate.
QUICK = 8


class NoModeError(RunError):
    """None of the factorizations stands for a mode of the posterior."""


def mode_evidence(
    dataset: Dataset,
    factorizations: Particles,
    *,
    rng: np.random.Generator,
    model: str | None = None,
    model_settings: Mapping[str, Value] | None = None,
    particles: int | None = None,
    repeats: int = 2,
    most_repeats: int = 2,
    likelihood_power: float = 1.0,
    check: bool = True,
    metric: str = "max_angle",
    solve: bool = True,
    executor: Executor | None = None,
    on_progress: Callable[[float], None] | None = None,
    stopped: Stopped = never,
) -> pd.DataFrame:
    """The evidence and the posterior mass of the modes that factorizations stand for.

    Parameters
    ----------
    dataset : X (D, N) that was factorized.
    factorizations : one converged factorization for each mode.
    model, model_settings : under which the modes are weighed; None: those of the run.
    particles : how many go from each start to the posterior; None: 32 where there are many numbers
        to draw, up to 256 where there are few. repeats : how often, 2 or more; their
        scatter is the error. most_repeats : how often at most where errors leave open which mode
        has the most mass; each time as many again are made.
    likelihood_power : 1 takes the noise model at its word; at 0.1 ten entries of X
        count as one (coarsened posterior, Miller & Dunson 2019).
    check : whether modes that may have mass are annealed once more, with twice the steps.
    metric : the distance between draws and starts.
    solve : whether a draw belongs to the start that a solver reaches from it, which takes Gaussian
        noise and the largest angle; otherwise it belongs to the nearest start. The total evidence
        is the same.
    executor : where populations are annealed, as of ``open_executor``; None: threads here.

    Returns
    -------
    A row per factorization: ``factorization`` (its id), ``log_evidence`` of its own part of the
    posterior, nats (−∞: nothing stayed), its ``error`` (one standard error, nats), ``mass`` with
    ``mass_low`` and ``mass_high`` (90 % of the masses that these errors allow), ``stays`` (the
    share of its population with an optimum within 15° of it), ``elsewhere`` (the share whose
    optimum is farther than that from all starts), ``ends_in`` (the row that most of it belongs
    to), ``joined`` (the first row of those that are one mode with it), ``keeps`` (whether most of
    its population stays in that mode; without it there is no mass), ``drift`` (from the
    factorization to the centre of its chains, in the distance's unit), ``doubled`` (the log
    evidence with twice as many steps; NaN where no mass is at stake) and ``settled`` (whether that
    is within the errors).

    Raises
    ------
    NoModeError
        When chains leave every start at once: none is a mode of the posterior.
    SettingsError
        When modes cannot be weighed under the model, or a number makes no sense.
    DataError
        When the factorizations cannot be of these data.
    Cancelled
        When ``stopped()`` returned True.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core import RunSpec, find_modes, distances, laurberg, mode_evidence, run
    >>> data = laurberg("two")
    >>> spec = RunSpec("random_restarts", rank=3, particles=10, model_settings={"sigma": 0.05})
    >>> restarts = run(data, spec)
    >>> modes = find_modes(distances(restarts), threshold=10.0)
    >>> found = mode_evidence(
    ...     data, restarts.subset(modes.representative), rng=np.random.default_rng(0)
    ... )
    >>> bool(abs(found["mass"].sum() - 1) < 1e-9)
    True
    """
    problem = _problem(dataset, factorizations, model, model_settings, likelihood_power)
    count = particles_for(problem) if particles is None else particles
    if not (count >= 2 and repeats >= 2 and 0.0 < likelihood_power <= 1.0):
        raise SettingsError(
            f"{count} particles, {repeats} repeats and a likelihood power of {likelihood_power:g} "
            "were asked for; at least 2 of each and a power above 0, at most 1, are needed."
        )
    A, W = np.asarray(factorizations.A), np.asarray(factorizations.W)
    # Of every start: a look around, a quick look, repeats that look around, twice the steps of one.
    expected = A.shape[0] * (3 + 2 * repeats)
    with Tasks(executor, stopped, on_progress, expected) as tasks:
        weighing = Weighing(
            problem, A, W, likelihood_power, find_distance(metric), tasks, rng, solve
        )
        chosen = weighing.staying
        if chosen.size > 1:
            weighing.anneal(chosen, QUICK, repeats, quick=True)
            chosen = weighing.within(FAR_OUT_OF_REACH)
        weighing.anneal(chosen, count, repeats)
        weighing.conclude()
        while 2 * repeats <= most_repeats and (undecided := weighing.undecided()).size:
            weighing.anneal(undecided, count, repeats, more=True)
            weighing.conclude()
            repeats *= 2
        if check:
            weighing.double(weighing.within(OUT_OF_REACH), count)
        weighing.conclude()
    return _table(weighing.starts, np.asarray(factorizations.ids), rng)


def particles_for(problem: Problem) -> int:
    """How many particles go from each start: more where a sweep costs little."""
    numbers = problem.rank * (problem.dataset.D + problem.dataset.N)
    return int(np.clip(NUMBERS // numbers, FEWEST, MOST))


def _problem(
    dataset: Dataset,
    factorizations: Particles,
    model: str | None,
    model_settings: Mapping[str, Value] | None,
    likelihood_power: float,
) -> Problem:
    if model is None and model_settings is None:
        problem = problem_of(factorizations, dataset)
    else:
        spec = factorizations.spec
        chosen = registry.model(spec.model if model is None else model)
        values: object = build(chosen.Settings, model_settings or {}, chosen.label)
        problem = Problem.prepare(dataset, chosen, values, factorizations.R)
    reason = why_not(problem.model, problem.model_settings, likelihood_power)
    if reason:
        raise SettingsError(reason)
    return problem


def _table(starts: Sequence[Start], ids: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    """One row per start, with masses and the intervals that all errors leave them."""
    evidence = np.array([start.log_evidence for start in starts])
    error = np.array([start.error for start in starts])
    if not np.isfinite(evidence).any():
        raise NoModeError(
            "No chain stayed at any of these factorizations, so none of them stands for a mode of "
            "the posterior; weigh factorizations that have converged, or more of them."
        )
    rows = pd.DataFrame([start.row(k) for k, start in enumerate(starts)])
    mass, low, high = np.full((3, evidence.size), np.nan)
    if rows["keeps"].any():
        mass, low, high = shares(np.where(rows["keeps"], evidence, -np.inf), error, rng)
    rows.insert(0, "factorization", ids)
    return rows.assign(mass=mass, mass_low=low, mass_high=high)
