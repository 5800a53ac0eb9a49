"""Chains whose updates look at one further point each: what Metropolis–Hastings and Langevin share.

The chains of a shard advance side by side, each with its own step size, adapted during the warm-up
and then frozen. A step of the engine is a number of updates. The draws of one shard come from one
generator, as in :mod:`bnmf_core.samplers.hmc`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bnmf_core.core.algorithm import Batch, Shard, fitting
from bnmf_core.core.problem import Problem
from bnmf_core.samplers.adaptation import Adaptation, Tally
from bnmf_core.samplers.chains import chains_of, joined, recorded
from bnmf_core.samplers.coordinates import Coordinates, coordinates
from bnmf_core.samplers.hamiltonian import Density, Outcome, Point
from bnmf_core.samplers.starting import starts

# (density, point, step size (c,), generator, reflected coordinates) → where the chains are then.
Move = Callable[[Density, Point, np.ndarray, np.random.Generator, slice | None], Outcome]


@dataclass(frozen=True, eq=False)
class State:
    """c chains between two updates.

    Attributes
    ----------
    point : where the chains are, q (c, R, K). adaptation, tally : see there.
    draws : (c,) number of particles of each chain. first : number of the first chain in the run.
    sweeps, total : updates done and to do.
    """

    point: Point
    adaptation: Adaptation
    tally: Tally
    draws: np.ndarray
    first: int
    sweeps: int
    total: int


def begun(
    problem: Problem,
    settings: Any,
    shard: Shard,
    label: str,
    density: Density,
    first_step: Callable[[Point, Coordinates], np.ndarray],
) -> State:
    """Every chain of the shard at its start.

    Parameters
    ----------
    label : of the sampler, for refusals.
    density : see :meth:`bnmf_core.samplers.coordinates.Coordinates.density`.
    first_step : step sizes (c,) to begin with, at a point.

    Raises
    ------
    RunError, SettingsError
        See :func:`bnmf_core.samplers.starting.starts`.
    """
    first, draws = chains_of(settings, shard)
    generators = [shard.particle_generator(chain) for chain in range(draws.size)]
    chart = coordinates(problem)
    q = chart.to_position(*chart.lift(*starts(problem, settings, generators, label)))
    point = Point(q, *density(q))
    return State(
        point,
        Adaptation.begun(first_step(point, chart)),
        Tally.empty(draws.size),
        draws,
        first,
        sweeps=0,
        total=settings.warm_up + settings.thinning * int(draws.max()),
    )


def walk(
    problem: Problem,
    state: State,
    settings: Any,
    rng: np.random.Generator,
    density: Density,
    moves: tuple[Move, Move],
    work: float,
    adaptive: bool = True,
) -> tuple[State, Batch]:
    """A bounded number of updates.

    Parameters
    ----------
    moves : of the warm-up, and of what follows. work : multiply-adds of one update of all chains.
    adaptive : whether the warm-up changes the step sizes.
    """
    chart = coordinates(problem)
    batches: list[Batch] = []
    for _ in range(fitting(2 * work)):  # it takes twice as long as so many in a product
        if state.sweeps >= state.total:
            break
        warm_up = state.sweeps < settings.warm_up
        adaptation, sweeps = state.adaptation, state.sweeps + 1
        step_size = np.exp(adaptation.log_step)
        move = moves[0] if warm_up else moves[1]
        outcome = move(density, state.point, step_size, rng, chart.reflected)
        if warm_up and adaptive:
            adaptation = adaptation.adapted(
                sweeps, settings.warm_up, settings.target_acceptance, outcome.probability
            )
        tally = state.tally.with_outcome(outcome)
        state = replace(
            state, point=outcome.point, adaptation=adaptation, tally=tally, sweeps=sweeps
        )
        after = sweeps - settings.warm_up
        if after % settings.thinning == 0:
            with np.errstate(all="ignore"):  # a chain that has left the ground ends with this
                A, W = chart.to_factors(outcome.point.q)
            diagnostics = tally.diagnostics(min(settings.thinning, sweeps), step_size)
            draw = after // settings.thinning
            batches.append(recorded(state, draw, A.transpose(0, 2, 1), W, diagnostics))
            state = replace(state, tally=Tally.empty(state.draws.size))
    return state, joined(problem, batches)
