"""Explorers whose particles move together along a direction that Stein's method gives.

All particles of a shard are moved at once: each iteration takes the slopes of the log density at
every particle, the kernel between all of them, and one adaptive step in the coordinates of
:mod:`bnmf_core.explorers.interior` or, as published, of :mod:`bnmf_core.explorers.ambient`. A
particle therefore depends on those beside it. A run of more than ``together`` particles is cut into
groups that do not see each other.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from bnmf_core.core.algorithm import Algorithm, Batch, Needs, Shard
from bnmf_core.core.model import Capability
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting
from bnmf_core.explorers.ambient import Ambient
from bnmf_core.explorers.interior import SUPPORTS, Interior
from bnmf_core.explorers.stein_direction import PUBLISHED_LENGTHS, median_lengths
from bnmf_core.samplers.starting import check_posterior
from bnmf_core.solvers import solution, usual_solver
from bnmf_core.solvers.solution import Stopping, random_start, solve_with

# Multiply-adds that an elementwise pass over a coordinate, or over a pair, costs beside products.
ENTRY_WORK, PAIR_WORK = 60.0, 60.0
# Adam's forgetting of slopes and of their squares (Kingma & Ba 2015), and what keeps it from 0/0.
FORGET_FIRST, FORGET_SECOND, TINY = 0.9, 0.999, 1e-8

# (problem, coordinates, q (m, R, K), lengths (2,), exponent) → where to go, (m, R, K)
Direction = Callable[[Problem, Interior, np.ndarray, np.ndarray, float], np.ndarray]


@dataclass(frozen=True)
class DescentSettings:
    """Settings of every such explorer."""

    iterations: int = setting(
        300,
        "Iterations",
        "How often all particles are moved.",
        minimum=1,
        maximum=1_000_000,
    )
    solver_iterations: int = setting(
        50,
        "Solver iterations before",
        "Solver iterations before the particles move; 0 for none. Gradients alone rarely reach a "
        "good factorization from a poor start.",
        minimum=0,
        maximum=1000,
    )
    rule: str = setting(
        "adam",
        "Step size rule",
        "Rule for the step of a coordinate from its gradients. adam (Kingma & Ba 2015) forgets "
        "old gradients; adagrad (Duchi et al. 2011) does not, so its steps become smaller.",
        choices=("adam", "adagrad"),
    )
    step_size: float = setting(
        0.05,
        "First step",
        "Approximate step of a coordinate in the first iteration. A coordinate is the logarithm "
        "of an entry, so 0.05 changes the entry by five per cent.",
        minimum=1e-8,
        maximum=1,
    )
    last_step: float = setting(
        0.01,
        "Last step",
        "adam's step size decays geometrically to this share of the first one, so that the "
        "particles converge; adagrad's decays by itself.",
        minimum=1e-6,
        maximum=1,
        advanced=True,
    )
    length_A: float | None = setting(
        None,
        "Length scale of A",
        "Length scale of the kernel on A, in the coordinates. Empty: the median distance between "
        "particles.",
        minimum=1e-12,
        advanced=True,
    )
    length_W: float | None = setting(
        None,
        "Length scale of W",
        "The same for the weights.",
        minimum=1e-12,
        advanced=True,
    )
    coordinates: str = setting(
        "interior",
        "Particles move in",
        "“interior”: logarithms, without boundaries. “ambient”: A and W themselves, projected "
        "back after every step, as published (with 2,000 iterations). A step is then a share of a "
        "typical entry, and empty length scales are 0.01 for A and 1000 for W.",
        choices=("interior", "ambient"),
        advanced=True,
    )
    exponent: float = setting(
        -0.5,
        "Exponent of the kernel",
        "β of the inverse multiquadric (1 + distance²/length²)^β.",
        minimum=-0.999,
        maximum=-0.001,
        advanced=True,
    )
    together: int = setting(
        100,
        "Particles that see each other",
        "Runs with more particles are divided into independent groups of at most this many.",
        minimum=1,
        maximum=1000,
        advanced=True,
    )

    @property
    def improves_starts(self) -> bool:
        """Whether the solver improves the starts before the particles move."""
        return self.solver_iterations > 0


@dataclass(frozen=True)
class StartSettings(DescentSettings):
    """Settings of explorers that start at random or at draws from the prior."""

    start: str = setting(
        "restart",
        "Start of a particle",
        "“restart”: a random start, briefly solved. “prior”: a draw from the prior.",
        choices=("restart", "prior"),
    )

    @property
    def improves_starts(self) -> bool:
        """Never draws from the prior."""
        return self.start != "prior" and super().improves_starts


SettingsT = TypeVar("SettingsT", bound=DescentSettings)


@dataclass(frozen=True)
class State:
    """A group of m particles on their way.

    Attributes
    ----------
    q : (m, R, D + N) where they are. first, second : (m, R, D + N) what the step size rule
        remembers of the slopes and of their squares.
    lengths : (2,) the kernel's length scales for A and W in the last iteration.
    unsolved : starts that the solver has still to improve. iterations : done so far.
    """

    q: np.ndarray
    first: np.ndarray
    second: np.ndarray
    lengths: np.ndarray
    unsolved: int
    iterations: int


def explorer(
    starts: Callable[[Problem, SettingsT, Shard], tuple[np.ndarray, np.ndarray]],
    direction: Direction,
    *,
    Settings: type[SettingsT],
    follow_lengths: bool,
    passes: float,
    extra_needs: tuple[Capability, ...] = (),
    **described: Any,
) -> Algorithm[SettingsT, State]:
    """The algorithm that moves particles from ``starts`` along ``direction``.

    ``follow_lengths``: whether open length scales are taken anew at each iteration, or from the
    starts. ``passes``: how many times the work of one Stein variational gradient an iteration
    takes. ``extra_needs``: of a model, besides slopes and a density nowhere zero, as
    elsewhere no slope leads back. ``described`` holds key, label, color, summary and reference.
    """
    label = described["label"]

    def check(problem: Problem, settings: DescentSettings) -> None:
        check_posterior(problem, label, "the particles")

    def init(
        problem: Problem, settings: SettingsT, shard: Shard, rng: np.random.Generator
    ) -> State:
        # Asked again: what the run sees may be zero where the dataset is not.
        check(problem, settings)
        chart = chart_of(problem, settings)
        q = chart.to_position(*starts(problem, settings, shard))
        nothing = np.zeros_like(q)
        unsolved = shard.size if settings.improves_starts else 0
        return State(q, nothing, nothing, _lengths(chart, q, settings), unsolved, 0)

    def step(
        problem: Problem, state: State, settings: SettingsT, rng: np.random.Generator
    ) -> tuple[State, Batch]:
        """Some starts, or some iterations of the whole group; hand it over after the last one."""
        chart, m = chart_of(problem, settings), state.q.shape[0]
        if state.unsolved:
            return improved(problem, chart, state, settings), Batch.empty(problem)
        fit = max(1, int(solution.STEP_WORK / (m * passes * _iteration_work(problem, m))))
        for _ in range(min(fit, settings.iterations - state.iterations)):
            with np.errstate(all="ignore"):  # what is not finite is named by the engine
                if follow_lengths and state.iterations:
                    state = replace(state, lengths=_lengths(chart, state.q, settings))
                towards = direction(problem, chart, state.q, state.lengths, settings.exponent)
                state = moved(state, chart, towards, settings)
        if state.iterations < settings.iterations:
            return state, Batch.empty(problem)
        iterations = np.full(m, state.iterations, dtype=np.int64)
        return state, Batch(*chart.to_factors(state.q), {"iterations": iterations})

    def work(problem: Problem, settings: SettingsT) -> float:
        """Multiply-adds per particle of a full group."""
        each = _iteration_work(problem, settings.together)
        starting = usual_solver(problem).work(problem, settings.solver_iterations)
        return starting + settings.iterations * passes * each

    return Algorithm(
        family="explorer",
        Settings=Settings,
        State=State,
        init=init,
        step=step,
        shard_sizes=shard_sizes,
        work=work,
        fraction=fraction,
        needs=Needs.of(Capability.SCORE, Capability.NOWHERE_ZERO, *extra_needs, supports=SUPPORTS),
        check=check,
        works=None,
        **described,
    )


def chart_of(problem: Problem, settings: DescentSettings) -> Interior:
    """The coordinates that the settings name."""
    return (Ambient if settings.coordinates == "ambient" else Interior).of(problem)


def moved(state: State, chart: Interior, towards: np.ndarray, settings: DescentSettings) -> State:
    """One step of the chosen rule along ``towards`` (m, R, K), at most about a step size each."""
    done = state.iterations
    size = settings.step_size
    if settings.rule == "adagrad":
        first, second = state.first, state.second + towards**2
        by = towards / (np.sqrt(second) + TINY)
    else:
        size *= settings.last_step ** (done / max(settings.iterations - 1, 1))
        first = FORGET_FIRST * state.first + (1 - FORGET_FIRST) * towards
        second = FORGET_SECOND * state.second + (1 - FORGET_SECOND) * towards**2
        unbiased = second / (1 - FORGET_SECOND ** (done + 1))
        by = first / (1 - FORGET_FIRST ** (done + 1)) / (np.sqrt(unbiased) + TINY)
    q = chart.moved(state.q, size * by)
    return replace(state, q=q, first=first, second=second, iterations=done + 1)


def random_starts(
    problem: Problem, settings: StartSettings, shard: Shard
) -> tuple[np.ndarray, np.ndarray]:
    """Starts by ``settings.start``, from each particle's generator: (m, D, R), (m, R, N)."""
    generators = [shard.particle_generator(i) for i in range(shard.size)]
    if settings.start == "prior":
        pairs = [problem.model.prior(problem, rng) for rng in generators]
    else:
        pairs = [random_start(problem.dataset, problem.rank, rng) for rng in generators]
    A, W = (np.stack(factors) for factors in zip(*pairs, strict=True))
    return (A, W) if settings.start == "prior" else problem.model.scale(A, W)


