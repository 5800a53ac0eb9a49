"""Hamiltonian Monte Carlo (Neal 2011; paper 3, §6.2), for every model that has a score.

The chains of a shard advance side by side: each product with X serves all of them. Each has its
own step size, adapted during the warm-up by dual averaging (Hoffman & Gelman 2014, §3.2) and then
frozen. A step of the engine is a number of leapfrog steps, so that a trajectory on a large matrix
is cut into bounded pieces without changing a bit of it. The draws of one shard come from one
generator: a chain's path depends on the seed and on how many chains the run has (and so on which
run beside it), not on threads, pieces or interruptions.
"""

from dataclasses import dataclass, replace

import numpy as np

from bnmf_core.nouns.algorithm import Algorithm, Batch, Needs, Shard
from bnmf_core.nouns.model import Capability
from bnmf_core.nouns.problem import Problem
from bnmf_core.nouns.settings import setting
from bnmf_core.samplers.chains import chains_of, chains_setting, joined, shard_sizes
from bnmf_core.samplers.coordinates import SUPPORTS, Coordinates, coordinates
from bnmf_core.samplers.hamiltonian import Outcome, Point, accept, glide, half_kick, reasonable_step
from bnmf_core.samplers.starting import checking, start_setting, starts

# Multiply-adds of one step: about a third of a second on one core.
STEP_WORK = 1.0e9
# Each trajectory's steps are up to this part longer or shorter than the chain's own, so that no
# chain can go round an orbit in step with its trajectories (Neal 2011, §5.4.2.2).
JITTER = 0.1
# Dual averaging: shrinkage, early stability and forgetting, as published.
SHRINKAGE, STABILITY, FORGETTING = 0.05, 10.0, 0.75


@dataclass(frozen=True)
class Settings:
    """How many chains, how they move, where they start, what is kept."""

    chains: int = chains_setting(2)
    warm_up: int = setting(
        200,
        "Warm-up trajectories",
        "Trajectories thrown away before the first draw is kept; the step size is adapted "
        "during them.",
        minimum=0,
        maximum=1_000_000,
    )
    leapfrog_steps: int = setting(
        100, "Leapfrog steps", "Steps of one trajectory.", minimum=1, maximum=10_000
    )
    target_acceptance: float = setting(
        0.8,
        "Target acceptance",
        "The step size is adapted until trajectories are accepted with this probability.",
        minimum=0.1,
        maximum=0.99,
        advanced=True,
    )
    thinning: int = setting(
        1, "Trajectories per kept draw", "One draw in this many is kept.", minimum=1, maximum=10_000
    )
    start: str = start_setting()


@dataclass(frozen=True)
class State:
    """c chains, possibly in the middle of a trajectory.

    Attributes
    ----------
    q, value, gradient : where the chains are, (c, R, K), (c,), (c, R, K).
    momentum : (c, R, K) at the start of the trajectory. leapfrogs : steps of it that are done.
    end_q, end_value, end_gradient, half : its front, and the momentum half a step ahead.
    step_size : (c,) of this trajectory. log_step, log_step_mean, shortfall : (c,) dual averaging;
        center : (c,) the log step that it shrinks to.
    moved, probability, divergent : (c,) since the last recorded state: whether any trajectory
        was accepted, the sum of their acceptance probabilities, whether any diverged.
    draws : (c,) particles asked of each chain. first : number of the first chain in the run.
    sweeps, total : trajectories done and to do.
    """

    q: np.ndarray
    value: np.ndarray
    gradient: np.ndarray
    momentum: np.ndarray
    end_q: np.ndarray
    end_value: np.ndarray
    end_gradient: np.ndarray
    half: np.ndarray
    step_size: np.ndarray
    log_step: np.ndarray
    log_step_mean: np.ndarray
    shortfall: np.ndarray
    center: np.ndarray
    moved: np.ndarray
    probability: np.ndarray
    divergent: np.ndarray
    draws: np.ndarray
    first: int
    leapfrogs: int
    sweeps: int
    total: int

    @property
    def point(self) -> Point:
        """Where the chains are."""
        return Point(self.q, self.value, self.gradient)

    @property
    def front(self) -> Point:
        """Where the trajectories are."""
        return Point(self.end_q, self.end_value, self.end_gradient)


def init(problem: Problem, settings: Settings, shard: Shard, rng: np.random.Generator) -> State:
    """Start every chain of the shard, with a step size that one leapfrog step survives."""
    first, draws = chains_of(settings, shard)
    generators = [shard.particle_generator(chain) for chain in range(draws.size)]
    chart = coordinates(problem)
    density = chart.density(problem)
    q = chart.to_position(*chart.lift(*starts(problem, settings, generators, "HMC")))
    point = Point(q, *density(q))
    step = reasonable_step(density, point, rng, chart.reflected)
    nothing = np.zeros(draws.size)
    return State(
        *point,
        momentum=np.zeros_like(q),
        end_q=q,
        end_value=point.value,
        end_gradient=point.gradient,
        half=np.zeros_like(q),
        step_size=step,
        log_step=np.log(step),
        log_step_mean=np.log(step),
        shortfall=nothing,
        center=np.log(10.0 * step),
        moved=nothing > 0,
        probability=nothing,
        divergent=nothing > 0,
        draws=draws,
        first=first,
        leapfrogs=0,
        sweeps=0,
        total=settings.warm_up + settings.thinning * int(draws.max()),
    )


