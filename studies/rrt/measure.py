"""One cell of paper 2's comparison: a method on a data set under one noise, measured."""

from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from bnmf_core import registry
from bnmf_core.compare.coverage import covering_numbers, largest_distance, mean_distance
from bnmf_core.compare.distances import distances
from bnmf_core.compare.projection import simplex_projection
from bnmf_core.core import settings
from bnmf_core.core.algorithm import Shard
from bnmf_core.core.dataset import Dataset, Truth
from bnmf_core.core.errors import BNMFError, SettingsError
from bnmf_core.core.problem import Problem
from bnmf_core.core.spec import USUAL_MODEL
from bnmf_core.likelihoods import MODELS, gaussian, uniform
from bnmf_core.likelihoods.reference import published_noise, reference_factors
from bnmf_core.numerics.deviations import largest_deviations
from bnmf_core.numerics.residuals import squared_errors
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.rrt import nvi
from bnmf_core.rrt.mixture import Mixture, variance_alone
from bnmf_core.rrt.tree import Starts, State
from bnmf_core.solvers import hals
from bnmf_core.solvers.solution import Stopping, random_start, solve_with
from studies.rrt.problems import (
    LAURBERG_NOISE,
    METHODS,
    NOISES,
    PROBLEMS,
    SCALES,
    Method,
    Noise,
    RRTPlan,
    RRTProblem,
)
from studies.rrt.stream import (
    COLLAPSED,
    GONE,
    Streamed,
    factors_of,
    fitted,
    proposals,
    streamed,
)
from studies.runner import Cell

RADII = np.geomspace(1e-5, 90.0, 100)
# Compared draws of a mixture, and compared components, the heaviest ones.
DRAWS, MOST_COMPONENTS = 200, 300
# Most iterations of the solver for an NMF.
MOST_ITERATIONS = 10_000
# Digits of stored curves and pictures; an ELBO of 1e7 nats is stored in full.
DIGITS = 6


@dataclass(frozen=True, eq=False)
class Ground:
    """Shared inputs of all methods on a data set.

    Attributes
    ----------
    dataset : X. sigma : of Gaussian noise, from the data. epsilon : largest deviation of ten NMFs.
    feasible : factorizations within ε, the nearest to X first; where one is known, that one.
    """

    dataset: Dataset
    sigma: float
    epsilon: float
    feasible: tuple[Truth, ...]


@lru_cache(maxsize=1)
def ground(key: str, data: Path | None, seed: int) -> Ground:
    """The data set of this problem, the noise found in it, and feasible factorizations."""
    problem = PROBLEMS[key]
    dataset = problem.make(data, seed)
    with one_blas_thread():
        sigma = published_noise(dataset, problem.rank)
        epsilon = uniform.resolve(dataset, problem.rank, uniform.Settings()).epsilon
        if problem.known:
            return Ground(dataset, sigma, epsilon, dataset.truth[:1])
        A, W = reference_factors(dataset, problem.rank, uniform.REFERENCES)
        order = np.argsort(largest_deviations(dataset.X, A, W, dataset.mask))
    found = tuple(Truth(f"reference NMF {i + 1}", A[i], W[i]) for i in order)
    return Ground(dataset, sigma, epsilon, found)


def model_settings(shared: Ground, noise: Noise) -> Any:
    """The model's settings under this noise."""
    if noise.model == "gaussian":
        return gaussian.Settings(shared.sigma * np.sqrt(noise.times), noise.rate)
    epsilon = noise.of_noise * LAURBERG_NOISE or noise.times * shared.epsilon
    return uniform.Settings(epsilon, rate=noise.rate)


