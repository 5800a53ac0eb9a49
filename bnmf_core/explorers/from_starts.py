"""Explorers that differ only in where they start: a start each, then the same solver."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from bnmf_core.core.algorithm import ANY_SCALE, Algorithm, Batch, Needs, OnBlocks, Shard
from bnmf_core.core.errors import SettingsError
from bnmf_core.core.kullback_leibler import KULLBACK_LEIBLER
from bnmf_core.core.model import Capability, Support
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.passes import descent
from bnmf_core.solvers import SOLVERS, certificate, hals, sampling, second_order, usual_solver
from bnmf_core.solvers.solution import (
    FURTHEST,
    KKT,
    MOVEMENT,
    Solution,
    Solver,
    Stopping,
)

FLAT = (
    "Convergence refers to the {loss}: under this model all factorizations within the threshold "
    "are equally likely."
)
AUTOMATIC, LIKELIHOOD, POSTERIOR = "automatic", "maximum likelihood", "maximum a posteriori"
# Iterations beyond this are seldom needed.
MANY_ITERATIONS = 900
# Measured shares of a block's time: when the approach is over, and where a factorization is, on
# average, that has yet to settle after it; and iterations that half of an approach takes.
APPROACH, UNSETTLED, TYPICAL = 0.2, 0.4, 60.0
# Settings under which a solver stops as in published runs, converged or not.
AS_PUBLISHED = {"max_iterations": 300, "tolerance": 5e-5}


def movement_setting() -> float:
    """The declared setting "movement" of what stops when it has converged."""
    return setting(
        MOVEMENT,
        "Converged when it turns by at most",
        "A factorization stops when its remaining rotation is at most this. Modes closer together "
        "than this cannot be distinguished.",
        minimum=1e-3,
        maximum=90,
        unit="°",
    )


def block_setting(default: int, words: str = "How many are solved together") -> int:
    """The declared setting "block" of what solves factorizations side by side."""
    return setting(
        default,
        "Factorizations side by side",
        f"{words}; they share every product with X.",
        minimum=1,
        maximum=1000,
        advanced=True,
    )


@dataclass(frozen=True)
class SolverSettings:
    """Settings of every explorer that solves from a start."""

    objective: str = setting(
        LIKELIHOOD,
        "What is made largest",
        "“maximum likelihood”: the fit of AW to X alone. “maximum a posteriori”: the posterior "
        "density, which includes the priors on A and W; it is maximized by second_order.",
        choices=(LIKELIHOOD, POSTERIOR),
        advanced=True,
    )
    solver: str = setting(
        AUTOMATIC,
        "Solver",
        "automatic: hals for the squared error and coordinate_descent for the Kullback–Leibler "
        "divergence, for which they are by far the fastest, second_order otherwise. "
        "projected_gradient (Lin 2007) and multiplicative (Lee & Seung 2001) are those of the "
        "papers, also for the squared error.",
        choices=(AUTOMATIC, *SOLVERS),
        advanced=True,
    )
    max_iterations: int = setting(
        20_000,
        "Maximum iterations",
        "Maximum number of iterations of a factorization, converged or not.",
        minimum=10,
        maximum=100_000,
    )
    movement: float = movement_setting()
    kkt: float = setting(
        KKT,
        "Converged at KKT residual",
        "Largest KKT residual, relative to the size of the factorization, at which it may stop.",
        minimum=1e-8,
        maximum=1,
        advanced=True,
    )
    tolerance: float | None = setting(
        None,
        "Stop at a drop in error instead",
        "Stopping rule as published: five iterations lower the squared error by less than this "
        "share, even if the factorization has not converged. Empty: stop at convergence.",
        minimum=0,
        maximum=0.1,
        advanced=True,
    )
    good_enough: float = setting(
        0.0,
        "Good enough at a fit of",
        "A factorization also stops once its measure of fit (for Gaussian noise the relative "
        "error ‖X − AW‖/‖X‖) is at most this; 0 for never.",
        minimum=0,
        maximum=1,
        advanced=True,
    )
    block: int = block_setting(20)


SettingsT = TypeVar("SettingsT", bound=SolverSettings)


def explorer(
    starts: Callable[[Problem, SettingsT, Shard], tuple[np.ndarray, np.ndarray]],
    Settings: type[SettingsT],
    check: Callable[[Problem, SettingsT], None] | None = None,
    **described: Any,
) -> Algorithm[SettingsT, Solution]:
    """The algorithm that solves from ``starts(problem, settings, shard)``.

    ``starts`` returns A (m, D, R) and W (m, R, N) for the shard's m particles;
    ``check`` : see ``Algorithm``. ``described`` holds key, label, color, summary and reference.
    """

    def init(
        problem: Problem, settings: SettingsT, shard: Shard, rng: np.random.Generator
    ) -> Solution:
        solver = solver_of(problem, settings)
        state = solver.start(problem, *starts(problem, settings, shard))
        if settings.tolerance is None or solver is not hals.SOLVER:
            return state
        # Children of the particles' generators: independent of what their starts have drawn.
        generators = [shard.particle_generator(i).spawn(1)[0] for i in range(shard.size)]
        return sampling.drawn(problem, state, generators)

    def checking(problem: Problem, settings: SettingsT) -> None:
        check_solver(problem, settings)
        if check is not None:
            check(problem, settings)

    def works(problem: Problem, settings: SettingsT) -> str:
        return f"{described['reference']}; {solver_of(problem, settings).reference} for the solver"

    return Algorithm(
        family="explorer",
        Settings=Settings,
        check=checking,
        works=works,
        State=Solution,
        init=init,
        step=step,
        shard_sizes=shard_sizes,
        work=work,
        fraction=fraction,
        needs=Needs.of(supports=ANY_SCALE),
        on_blocks=_on_blocks(starts, checking),
        **described,
    )


def _on_blocks(
    starts: Callable[[Problem, SettingsT, Shard], tuple[np.ndarray, np.ndarray]],
    checked: Callable[[Problem, SettingsT], None],
) -> OnBlocks:
    """The same starts, on a sample of the observations, and then passes over all of them."""

    def init(
        problem: Problem, settings: SettingsT, shard: Shard, rng: np.random.Generator
    ) -> descent.State:
        solver = solver_of(problem, settings)
        return descent.begin(problem, starts, settings, shard, solver, stopping_of(settings))

    def checking(problem: Problem, settings: SettingsT) -> None:
        checked(problem, settings)
        if settings.objective == POSTERIOR:
            raise SettingsError(
                "Factorizations of maximum posterior density need all of X in memory; choose "
                f"“{LIKELIHOOD}”."
            )
        descent.check(problem)

    return OnBlocks(
        State=descent.State,
        init=init,
        step=lambda problem, state, settings, rng: descent.step(
            problem, state, stopping_of(settings)
        ),
        check=checking,
        work=lambda problem, settings: work(problem, settings) + descent.work(problem),
        fraction=lambda state, settings: descent.fraction(state),
    )


def stopping_of(settings: SolverSettings) -> Stopping:
    """When a factorization is settled."""
    return Stopping(
        settings.max_iterations,
        settings.tolerance,
        settings.good_enough,
        settings.movement,
        settings.kkt,
    )


def solver_of(problem: Problem, settings: SolverSettings) -> Solver:
    """The solver that the settings ask for."""
    if settings.objective == POSTERIOR:
        return second_order.POSTERIOR_SOLVER
    return usual_solver(problem) if settings.solver == AUTOMATIC else SOLVERS[settings.solver]


def check_solver(problem: Problem, settings: SolverSettings) -> None:
    """Refuse a solver that makes something else small, and a posterior without slopes.

    Raises
    ------
    SettingsError
        Naming the solver, what the model wants made small, and what serves it.
    """
    model = problem.model
    if settings.objective == POSTERIOR:
        able = {Capability.SCORE, Capability.SCORE_ALONG} <= model.capabilities
        positive = model.support == (Support.POSITIVE, Support.POSITIVE)
        if (
            not able
            or not positive
            or model.per_loss is None
            or model.improper(problem.model_settings)
        ):
            raise SettingsError(
                f"A factorization of maximum posterior density needs entries ≥ 0 with a proper "
                f"prior and a likelihood with slopes; the model “{model.label}” with these "
                f"settings is none. Choose “{LIKELIHOOD}”, or another model."
            )
    elif settings.solver != AUTOMATIC and not SOLVERS[settings.solver].serves(problem.loss):
        made = next(
            f for f in (SQUARED_ERROR, KULLBACK_LEIBLER) if SOLVERS[settings.solver].serves(f)
        )
        raise SettingsError(
            f"The solver {settings.solver!r} makes the {made.label} small, and the model "
            f"“{model.label}” wants the {problem.loss.label} small; choose {AUTOMATIC!r}."
        )


def step(
    problem: Problem, state: Solution, settings: SolverSettings, rng: np.random.Generator
) -> tuple[Solution, Batch]:
    """Iterate the block; hand over those that have settled, in the order of their numbers."""
    stopping = stopping_of(settings)
    state = solver_of(problem, settings).advance(problem, state, stopping)
    waiting = 0 if state.approaching else int(np.argmax([*state.active, True]))
    if not waiting:
        return state, Batch.empty(problem)
    done, rest = state.part_of(slice(None, waiting)), state.part_of(slice(waiting, None))
    kkt, movement, gain = done.kkt, done.movement, done.gain
    A, W = done.particles
    if settings.objective == LIKELIHOOD:
        kkt, movement, gain = certificate(problem, done)
        A, W = problem.model.scale(A, W)
    found = {
        "iterations": done.iterations,
        "converged": stopping.converged(kkt, movement, gain),
        "kkt": kkt,
        # Where the way is not known it may be as long as there is.
        "movement": np.where(np.isnan(movement), FURTHEST, movement),
        "gain": np.where(np.isfinite(gain), gain, np.nan),
        "ridge": done.ridge,
    }
    # A flat likelihood knows no better and worse: what was made small is not what it judges by.
    flat = Capability.NOWHERE_ZERO not in problem.model.capabilities
    note = FLAT.format(loss=problem.loss.label) if flat else ""
    return replace(rest, handed=state.handed + waiting), Batch(A, W, found, note=note)


def shard_sizes(settings: Any, particles: int) -> list[int]:
    """Blocks of at most ``settings.block`` particles."""
    full, rest = divmod(particles, settings.block)
    return [settings.block] * full + [rest] * (rest > 0)


def fraction(state: Solution, settings: SolverSettings) -> float:
    """Part of the block's work that is done: settled particles count in full."""
    if not state.active.size:
        return 1.0
    way = np.minimum(state.iterations / min(settings.max_iterations, MANY_ITERATIONS), 1.0)
    if settings.solver not in (AUTOMATIC, hals.SOLVER.key):
        part = np.where(state.active, way, 1.0)
    elif settings.tolerance is None and state.approaching:
        way = state.iterations / (state.iterations + TYPICAL)
        part = APPROACH * np.where(state.active, way, 1.0)
    elif settings.tolerance is None:
        part = np.where(state.active, UNSETTLED, 1.0)
    else:  # after the approach a few full iterations are left
        after = np.where(state.active, np.maximum(way, 0.8), 1.0)
        part = way if state.approaching else after
    return float((state.handed + part.sum()) / (state.handed + part.size))


def work(problem: Problem, settings: SolverSettings) -> float:
    """Multiply-adds of a typical particle; it needs a third of the iterations if it counts them."""
    counted = settings.tolerance is not None or settings.max_iterations < MANY_ITERATIONS
    typical = min(settings.max_iterations, MANY_ITERATIONS) / 3 if counted else None
    return solver_of(problem, settings).work(problem, typical)
