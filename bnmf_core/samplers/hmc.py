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

from bnmf_core.core.algorithm import Algorithm, Batch, Needs, Shard, fitting
from bnmf_core.core.model import Capability
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting
from bnmf_core.samplers import walking
from bnmf_core.samplers.adaptation import Adaptation, Tally
from bnmf_core.samplers.chains import chains_of, chains_setting, joined, recorded, shard_sizes
from bnmf_core.samplers.coordinates import SUPPORTS, coordinates
from bnmf_core.samplers.hamiltonian import (
    Point,
    accept,
    energy,
    glide,
    half_kick,
    reasonable_step,
)
from bnmf_core.samplers.starting import checking, start_setting, starts

# Each trajectory's steps are up to this part longer or shorter than the chain's own, so that no
# chain can go round an orbit in step with its trajectories (Neal 2011, §5.4.2.2).
JITTER = 0.1


@dataclass(frozen=True)
class Settings:
    """Number of chains, moves, starts, and thinning."""

    chains: int = chains_setting(2)
    warm_up: int = setting(
        200,
        "Warm-up trajectories",
        "Trajectories discarded before the first stored draw; the step size is adapted during "
        "them.",
        minimum=0,
        maximum=1_000_000,
    )
    leapfrog_steps: int = setting(
        100, "Leapfrog steps", "Steps of one trajectory.", minimum=1, maximum=10_000
    )
    target_acceptance: float = setting(
        0.8,
        "Target acceptance",
        "Target acceptance probability for the adaptation of the step size.",
        minimum=0.1,
        maximum=0.99,
        advanced=True,
    )
    thinning: int = setting(
        1, "Trajectories per kept draw", "One draw in this many is kept.", minimum=1, maximum=10_000
    )
    start: str = start_setting()


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Unfinished trajectories of c chains.

    Attributes
    ----------
    front : how far they have come. half : (c, R, K) momentum half a step ahead of it.
    energy : (c,) at the start. step_size : (c,). leapfrogs : steps that are done.
    """

    front: Point
    half: np.ndarray
    energy: np.ndarray
    step_size: np.ndarray
    leapfrogs: int


@dataclass(frozen=True, eq=False)
class State(walking.State):
    """c chains, possibly in the middle of a trajectory; None between two of them."""

    trajectory: Trajectory | None = None


def init(problem: Problem, settings: Settings, shard: Shard, rng: np.random.Generator) -> State:
    """Start every chain of the shard, with a step size that one leapfrog step survives."""
    first, draws = chains_of(settings, shard)
    generators = [shard.particle_generator(chain) for chain in range(draws.size)]
    A, W = starts(problem, settings, generators, "HMC")
    return started(problem, A, W, draws, first, settings, rng)


def started(
    problem: Problem,
    A: np.ndarray,
    W: np.ndarray,
    draws: np.ndarray,
    first: int,
    settings: Settings,
    rng: np.random.Generator,
) -> State:
    """Chains that start at A (c, D, R), W (c, R, N); draws and first as of :class:`State`."""
    chart = coordinates(problem)
    density = chart.density(problem)
    q = chart.to_position(*chart.lift(A, W))
    point = Point(q, *density(q))
    return State(
        point,
        Adaptation.begun(reasonable_step(density, point, rng, chart.reflected)),
        Tally.empty(draws.size),
        draws,
        first,
        sweeps=0,
        total=settings.warm_up + settings.thinning * int(draws.max()),
    )


def step(
    problem: Problem, state: State, settings: Settings, rng: np.random.Generator
) -> tuple[State, Batch]:
    """A bounded number of leapfrog steps; thinning and recording as in Gibbs."""
    chart = coordinates(problem)
    density = chart.density(problem)
    left = fitting(work_per_leapfrog(problem, state.draws.size))
    batches: list[Batch] = []
    while left > 0 and state.sweeps < state.total:
        trajectory = state.trajectory or _set_out(state, rng)
        count = min(left, settings.leapfrog_steps - trajectory.leapfrogs)
        front, half = glide(
            density, trajectory.front, trajectory.half, trajectory.step_size, count, chart.reflected
        )
        left -= count
        done = trajectory.leapfrogs + count
        trajectory = replace(trajectory, front=front, half=half, leapfrogs=done)
        if done < settings.leapfrog_steps:
            state = replace(state, trajectory=trajectory)
            break
        state = _arrive(state, trajectory, settings, rng)
        after = state.sweeps - settings.warm_up
        if after % settings.thinning == 0:
            draw = after // settings.thinning
            A, W = chart.to_factors(state.point.q)
            updates = min(settings.thinning, state.sweeps)
            diagnostics = state.tally.diagnostics(updates, trajectory.step_size)
            # The energy is what fresh momenta gave the trajectory.
            diagnostics |= {"energy": trajectory.energy}
            batches.append(recorded(state, draw, A.transpose(0, 2, 1), W, diagnostics))
            state = replace(state, tally=Tally.empty(state.draws.size))
    return state, joined(problem, batches)


def _set_out(state: State, rng: np.random.Generator) -> Trajectory:
    point, log_step = state.point, state.adaptation.log_step
    momentum = rng.standard_normal(point.q.shape)
    stretch = 1.0 + JITTER * (2.0 * rng.random(log_step.size) - 1.0)
    step_size = np.exp(log_step) * stretch
    half = half_kick(momentum, point.gradient, step_size)
    return Trajectory(point, half, energy(point, momentum), step_size, 0)


def _arrive(
    state: State, trajectory: Trajectory, settings: Settings, rng: np.random.Generator
) -> State:
    front = trajectory.front
    with np.errstate(all="ignore"):
        last = half_kick(trajectory.half, front.gradient, -trajectory.step_size)
    outcome = accept(state.point, trajectory.energy, front, last, rng)
    sweeps, adaptation = state.sweeps + 1, state.adaptation
    if sweeps <= settings.warm_up:
        adaptation = adaptation.adapted(
            sweeps, settings.warm_up, settings.target_acceptance, outcome.probability
        )
    return replace(
        state,
        point=outcome.point,
        trajectory=None,
        adaptation=adaptation,
        tally=state.tally.with_outcome(outcome),
        sweeps=sweeps,
    )


def work_per_leapfrog(problem: Problem, chains: int) -> float:
    """Multiply-adds of one leapfrog step of so many chains; setting out on one costs 2e5."""
    data, R = problem.dataset, problem.rank
    return chains * (problem.loss.work(problem) + (data.D + data.N) * R * (30.0 + 2.0 * R)) + 2e5


def fraction(state: State, settings: Settings) -> float:
    """Part of the leapfrog steps that are done."""
    under_way = 0 if state.trajectory is None else state.trajectory.leapfrogs
    return (state.sweeps + under_way / settings.leapfrog_steps) / state.total


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
    color="#783385",
    symbol="x",
    summary="Hamiltonian Monte Carlo: sample the posterior along its gradient, all factors at "
    "once. Exact in the long run and for every model; rarely leaves the mode in which it "
    "starts.",
    reference="Neal 2011; paper 3, §6.2",
)
