"""The posterior mass of modes: each annealed from its own neighbourhood.

From each factorization a population goes from truncated normals around it to the posterior, see
:mod:`bnmf_core.evidence.gibbs_path`; the ratio of totals is the evidence of the region that it
reaches. Regions of different starts may overlap, so each start answers for its own part only: what
of its population ends nearer to it than to any other start, its components in the start's order,
where a start that chains leave at once does not count.
These parts share the posterior out among the starts, and their masses add up. Every mode has the
same R! relabellings, so the log evidence of all of them is log ΣZ_k + log R!.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import special, stats

from bnmf_core import registry
from bnmf_core.compare.alignment import matching
from bnmf_core.compare.distances import find_distance
from bnmf_core.compare.distances.pairwise import Distance, cross
from bnmf_core.evidence.annealing import Annealed, Stopped, anneal, halved, never
from bnmf_core.evidence.gibbs_path import Neighbourhood
from bnmf_core.evidence.paths import posterior_of, why_not
from bnmf_core.evidence.tasks import Tasks
from bnmf_core.nouns.dataset import Dataset
from bnmf_core.nouns.errors import RunError, SettingsError
from bnmf_core.nouns.particles import Particles
from bnmf_core.nouns.plain import Value
from bnmf_core.nouns.problem import Problem
from bnmf_core.nouns.settings import build
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.posterior.places import problem_of

# A mode this many nats below the best has no mass that could be seen; its evidence is not
# computed a second time with more steps.
OUT_OF_REACH = 30.0
# Draws of the masses that their intervals come from, and the part of them inside.
DRAWS, INSIDE = 4000, 0.9
# Particles of a population, and how many numbers they draw in a sweep between these limits.
FEWEST, MOST, NUMBERS = 32, 512, 60_000


@dataclass(frozen=True, eq=False)
class _Weighed:
    """What is known of one start.

    drifts : (K,) from the centre of its chains to every start, in the distance's unit.
    evidences : log evidence of its own part, one for each population; none where chains left it.
    floor : variance of one of them that remains when all goes well.
    nearest : (K,) share of its populations that ends nearest to each start.
    powers : the steps of the first population. doubled : what twice the steps gave, or NaN.
    """

    drifts: np.ndarray
    evidences: tuple[float, ...] = ()
    floor: float = 0.0
    nearest: np.ndarray | None = None
    powers: np.ndarray | None = None
    doubled: float = np.nan

    @property
    def log_evidence(self) -> float:
        """Of its own part: the logarithm of the mean of the evidences."""
        if not self.evidences:
            return -np.inf
        return float(special.logsumexp(self.evidences) - np.log(len(self.evidences)))

    @property
    def error(self) -> float:
        """One standard error: from the scatter, and no less than the best that can be.

        Few repeats tell little of their scatter: Student's t for one standard deviation (68.3 %).
        """
        count = len(self.evidences)
        if not count or not np.isfinite(self.evidences).all():
            return np.nan
        student = stats.t.ppf(stats.norm.cdf(1.0), count - 1)
        scatter = student * np.std(self.evidences, ddof=1) / np.sqrt(count)
        return float(max(scatter, np.sqrt(self.floor / count)))

    @property
    def settled(self) -> bool:
        """Whether twice the steps gave the same, within two standard errors of the difference."""
        if np.isnan(self.doubled):
            return True
        first = replace(self, evidences=self.evidences[:-1])
        # The error of one population is √n times that of the mean of n.
        allowed = 2.0 * first.error * np.sqrt(1.0 + len(first.evidences))
        return bool(abs(self.doubled - first.log_evidence) <= allowed)

    def again(self, doubled: float) -> "_Weighed":
        """With what twice the steps gave as one more population."""
        return replace(self, evidences=(*self.evidences, doubled), doubled=doubled)

    def row(self, k: int) -> dict[str, object]:
        """What the table says of it, the k-th start."""
        # Of chains that left, all that is known is where they are.
        at_once = np.eye(self.drifts.size)[self.drifts.argmin()]
        nearest = at_once if self.nearest is None else self.nearest
        return {
            "log_evidence": self.log_evidence,
            "error": self.error,
            "stays": nearest[k],
            "ends_in": int(nearest.argmax()),
            "drift": self.drifts[k],
            "doubled": self.doubled,
            "settled": self.settled,
        }


@dataclass(frozen=True, eq=False)
class _Starts:
    """A (K, D, R), W (K, R, N) of the starts, and which of them keep their chains.

    Only those have a part of the posterior: what lies near one that chains leave belongs to the
    part of the nearest that keeps them.
    """

    A: np.ndarray
    W: np.ndarray
    distance: Distance
    staying: np.ndarray

    def nearest(self, A: np.ndarray, W: np.ndarray) -> np.ndarray:
        """Which of those each factorization (m, …) is nearest to: (m,)."""
        others = self.A[self.staying], self.W[self.staying]
        return self.staying[cross(A, W, *others, self.distance).argmin(axis=1)]


def mode_evidence(
    dataset: Dataset,
    factorizations: Particles,
    *,
    rng: np.random.Generator,
    model: str | None = None,
    model_settings: Mapping[str, Value] | None = None,
    particles: int | None = None,
    repeats: int = 2,
    belief: float = 1.0,
    metric: str = "max_angle",
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
        to draw, up to 512 where there are few. repeats : how often, 2 or more; their
        scatter is the error.
    belief : power of the likelihood. 1 takes the noise model at its word; at 0.1 ten entries of X
        count as one (coarsened posterior, Miller & Dunson 2019).
    metric : the distance by which a draw belongs to the nearest start.
    executor : where populations are annealed, as of ``open_executor``; None: threads here.

    Returns
    -------
    A row per factorization: ``factorization`` (its id), ``log_evidence`` of its own part of the
    posterior, nats (−∞: nothing stayed), its ``error`` (one standard error, nats), ``mass`` with
    ``mass_low`` and ``mass_high`` (90 % of the masses that these errors allow), ``stays`` (the
    share of its population that ends nearest to it), ``ends_in`` (the row that most of it ends
    nearest to), ``drift`` (from the factorization to the centre of its chains, in the distance's
    unit), ``doubled`` (the log evidence with twice as many steps; NaN where no mass is at stake)
    and ``settled`` (whether that is within the errors).

    Raises
    ------
    RunError
        When no start is a mode of the posterior.
    SettingsError
        When modes cannot be weighed under the model, or a number makes no sense.
    DataError
        When the factorizations cannot be of these data.
    Cancelled
        When ``stopped()`` said so.

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
    problem = _problem(dataset, factorizations, model, model_settings)
    count = particles_for(problem) if particles is None else particles
    if not (count >= 2 and repeats >= 2 and 0.0 < belief <= 1.0):
        raise SettingsError(
            f"{count} particles, {repeats} repeats and a belief of {belief:g} were asked for; "
            "at least 2 of each and a belief above 0, at most 1, are needed."
        )
    A, W = problem.model.scale(np.asarray(factorizations.A), np.asarray(factorizations.W))
    K, distance = A.shape[0], find_distance(metric)
    with Tasks(executor, stopped, on_progress, expected=K * (2 + repeats)) as tasks:
        found = tasks.make(
            _look_around,
            [(problem, A[k], W[k], belief, generator) for k, generator in enumerate(rng.spawn(K))],
        )
        weighed = [_Weighed(_drifts(A, W, around, distance)) for around in found]
        staying = [k for k in range(K) if weighed[k].drifts.argmin() == k]
        starts = _Starts(A, W, distance, np.array(staying))
        made = tasks.make(
            _anneal,
            [
                (problem, found[k], belief, count, None, generator)
                for k in staying
                for generator in rng.spawn(repeats)
            ],
        )
        for i, k in enumerate(staying):
            own = made[i * repeats : (i + 1) * repeats]
            weighed[k] = _weigh(weighed[k].drifts, own, k, starts)
        best = max(start.log_evidence for start in weighed)
        at_stake = [k for k in staying if weighed[k].log_evidence > best - OUT_OF_REACH]
        again = tasks.make(
            _anneal,
            [
                (problem, found[k], belief, count, _halved(weighed[k]), generator)
                for k, generator in zip(at_stake, rng.spawn(len(at_stake)), strict=True)
            ],
        )
    for k, annealed in zip(at_stake, again, strict=True):
        once = _weigh(weighed[k].drifts, [annealed], k, starts)
        weighed[k] = weighed[k].again(once.evidences[0])
    return _table(weighed, np.asarray(factorizations.ids), rng)


def particles_for(problem: Problem) -> int:
    """How many particles go from each start: more where a sweep costs little."""
    numbers = problem.rank * (problem.dataset.D + problem.dataset.N)
    return int(np.clip(NUMBERS // numbers, FEWEST, MOST))


def _problem(
    dataset: Dataset,
    factorizations: Particles,
    model: str | None,
    model_settings: Mapping[str, Value] | None,
) -> Problem:
    if model is None and model_settings is None:
        problem = problem_of(factorizations, dataset)
    else:
        spec = factorizations.spec
        chosen = registry.model(spec.model if model is None else model)
        values: object = build(chosen.Settings, model_settings or {}, chosen.label)
        problem = Problem.prepare(dataset, chosen, values, factorizations.R)
    reason = why_not(problem.model, problem.model_settings)
    if reason:
        raise SettingsError(reason)
    return problem


def _look_around(
    problem: Problem,
    A: np.ndarray,
    W: np.ndarray,
    belief: float,
    rng: np.random.Generator,
    stopped: Stopped = never,
) -> Neighbourhood:
    with one_blas_thread():
        return posterior_of(problem, belief).around(A, W, rng, stopped)


def _anneal(
    problem: Problem,
    around: Neighbourhood,
    belief: float,
    count: int,
    powers: np.ndarray | None,
    rng: np.random.Generator,
    stopped: Stopped = never,
) -> Annealed:
    with one_blas_thread():
        return anneal(posterior_of(problem, belief).path(around), count, rng, powers, stopped)


def _halved(start: _Weighed) -> np.ndarray:
    assert start.powers is not None
    return halved(start.powers)


def _drifts(A: np.ndarray, W: np.ndarray, around: Neighbourhood, distance: Distance) -> np.ndarray:
    """How far the centre of the chains is from every start: (K,)."""
    centre_A, centre_W = around.centre
    return cross(centre_A.T[None], centre_W[None], A, W, distance)[0]


def _weigh(
    drifts: np.ndarray,
    made: Sequence[Annealed],
    k: int,
    starts: _Starts,
) -> _Weighed:
    """What the populations found that set out at start k."""
    shares, parts = [], []
    for population in made:
        nearest = starts.nearest(population.A, population.W)
        shares.append(np.bincount(nearest, population.weights, minlength=drifts.size))
        # Relabelled, a draw belongs to another one of the R! copies of the mode.
        labelled = (matching(population.A, starts.A[k]) == np.arange(starts.A.shape[2])).all(axis=1)
        parts.append(population.weights[(nearest == k) & labelled].sum())
    with np.errstate(divide="ignore"):
        own = np.log(parts)
    return _Weighed(
        drifts,
        evidences=tuple(own + [population.log_evidence for population in made]),
        floor=float(np.mean([population.variance for population in made])),
        nearest=np.mean(shares, axis=0),
        powers=made[0].powers,
    )


def _table(weighed: Sequence[_Weighed], ids: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    """One row per start, with masses and the intervals that all errors leave them."""
    evidence = np.array([start.log_evidence for start in weighed])
    error = np.nan_to_num([start.error for start in weighed])
    if not np.isfinite(evidence).any():
        raise RunError(
            "No chain stayed at any of these factorizations, so none of them stands for a mode of "
            "the posterior; weigh factorizations that have converged, or more of them."
        )
    drawn = special.softmax(evidence + error * rng.standard_normal((DRAWS, error.size)), axis=1)
    tails = (1 - INSIDE) / 2
    low, high = np.quantile(drawn, [tails, 1 - tails], axis=0)
    rows = [start.row(k) for k, start in enumerate(weighed)]
    masses = {"mass": special.softmax(evidence), "mass_low": low, "mass_high": high}
    return pd.DataFrame({"factorization": ids}).join(pd.DataFrame(rows)).assign(**masses)
