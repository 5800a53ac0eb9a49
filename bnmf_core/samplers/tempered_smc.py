"""Sequential Monte Carlo from the prior to the posterior, through powers of the likelihood.

Populations of particles go from the prior (power β = 0) to the posterior (β = 1) through
π_β ∝ p(X | A, W)^β p(A, W) (Neal 2001; Del Moral, Doucet & Jasra 2006). At each rise of β a
particle's weight is p(X | A, W)^Δβ; Δβ is chosen so that a given part of the population stays
effective. The population is then resampled (systematically) and moved by kernels that leave π_β
invariant: Gibbs sweeps, exact at a power β with σ² → σ²/β, and a move along each component's scale.

The likelihood of counts to a power is none of counts. There the way starts from the prior times a
multinomial for the latent sources, in which all components have the same share, see
:mod:`bnmf_core.samplers.sources_path`; it ends at the same posterior, with the same evidence.

The product of the mean weights estimates the evidence p(X), without bias for a fixed ladder of β
and consistently for this one, which follows the population (Beskos and others 2016). Populations
are independent, each a shard; together they stand for the posterior when each counts by its own
estimate of the evidence, and the spread of these estimates is the measurable error. It is no
bound: a mode that hardly any population finds on its way down adds to the error only once one has,
so that populations that agree may all lie too low. Where dimensions are many, compare with the
evidence of modes that are known.
"""

from dataclasses import dataclass, replace

import numpy as np

from bnmf_core.core.algorithm import Algorithm, Batch, Needs, Shard, fitting
from bnmf_core.core.model import Capability, required
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting
from bnmf_core.numerics.linalg import evenly_spaced
from bnmf_core.numerics.populations import systematic
from bnmf_core.numerics.residuals import squared_errors
from bnmf_core.samplers import gibbs, scale_move, sources
from bnmf_core.samplers.chains import joined
from bnmf_core.samplers.sources_path import SourcesPath, around_prior
from bnmf_core.samplers.starting import check_conditionals, check_posterior, check_undispersed

# Number of bisections, on a log scale, for the next power.
HALVINGS = 60
# Typical number of tempering steps; for estimates of time only.
TYPICAL_RISES = 150


@dataclass(frozen=True)
class Settings:
    """Number and size of populations, and the pace of tempering."""

    populations: int = setting(
        4,
        "Populations",
        "Independent populations at least; their spread tells the error of the evidence.",
        minimum=2,
        maximum=256,
    )
    population: int = setting(
        100,
        "Particles in a population",
        "More find more modes and narrow the error of the evidence.",
        minimum=10,
        maximum=10_000,
    )
    sweeps: int = setting(
        4,
        "Sweeps per temperature",
        "Gibbs sweeps of every particle, each with a scale move, after each rise of the power.",
        minimum=1,
        maximum=1000,
    )
    effective: float = setting(
        0.8,
        "Effective part",
        "The power of the likelihood rises until the weights are worth this part of the "
        "population; more is slower and more exact.",
        minimum=0.1,
        maximum=0.99,
    )


@dataclass(frozen=True)
class State:
    """A population of n particles at one power of the likelihood.

    place : A (n, R, D), W (n, R, N), and of counts what a place on their path has besides. draws :
    number of requested particles. power : β. first : the first power above 0, 0 before. left :
    sweeps to do at this power. rises : of the power so far. log_evidence : of X to the power β, so
    far.
    """

    place: tuple[np.ndarray, ...]
    draws: int
    power: float = 0.0
    first: float = 0.0
    left: int = 0
    rises: int = 0
    log_evidence: float = 0.0


def init(problem: Problem, settings: Settings, shard: Shard, rng: np.random.Generator) -> State:
    """A population of draws from the prior."""
    if sources.serve(problem):
        return State(_path(problem).start(settings.population, rng).place, shard.size)
    pairs = [problem.model.prior(problem, rng) for _ in range(settings.population)]
    A, W = (np.stack(factors) for factors in zip(*pairs, strict=True))
    return State((np.ascontiguousarray(A.transpose(0, 2, 1)), W), shard.size)


def _path(problem: Problem) -> SourcesPath:
    return SourcesPath(problem, around_prior(problem))


def step(
    problem: Problem, state: State, settings: Settings, rng: np.random.Generator
) -> tuple[State, Batch]:
    """A bounded number of sweeps and rises; the population is handed over at the end of the last.

    Where fewer particles are requested than there are, evenly spaced ones: all count the
    same, as the last rise was followed by resampling.
    """
    for _ in range(fitting(settings.population * work_per_sweep(problem))):
        if state.left > 0:
            state = _moved(problem, state, rng)
        elif state.power < 1.0:
            state = _raised(problem, state, settings, rng)
        else:
            return state, _handed_over(state)
    return state, joined(problem, [])