def step(
    problem: Problem, state: State, settings: Settings, rng: np.random.Generator
) -> tuple[State, Batch]:
    """A bounded number of leapfrog steps; what is kept and what is recorded as in Gibbs."""
    chart = coordinates(problem)
    density = chart.density(problem)
    left = max(1, int(STEP_WORK / work_per_leapfrog(problem, state.draws.size)))
    recorded = []
    while left > 0 and state.sweeps < state.total:
        if state.leapfrogs == 0:
            state = _set_out(state, rng)
        count = min(left, settings.leapfrog_steps - state.leapfrogs)
        front, half = glide(
            density, state.front, state.half, state.step_size, count, chart.reflected
        )
        left -= count
        state = replace(
            state, end_q=front.q, end_value=front.value, end_gradient=front.gradient, half=half,
            leapfrogs=state.leapfrogs + count,
        )  # fmt: skip
        if state.leapfrogs < settings.leapfrog_steps:
            break
        state = _arrive(state, settings, rng)
        after = state.sweeps - settings.warm_up
        if after % settings.thinning == 0:
            draw = after // settings.thinning
            recorded.append(_record(state, chart, settings, draw))
            nothing = np.zeros(state.draws.size)
            state = replace(state, moved=nothing > 0, probability=nothing, divergent=nothing > 0)
    return state, joined(problem, recorded)


def _set_out(state: State, rng: np.random.Generator) -> State:
    momentum = rng.standard_normal(state.q.shape)
    stretch = 1.0 + JITTER * (2.0 * rng.random(state.log_step.size) - 1.0)
    step_size = np.exp(state.log_step) * stretch
    return replace(
        state, momentum=momentum, step_size=step_size, end_q=state.q, end_value=state.value,
        end_gradient=state.gradient, half=half_kick(momentum, state.gradient, step_size),
    )  # fmt: skip


def _arrive(state: State, settings: Settings, rng: np.random.Generator) -> State:
    with np.errstate(all="ignore"):
        last = half_kick(state.half, state.end_gradient, -state.step_size)
    outcome = accept(state.point, state.momentum, state.front, last, rng)
    state = replace(
        state,
        q=outcome.point.q,
        value=outcome.point.value,
        gradient=outcome.point.gradient,
        moved=state.moved | outcome.accepted,
        probability=state.probability + outcome.probability,
        divergent=state.divergent | outcome.divergent,
        leapfrogs=0,
        sweeps=state.sweeps + 1,
    )
    return _adapt(state, settings, outcome) if state.sweeps <= settings.warm_up else state


def _adapt(state: State, settings: Settings, outcome: Outcome) -> State:
    """Dual averaging (Hoffman & Gelman 2014, eq. 6); the mean is what the warm-up ends with."""
    m = state.sweeps
    weight = 1.0 / (m + STABILITY)
    missing = settings.target_acceptance - outcome.probability
    shortfall = (1.0 - weight) * state.shortfall + weight * missing
    log_step = state.center - np.sqrt(m) / SHRINKAGE * shortfall
    part = m**-FORGETTING
    log_step_mean = part * log_step + (1.0 - part) * state.log_step_mean
    if m == settings.warm_up:
        log_step = log_step_mean
    return replace(state, shortfall=shortfall, log_step=log_step, log_step_mean=log_step_mean)


def _record(state: State, chart: Coordinates, settings: Settings, draw: int) -> Batch:
    # A chain that has made its draws goes on beside the others, unrecorded.
    chosen = np.flatnonzero(state.draws >= draw)
    A, W = chart.to_factors(state.q[chosen])
    since = min(settings.thinning, state.sweeps)
    return Batch(
        A,
        W,
        {
            "accepted": state.moved[chosen],
            "acceptance": state.probability[chosen] / since,
            "step_size": state.step_size[chosen],
            "divergent": state.divergent[chosen],
        },
        chain=state.first + chosen,
        warm_up=np.full(chosen.size, draw <= 0),
    )


def work_per_leapfrog(problem: Problem, chains: int) -> float:
    """Multiply-adds of one leapfrog step of so many chains; setting out on one costs 2e5."""
    data, R = problem.dataset, problem.rank
    # With gaps a third product makes the residual.
    products = (3.0 if data.missing else 2.0) * data.stored_entries * R
    products *= 8 if data.is_sparse else 1
    return chains * (products + (data.D + data.N) * R * (30.0 + 2.0 * R)) + 2e5


def fraction(state: State, settings: Settings) -> float:
    """Part of the leapfrog steps that are done."""
    return (state.sweeps + state.leapfrogs / settings.leapfrog_steps) / state.total


def work(problem: Problem, settings: Settings) -> float:
    """Multiply-adds per kept draw, the warm-up left out."""
    per_step = work_per_leapfrog(problem, settings.chains) / settings.chains
    return settings.thinning * settings.leapfrog_steps * per_step


ALGORITHM = Algorithm(
    key="hmc",
    label="HMC",
    family="sampler",
    Settings=Settings,
    State=State,
    init=init,
    step=step,
    shard_sizes=shard_sizes,
    work=work,
    fraction=fraction,
    check=checking("HMC"),
    needs=Needs.of(Capability.SCORE, supports=SUPPORTS),
    color="#7F3C8D",
    summary="Walk through the posterior along its slopes, all factors at once. Right in the long "
    "run and for every model; rarely leaves the mode it starts in.",
    reference="Neal 2011; paper 3, §6.2",
)