def fixed_variance(
    problem: Problem, feasible: tuple[Truth, ...], source: str = "threshold"
) -> float | None:
    """σ² of every component under the uniform likelihood, None under another one.

    That of a single Gaussian where the noise is Gaussian at the flattest of the feasible
    factorizations, as the bound of a flat likelihood has no best σ²; ``source``: see ``Method``.
    """
    if problem.model.offending is None:
        return None
    A, W = (np.stack(factors) for factors in zip(*((t.A, t.W) for t in feasible), strict=True))
    return {"threshold": variance_alone, "fit": variance_of_fit}[source](problem, A, W)


def variance_of_fit(problem: Problem, A: np.ndarray, W: np.ndarray) -> float:
    """σ² of a component alone under Gaussian noise as large as the best factorization's residual.

    Paper 2, §4.3 takes σ² from NVI with M = 1, and does not say under which likelihood; under the
    uniform one the bound has no maximum. Read so that σ² is found in the data, whatever ε is.

    Raises
    ------
    SettingsError
        When a factorization is exact, so that no noise is left.
    """
    data = problem.dataset
    squared = squared_errors(data.X, A, W, data.mask).min()
    if not squared > 0:
        raise SettingsError("A factorization is exact, so no noise level can be found in its fit.")
    noise = np.sqrt(squared / data.observed)
    usual = MODELS[USUAL_MODEL]
    settings = usual.Settings(sigma=noise, rate=problem.model_settings.rate)
    alike = replace(problem, model=usual, model_settings=settings)
    return variance_alone(alike, A, W)


def measured(
    key: str, noise_key: str, method_key: str, repetition: int, plan: RRTPlan, data: Path | None
) -> Cell:
    """Columns → quantities, their covering curves, and why the method ended or was left out."""
    known, noise, method = PROBLEMS[key], NOISES[noise_key], METHODS[method_key]
    shared = ground(key, data, plan.seed)
    chosen = model_settings(shared, noise)
    problem = Problem(shared.dataset, registry.model(noise.model), chosen, known.rank)
    cell: Cell = {
        "columns": {},
        "curves": {},
        "ended": "",
        "left_out": "",
        "picture": None,
        "size": [shared.dataset.D, shared.dataset.N],
        "noise": {name: float(value) for name, value in asdict(chosen).items()},
    }
    try:
        seconds = noise.limit(method_key, plan)
        found = _found(known, problem, method, repetition, shared, plan, seconds)
    except BNMFError as error:
        return cell | {"left_out": str(error)}
    cell["ended"] = found.ended
    rng = np.random.default_rng([plan.seed, repetition])
    for i, mixture in enumerate(found.mixtures):
        column = method.key + SCALES[method.scales[i]][0]
        with one_blas_thread():
            cell["columns"][column], cell["curves"][column] = _numbers(problem, found, i, rng)
            if known.known and repetition == 0 and not i:
                cell["picture"] = _picture(problem, mixture)
    return cell


def _found(
    known: RRTProblem,
    problem: Problem,
    method: Method,
    repetition: int,
    shared: Ground,
    plan: RRTPlan,
    seconds: float,
) -> Streamed:
    shard = Shard(0, 0, method.particles, plan.seed + 1000 * (repetition + 1))
    variance = fixed_variance(problem, shared.feasible, method.variance)
    algorithm = registry.algorithm(method.algorithm)
    chosen = dict(method.settings)
    if method.algorithm == "nvi":
        if variance is not None:
            chosen |= {"per_step": 1}  # each iteration looks at every entry of X many times
        built = settings.build(algorithm.Settings, chosen, algorithm.label)
        begin = _all_at_first(problem, shared, shard) if known.known else None
        return fitted(problem, built, shard, variance, seconds, begin)
    planted = None
    if known.known or (variance is not None and method.algorithm == "hmc"):
        # The likelihood has no slope that leads to a feasible place: a chain begins at one.
        start = shared.feasible[repetition % len(shared.feasible)]
        problem, chosen = _from(problem, start), chosen | {"start": "known"}
    elif method.algorithm == "rrt":
        planted = partial(_planted, problem)
    else:
        first = random_start(problem.dataset, problem.rank, shard.particle_generator(0))
        A, W = converged(problem, *(F[None] for F in first))
        start = Truth("a converged NMF", A[0], W[0])
        problem, chosen = _from(problem, start), chosen | {"start": "known"}
    built = settings.build(algorithm.Settings, chosen, algorithm.label)
    batches = proposals(problem, algorithm, built, shard, planted)
    return streamed(problem, batches, method.scales, plan.tolerance, variance, seconds)