def _moved(problem: Problem, state: State, rng: np.random.Generator) -> State:
    if sources.serve(problem):
        place = _path(problem).swept(state.place, state.power, rng)
        return replace(state, place=place, left=state.left - 1)
    variance = required(problem.model.conditionals)(problem.model_settings).noise_variance
    A, W = state.place
    A, W = gibbs.sweep(problem, A, W, rng, variance / state.power)
    A, W, _ = scale_move.move(problem, A, W, rng)
    return replace(state, place=(A, W), left=state.left - 1)


def _raised(problem: Problem, state: State, settings: Settings, rng: np.random.Generator) -> State:
    log_ratio = _log_ratio(problem, state.place)
    rise = next_rise(log_ratio, settings.effective, 1.0 - state.power)
    log_weights = rise * log_ratio
    top = log_weights.max()
    weights = np.exp(log_weights - top)
    chosen = systematic(weights, rng)
    power = min(state.power + rise, 1.0)
    return replace(
        state,
        place=tuple(part[chosen] for part in state.place),
        power=power,
        first=state.first or power,
        left=settings.sweeps,
        rises=state.rises + 1,
        log_evidence=state.log_evidence + float(top + np.log(weights.mean())),
    )


def _log_ratio(problem: Problem, place: tuple[np.ndarray, ...]) -> np.ndarray:
    """log p(X | A, W) with every constant (n,); of counts, with the term of their sources."""
    if sources.serve(problem):
        return _path(problem).population(place).log_ratio
    A, W = place
    variance = required(problem.model.conditionals)(problem.model_settings).noise_variance
    data = problem.dataset
    squared = squared_errors(data.X, A.transpose(0, 2, 1), W, data.mask)
    return -squared / (2 * variance) - 0.5 * data.observed * np.log(2 * np.pi * variance)


def next_rise(log_likelihood: np.ndarray, effective: float, most: float) -> float:
    """The largest rise of β up to ``most`` that leaves this part of the population effective.

    (Σw)²/Σw² of the weights w = exp(Δβ·log-likelihood) falls as Δβ grows (Del Moral and others
    2012), so that halving finds where it is ``effective`` times the population.
    """
    centred = log_likelihood - log_likelihood.max()

    def enough(rise: float) -> bool:
        w = np.exp(rise * centred)
        return bool(w.sum() ** 2 >= effective * w.size * (w**2).sum())

    if enough(most):
        return most
    # A rise this small leaves all weights equal to a thousandth.
    low, high = np.log(min(most, 1e-3 / -centred.min())), np.log(most)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if enough(np.exp(middle)) else (low, middle)
    return float(np.exp(low))


def _handed_over(state: State) -> Batch:
    A, W, *_ = state.place
    chosen = evenly_spaced(A.shape[0], state.draws)
    size = chosen.size
    return Batch(
        A[chosen].transpose(0, 2, 1),
        W[chosen],
        {"temperatures": np.full(size, state.rises)},
        log_weights=np.full(size, state.log_evidence - np.log(size)),
        log_evidence=state.log_evidence,
    )


def work_per_sweep(problem: Problem) -> float:
    """Multiply-adds of one particle's sweep; in a large population none has to be set out for."""
    data, R = problem.dataset, problem.rank
    return gibbs.work_per_sweep(problem) - 1e5 + 10.0 * (data.D + data.N) * R


def shard_sizes(settings: Settings, particles: int) -> list[int]:
    """One shard a population, as many as are needed for the particles and at least so many."""
    count = max(settings.populations, -(-particles // settings.population))
    each, rest = divmod(particles, min(count, particles))
    return [each + (k < rest) for k in range(min(count, particles))]


def fraction(state: State, settings: Settings) -> float:
    """Part of the way, by the logarithm of the power: rises multiply it by about the same."""
    if state.first == 0.0:
        return 0.0
    whole = -np.log(state.first / 2)
    return float(np.log(state.power / (state.first / 2)) / whole)


def work(problem: Problem, settings: Settings) -> float:
    """Multiply-adds per particle of a full population on a ladder of typical length."""
    return TYPICAL_RISES * settings.sweeps * work_per_sweep(problem)


def check(problem: Problem, settings: Settings) -> None:
    """Refuse a posterior that has no finite total, data of zeros, and counts with a dispersion."""
    check_posterior(problem, ALGORITHM.label)
    check_conditionals(problem, ALGORITHM.label)
    why = "its populations would not come near the posterior"
    check_undispersed(problem, ALGORITHM.label, why)


ALGORITHM = Algorithm(
    key="tempered_smc",
    label="Tempered SMC",
    family="sampler",
    Settings=Settings,
    State=State,
    init=init,
    step=step,
    shard_sizes=shard_sizes,
    work=work,
    fraction=fraction,
    check=check,
    needs=Needs.of(Capability.SWEEPS),
    color="#069D98",
    symbol="cross",
    summary="Move populations of prior draws to the posterior by tempering. Finds and weighs "
    "modes, and estimates the log evidence with its error, in moderate dimensions.",
    reference="Neal 2001; Del Moral, Doucet & Jasra 2006",
)
