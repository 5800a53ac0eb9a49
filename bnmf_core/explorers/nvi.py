"""Nonparametric variational inference (Gershman, Hoffman & Blei 2012; paper 2, §4.2).

All components of a mixture of equally weighted Gaussians move together: their centres are the
factorizations. Starts are solved NMFs; under the uniform likelihood, which has no slope that leads
to a possible place, all begin at one that is possible.
"""

from dataclasses import dataclass, replace

import numpy as np

from bnmf_core.explorers.planting import refuse_impossible
from bnmf_core.explorers.stein_descent import shard_sizes
from bnmf_core.nouns.algorithm import Algorithm, Batch, Needs, Shard
from bnmf_core.nouns.errors import SettingsError
from bnmf_core.nouns.model import Capability, given
from bnmf_core.nouns.problem import Problem
from bnmf_core.nouns.settings import setting
from bnmf_core.solvers import hals, solution
from bnmf_core.solvers.starts import random_start
from bnmf_core.variational.ascent import climb, spread
from bnmf_core.variational.mixture import NO_BORDERS, best_scale, component_of, variance_alone

# Where all components begin at one place, each is first moved by this part of its standard
# deviation at random: equal components have no slope apart.
NUDGE = 1e-3


@dataclass(frozen=True)
class Settings:
    """How long the components climb, and how many belong together."""

    iterations: int = setting(
        300,
        "Iterations",
        "Iterations of L-BFGS on all centres and variances.",
        minimum=1,
        maximum=100_000,
    )
    solver_iterations: int = setting(
        300,
        "Solver iterations before",
        "A start is solved by at most this many iterations of hals.",
        minimum=1,
        maximum=100_000,
        advanced=True,
    )
    per_step: int = setting(
        25,
        "Iterations at a time",
        "After so many the run can be cancelled, and what L-BFGS remembers is forgotten.",
        minimum=1,
        maximum=10_000,
        advanced=True,
    )
    step: float = setting(
        0.05,
        "Step under the uniform likelihood",
        "Part of a component's standard deviation, in every dimension, that it moves at a time.",
        minimum=1e-6,
        maximum=10,
        advanced=True,
    )
    together: int = setting(
        10,
        "Components of a mixture",
        "A run of more factorizations is cut into mixtures of at most this many.",
        minimum=1,
        maximum=100,
    )


@dataclass(frozen=True)
class State:
    """A mixture on its way.

    Attributes
    ----------
    A, W : (m, D, R), (m, R, N) centres. log_variances : (m,) log σ². bound : nats.
    unsolved : starts that are still to be solved. iterations : done so far.
    """

    A: np.ndarray
    W: np.ndarray
    log_variances: np.ndarray
    bound: float
    unsolved: int
    iterations: int


def check(problem: Problem, settings: Settings) -> None:
    """A flat prior gives the bound no largest value."""
    needed = problem.model.improper(problem.model_settings)
    if needed:
        raise SettingsError(f"NVI needs {needed}.")


def init(problem: Problem, settings: Settings, shard: Shard, rng: np.random.Generator) -> State:
    """Random starts, not yet solved."""
    generators = [shard.particle_generator(i) for i in range(shard.size)]
    pairs = [random_start(problem.dataset, problem.rank, g) for g in generators]
    A, W = (np.stack(factors) for factors in zip(*pairs, strict=True))
    return State(A, W, np.zeros(shard.size), -np.inf, shard.size, 0)


def step(
    problem: Problem, state: State, settings: Settings, rng: np.random.Generator
) -> tuple[State, Batch]:
    """Solve some starts, or climb for some iterations; hand the centres over after the last."""
    m, D, R = state.A.shape
    nothing = Batch(np.empty((0, D, R)), np.empty((0, R, problem.dataset.N)))
    if state.unsolved:
        return _solved(problem, state, settings, rng), nothing
    count = min(settings.per_step, settings.iterations - state.iterations)
    factors = state.A, state.W, state.log_variances
    if problem.model.offending is None:
        A, W, log_variances, bound = climb(problem, *factors, count)
    else:
        A, W, log_variances, bound = spread(problem, *factors, count, settings.step)
    done = state.iterations + count
    state = replace(state, A=A, W=W, log_variances=log_variances, bound=bound, iterations=done)
    if done < settings.iterations:
        return state, nothing
    told = {"variance": np.exp(log_variances), "bound": np.full(m, bound)}
    return state, Batch(A, W, told)


def _solved(problem: Problem, state: State, settings: Settings, rng: np.random.Generator) -> State:
    each = hals.SOLVER.work(problem, settings.solver_iterations / 3)
    first = len(state.A) - state.unsolved
    last = min(len(state.A), first + max(1, int(solution.STEP_WORK / each)))
    A, W = state.A.copy(), state.W.copy()
    for i in range(first, last):
        solved = hals.solve(problem, A[i : i + 1], W[i : i + 1], settings.solver_iterations)
        A[i : i + 1], W[i : i + 1] = best_scale(*solved)
    if last < len(A):
        return replace(state, A=A, W=W, unsolved=len(A) - last)
    if problem.model.offending is not None:
        A, W, log_variances = _around_one(problem, A, W, rng)
    else:
        pairs = zip(A, W, strict=True)
        variances = [component_of(problem, a, w, rescale=False).best_variance for a, w in pairs]
        log_variances = np.log(variances)
    return replace(state, A=A, W=W, log_variances=log_variances, unsolved=0)


def _around_one(
    problem: Problem, A: np.ndarray, W: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every component at the possible start with the largest density, slightly apart."""
    density = problem.model.log_joint(problem, A, W)
    best = int(density.argmax())
    if not np.isfinite(density[best]):
        refuse_impossible(problem, A, W)
    sigma = np.sqrt(variance_alone(problem, A[best : best + 1], W[best : best + 1]))
    moved = []
    for F in (A, W):
        center = np.repeat(F[best : best + 1], len(F), axis=0)
        nudged = np.maximum(center + NUDGE * sigma * rng.standard_normal(center.shape), 0.0)
        moved.append((center, nudged))
    possible = given(problem.model.offending)(problem, moved[0][1], moved[1][1]) < 0
    A, W = (np.where(possible[:, None, None], nudged, center) for center, nudged in moved)
    return A, W, np.full(len(A), 2 * np.log(sigma))


def work(problem: Problem, settings: Settings) -> float:
    """Multiply-adds per component."""
    starting = hals.SOLVER.work(problem, settings.solver_iterations / 3)
    return starting + settings.iterations * 1.2 * solution.product_work(problem)


def fraction(state: State, settings: Settings) -> float:
    """The starts count for a tenth, the iterations for the rest."""
    started = 1.0 - state.unsolved / len(state.A)
    return 0.1 * started + 0.9 * state.iterations / settings.iterations


ALGORITHM = Algorithm(
    key="nvi",
    label="NVI",
    family="explorer",
    Settings=Settings,
    State=State,
    init=init,
    step=step,
    shard_sizes=shard_sizes,
    work=work,
    fraction=fraction,
    needs=Needs.of(Capability.CURVATURE, supports=NO_BORDERS),
    color="#999933",
    summary="Fit a mixture of Gaussians to the posterior; its centres are the factorizations. "
    "Few of them, and each in its own mode.",
    reference="Gershman, Hoffman & Blei 2012; paper 2, §4.2",
    check=check,
)