def converged(problem: Problem, A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The NMFs that starts A (M, D, R), W (M, R, N) lead to, each as far as the solver calls it
    converged."""
    stopping = Stopping(MOST_ITERATIONS, tolerance=None)
    with one_blas_thread():
        pairs = [
            solve_with(hals.SOLVER, problem, A[particle], W[particle], stopping)
            for particle in (slice(m, m + 1) for m in range(len(A)))
        ]
    A, W = (np.concatenate(factors) for factors in zip(*pairs, strict=True))
    return A, W


def _planted(problem: Problem, state: State) -> State:
    """The tree's first state, with starts that have converged."""
    A, W = converged(problem, state.starts.A, state.starts.W)
    return replace(state, starts=Starts(A, W, 0))


def _from(problem: Problem, start: Truth) -> Problem:
    """The problem with this as its only known factorization."""
    return replace(problem, dataset=replace(problem.dataset, truth=(start,)))


def _all_at_first(problem: Problem, shared: Ground, shard: Shard) -> nvi.State:
    """Components that begin at the first known factorization."""
    first = shared.feasible[0]
    A, W = (np.repeat(np.asarray(F, float)[None], shard.size, axis=0) for F in (first.A, first.W))
    return nvi.begun(problem, A, W, shard.generator())


def _numbers(
    problem: Problem, found: Streamed, i: int, rng: np.random.Generator
) -> tuple[dict[str, float], dict[str, list[int]]]:
    mixture, reasons = found.mixtures[i], found.reasons[i]
    heaviest = np.argsort(-mixture.weights, kind="stable")[:MOST_COMPONENTS]
    sets = {"components": mixture.centers[heaviest], "draws": mixture.draw(DRAWS, rng)}
    numbers = {
        "elbo": mixture.elbo,
        "entropy": mixture.entropy,
        "energy": mixture.energy,
        "components": mixture.M,
        "joined": found.joined[i],
        "proposals": found.proposed,
        "best": found.best,
        "seconds": found.seconds,
        "deviation": float(np.sqrt(mixture.variances @ mixture.weights)),
        "gain": reasons.get("gain", 0),
        "near": reasons.get("near", 0),
        "impossible": reasons.get("impossible", 0),
        "collapsed": reasons.get(GONE, 0),
    }
    if found.ended == COLLAPSED:
        numbers |= dict.fromkeys(("elbo", "entropy", "energy"), np.nan)
    curves = {}
    for name, points in sets.items():
        A, W = factors_of(points, problem.dataset.D, problem.rank)
        apart = distances(SimpleNamespace(A=A, W=W), "wad")
        numbers[f"wad_{name}_largest"] = largest_distance(apart)
        numbers[f"wad_{name}_mean"] = mean_distance(apart)
        curves[name] = covering_numbers(apart, RADII, "published").tolist()
    return {key: float(value) for key, value in numbers.items()}, curves


def _picture(problem: Problem, mixture: Mixture) -> dict[str, Any]:
    """Data, known bases and the components' bases in the plane of figures 1 to 3."""
    A, _ = factors_of(mixture.centers, problem.dataset.D, problem.rank)
    truths = problem.dataset.truth
    everything = np.concatenate([np.stack([truth.A for truth in truths]), A])
    data, bases = simplex_projection(problem.dataset.X, everything)
    data, bases = data.round(DIGITS).tolist(), bases.round(DIGITS).tolist()
    return {"data": data, "known": bases[: len(truths)], "bases": bases[len(truths) :]}
