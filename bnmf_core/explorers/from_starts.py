"""Explorers that differ only in where they start: a start each, then the same solver."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from bnmf_core.core.algorithm import ANY_SCALE, Algorithm, Batch, Needs, Shard
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting
from bnmf_core.solvers import SOLVERS, hals, newton, sampling
from bnmf_core.solvers.solution import KKT, MOVEMENT, Solution, Stopping

# More are seldom needed, however many are allowed.
MANY_ITERATIONS = 900
# Measured shares of a block's time: when the approach is over, and where a factorization is, on
# average, that has yet to settle after it; and iterations that half of an approach takes.
APPROACH, UNSETTLED, TYPICAL = 0.2, 0.4, 60.0
# Settings under which a solver stops as in published runs, converged or not.
AS_PUBLISHED = {"max_iterations": 300, "tolerance": 5e-5}


class BlockSettings(Protocol):
    """Settings with the size of a block among them."""

    @property
    def block(self) -> int:
        """How many particles go together."""


@dataclass(frozen=True)
class SolverSettings:
    """What every explorer that solves from a start can be told."""

    solver: str = setting(
        "hals",
        "Solver",
        "hals is by far the fastest; projected_gradient (Lin 2007) and multiplicative (Lee & Seung "
        "2001) are the ones of the papers.",
        choices=tuple(SOLVERS),
        advanced=True,
    )
    max_iterations: int = setting(
        10_000,
        "Maximum iterations",
        "A factorization stops here at the latest, converged or not.",
        minimum=10,
        maximum=100_000,
    )
    movement: float = setting(
        MOVEMENT,
        "Converged when it turns by at most",
        "A factorization stops when it would turn by no more than this if it went on. Modes that "
        "are closer together than this cannot be told apart.",
        minimum=1e-3,
        maximum=90,
        unit="°",
    )
    kkt: float = setting(
        KKT,
        "Converged at KKT residual",
        "It stops no sooner than when its entries are, all together, so near to where each would "
        "go by itself; 0.001 is a thousandth of the factorization.",
        minimum=1e-8,
        maximum=1,
        advanced=True,
    )
    tolerance: float | None = setting(
        None,
        "Stop at a drop in error instead",
        "As published: a factorization stops when five iterations lower its squared error by less "
        "than this part of it, however far it still has to go. Left open: when it has converged.",
        minimum=0,
        maximum=0.1,
        advanced=True,
    )
    good_enough: float = setting(
        0.0,
        "Good enough at relative error",
        "A factorization also stops once ‖X − AW‖/‖X‖ is at most this; 0 for never.",
        minimum=0,
        maximum=1,
        advanced=True,
    )
    block: int = setting(
        20,
        "Factorizations side by side",
        "How many are solved together; they share every product with X.",
        minimum=1,
        maximum=1000,
        advanced=True,
    )


SettingsT = TypeVar("SettingsT", bound=SolverSettings)


def explorer(
    starts: Callable[[Problem, SettingsT, Shard], tuple[np.ndarray, np.ndarray]],
    Settings: type[SettingsT],
    check: Callable[[Problem, SettingsT], None] | None = None,
    **described: str,
) -> Algorithm[SettingsT, Solution]:
    """The algorithm that solves from ``starts(problem, settings, shard)``.

    ``starts`` returns A (m, D, R) and W (m, R, N) for the shard's m particles;
    ``check`` : see ``Algorithm``. ``described`` holds key, label, color, summary and reference.
    """

    def init(
        problem: Problem, settings: SettingsT, shard: Shard, rng: np.random.Generator
    ) -> Solution:
        state = SOLVERS[settings.solver].start(problem, *starts(problem, settings, shard))
        if settings.tolerance is None:
            return state
        # Children of the particles' generators: independent of what their starts have drawn.
        generators = [shard.particle_generator(i).spawn(1)[0] for i in range(shard.size)]
        return sampling.drawn(problem, state, generators)

    return Algorithm(
        family="explorer",
        Settings=Settings,
        check=check,
        State=Solution,
        init=init,
        step=step,
        shard_sizes=shard_sizes,
        work=work,
        fraction=fraction,
        needs=Needs.of(supports=ANY_SCALE),
        **described,
    )


def step(
    problem: Problem, state: Solution, settings: SolverSettings, rng: np.random.Generator
) -> tuple[Solution, Batch]:
    """Iterate the whole block; hand over all of it once the last one has converged."""
    stopping = Stopping(
        settings.max_iterations,
        settings.tolerance,
        settings.good_enough,
        settings.movement,
        settings.kkt,
    )
    state = SOLVERS[settings.solver].advance(problem, state, stopping)
    if state.active.any():
        D, N, R = problem.dataset.D, problem.dataset.N, problem.rank
        return state, Batch(np.empty((0, D, R)), np.empty((0, R, N)))
    kkt, movement = newton.with_unmeasured(problem, state)
    A, W = problem.model.scale(*state.particles)
    found = {
        "iterations": state.iterations,
        "converged": stopping.converged(kkt, movement),
        "kkt": kkt,
        "movement": movement,
    }
    return state, Batch(A, W, found)


def shard_sizes(settings: BlockSettings, particles: int) -> list[int]:
    """Blocks of at most ``settings.block`` particles."""
    full, rest = divmod(particles, settings.block)
    return [settings.block] * full + [rest] * (rest > 0)


def fraction(state: Solution, settings: SolverSettings) -> float:
    """Part of the block's work that is done: settled particles count in full."""
    way = np.minimum(state.iterations / min(settings.max_iterations, MANY_ITERATIONS), 1.0)
    if settings.solver != hals.SOLVER.key:
        part = np.where(state.active, way, 1.0)
    elif settings.tolerance is None and state.approaching:
        way = state.iterations / (state.iterations + TYPICAL)
        part = APPROACH * np.where(state.active, way, 1.0)
    elif settings.tolerance is None:
        part = np.where(state.active, UNSETTLED, 1.0)
    else:  # after the approach a few full iterations are left
        after = np.where(state.active, np.maximum(way, 0.8), 1.0)
        part = way if state.approaching else after
    return float(part.mean())


def work(problem: Problem, settings: SolverSettings) -> float:
    """Multiply-adds of a typical particle; it needs a third of the iterations if it counts them."""
    counted = settings.tolerance is not None or settings.max_iterations < MANY_ITERATIONS
    typical = min(settings.max_iterations, MANY_ITERATIONS) / 3 if counted else None
    return SOLVERS[settings.solver].work(problem, typical)