def improved(problem: Problem, chart: Interior, state: State, settings: DescentSettings) -> State:
    """A few more starts after the solver's iterations, at the model's scale.

    One after the other, so that no bit depends on how many are solved in one step.
    """
    each = usual_solver(problem).work(problem, settings.solver_iterations)
    first = state.q.shape[0] - state.unsolved
    last = min(state.q.shape[0], first + max(1, int(solution.STEP_WORK / each)))
    q = state.q.copy()
    for i in range(first, last):
        factors = chart.to_factors(q[i : i + 1])
        stopping = Stopping(settings.solver_iterations)
        solved = solve_with(usual_solver(problem), problem, *factors, stopping)
        q[i : i + 1] = chart.to_position(*problem.model.scale(*solved))
    unsolved = q.shape[0] - last
    lengths = state.lengths if unsolved else _lengths(chart, q, settings)
    return replace(state, q=q, unsolved=unsolved, lengths=lengths)


def shard_sizes(settings: Any, particles: int) -> list[int]:
    """Groups of nearly equal size, of at most ``settings.together`` particles."""
    groups = -(-particles // settings.together)
    each, rest = divmod(particles, groups)
    return [each + 1] * rest + [each] * (groups - rest)


def fraction(state: State, settings: DescentSettings) -> float:
    """Part of the work that is done: the starts count for a tenth, the iterations for the rest."""
    started = 1.0 - state.unsolved / state.q.shape[0]
    return 0.1 * started + 0.9 * state.iterations / settings.iterations


def _lengths(chart: Interior, q: np.ndarray, settings: DescentSettings) -> np.ndarray:
    chosen = (settings.length_A, settings.length_W)
    if None not in chosen:
        return np.array(chosen, dtype=np.float64)
    if isinstance(chart, Ambient):
        pairs = zip(chosen, PUBLISHED_LENGTHS, strict=True)
        return np.array([length if c is None else c for c, length in pairs])
    medians = median_lengths(chart.parts(q))
    return np.array([m if c is None else c for c, m in zip(chosen, medians, strict=True)])


def _iteration_work(problem: Problem, m: int) -> float:
    """Multiply-adds per particle of one Stein variational gradient of m particles."""
    D, N, R = problem.dataset.D, problem.dataset.N, problem.rank
    coordinates = R * (D + N)
    slopes = solution.product_work(problem) + coordinates * (2.0 * R + ENTRY_WORK)
    return slopes + m * (4.0 * coordinates + PAIR_WORK)
