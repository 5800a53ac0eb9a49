"""Nonparametric variational inference (Gershman, Hoffman & Blei 2012; paper 2, §4.2).

All components of a mixture of equally weighted Gaussians move together: their centres are the
factorizations. They start at the most probable of several times as many solved NMFs, polished until
each has converged; under the uniform likelihood, which has no slope that leads to a possible place,
all begin at the most probable one that is possible. Where the bound has no maximum
(:func:`bnmf_core.rrt.ascent.collapsed`) the components stay where they were before.
"""

from dataclasses import dataclass, replace

import numpy as np

from bnmf_core.core.algorithm import Algorithm, Batch, Needs, Shard
from bnmf_core.core.errors import SettingsError
from bnmf_core.core.model import Capability, required
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting
from bnmf_core.explorers.from_starts import MANY_ITERATIONS
from bnmf_core.explorers.stein_descent import shard_sizes
from bnmf_core.rrt.ascent import bound, climb, collapsed, spread
from bnmf_core.rrt.mixture import NO_BORDERS, best_scale, component_of, variance_alone
from bnmf_core.rrt.tree import refuse_impossible
from bnmf_core.solvers import hals, solution
from bnmf_core.solvers.solution import Stopping, random_start, solve_with

# Where all components begin at one place, each is first moved by this part of its standard
# deviation at random: equal components have no slope apart.
NUDGE = 1e-3
COLLAPSED = (
    "NVI stopped after {} iterations: after that, a component would lose all of A W, and with A W "
    "= 0 the bound grows without limit. The factorizations are those before that point. A smaller "
    "σ helps: with so much noise the data hardly determine the size of A and W."
)


@dataclass(frozen=True)
class Settings:
    """Iterations and the number of components of a mixture."""

    iterations: int = setting(
        300,
        "Iterations",
        "Iterations of L-BFGS on all centres and variances.",
        minimum=1,
        maximum=100_000,
    )
    restarts: int = setting(
        5,
        "Restarts for each component",
        "Random starts solved for each component; the components start at the most probable of "
        "all.",
        minimum=1,
        maximum=1000,
        advanced=True,
    )
    solver_iterations: int = setting(
        300,
        "Solver iterations before",
        "Maximum number of hals iterations of a start.",
        minimum=1,
        maximum=100_000,
        advanced=True,
    )
    polish: int = setting(
        10_000,
        "Maximum iterations of polishing",
        "Maximum number of further iterations, until convergence, at the start of a component.",
        minimum=1,
        maximum=100_000,
        advanced=True,
    )
    per_step: int = setting(
        25,
        "Iterations at a time",
        "Iterations between points at which the run can be cancelled and the memory of L-BFGS is "
        "reset.",
        minimum=1,
        maximum=10_000,
        advanced=True,
    )
    step: float = setting(
        0.05,
        "Step under the uniform likelihood",
        "Step of a component as a share of its standard deviation in every dimension.",
        minimum=1e-6,
        maximum=10,
        advanced=True,
    )
    together: int = setting(
        10,
        "Components of a mixture",
        "Runs with more factorizations are divided into mixtures of at most this many.",
        minimum=1,
        maximum=100,
    )


@dataclass(frozen=True)
class State:
    """A mixture on its way.

    Attributes
    ----------
    A, W : (m, D, R), (m, R, N) centres; until all are solved, (c, D, R), (c, R, N) starts.
    log_variances : (m,) log σ². bound : nats.
    unsolved, unpolished : starts that are still to be solved, and then to be polished.
    iterations : done so far.
    """

    A: np.ndarray
    W: np.ndarray
    log_variances: np.ndarray
    bound: float
    unsolved: int
    unpolished: int
    iterations: int


def check(problem: Problem, settings: Settings) -> None:
    """A flat prior gives the bound no largest value."""
    needed = problem.model.improper(problem.model_settings)
    if needed:
        raise SettingsError(f"NVI needs {needed}.")


def init(problem: Problem, settings: Settings, shard: Shard, rng: np.random.Generator) -> State:
    """Random starts, not yet solved; those of a component come from its own generator."""
    pairs = [
        random_start(problem.dataset, problem.rank, generator)
        for generator in map(shard.particle_generator, range(shard.size))
        for _ in range(settings.restarts)
    ]
    A, W = (np.stack(factors) for factors in zip(*pairs, strict=True))
    return State(A, W, np.zeros(shard.size), -np.inf, len(A), shard.size, 0)


def begun(problem: Problem, A: np.ndarray, W: np.ndarray, rng: np.random.Generator) -> State:
    """Components at A (m, D, R), W (m, R, N), about to climb."""
    A, W = best_scale(A, W)
    if problem.model.offending is not None:
        A, W, log_variances = _around_one(problem, A, W, rng)
    else:
        pairs = zip(A, W, strict=True)
        variances = [component_of(problem, a, w, rescale=False).best_variance for a, w in pairs]
        log_variances = np.log(variances)
    return State(A, W, log_variances, bound(problem, A, W, log_variances)[0], 0, 0, 0)


def step(
    problem: Problem, state: State, settings: Settings, rng: np.random.Generator
) -> tuple[State, Batch]:
    """Solve some starts, or climb for some iterations; hand the centres over after the last."""
    nothing = Batch.empty(problem)
    if state.unsolved:
        return _solved(problem, state, settings), nothing
    if state.unpolished:
        return _polished(problem, state, settings, rng), nothing
    count = min(settings.per_step, settings.iterations - state.iterations)
    factors = state.A, state.W, state.log_variances
    done, note, flat = state.iterations + count, "", problem.model.offending is not None
    if flat:
        A, W, log_variances, value = spread(problem, *factors, count, settings.step)
    else:
        A, W, log_variances, value = climb(problem, *factors, count)
    if not flat and collapsed(problem, A, W).any():
        note, done = COLLAPSED.format(state.iterations), settings.iterations
        state = replace(state, iterations=done)
    else:
        state = replace(state, A=A, W=W, log_variances=log_variances, bound=value, iterations=done)
    if done < settings.iterations:
        return state, nothing
    diagnostics = {
        "variance": np.exp(state.log_variances),
        "bound": np.full(state.log_variances.size, state.bound),
    }
    return state, Batch(state.A, state.W, diagnostics, note=note)


def _solved(problem: Problem, state: State, settings: Settings) -> State:
    """Solve some more starts; after the last one, select the most probable."""
    A, W, unsolved = _some(problem, state, state.unsolved, Stopping(settings.solver_iterations))
    if not unsolved:
        density = problem.model.log_joint(problem, *best_scale(A, W))
        best = np.argsort(-density, kind="stable")[: state.log_variances.size]
        A, W = A[best], W[best]
    return replace(state, A=A, W=W, unsolved=unsolved)


def _polished(
    problem: Problem, state: State, settings: Settings, rng: np.random.Generator
) -> State:
    """Some more starts converged; after the last one, all are about to climb."""
    if problem.model.offending is not None:  # what is possible now may not be at convergence
        return begun(problem, state.A, state.W, rng)
    A, W, left = _some(problem, state, state.unpolished, Stopping(settings.polish, tolerance=None))
    return replace(state, A=A, W=W, unpolished=left) if left else begun(problem, A, W, rng)


def _some(
    problem: Problem, state: State, left: int, stopping: Stopping
) -> tuple[np.ndarray, np.ndarray, int]:
    """Solve as many remaining starts as fit into one step; return how many are left."""
    each = hals.SOLVER.work(problem, min(stopping.max_iterations, MANY_ITERATIONS) / 3)
    first = len(state.A) - left
    last = min(len(state.A), first + max(1, int(solution.STEP_WORK / each)))
    A, W = state.A.copy(), state.W.copy()
    # One after the other, so that no bit depends on how many there are.
    for one in (slice(i, i + 1) for i in range(first, last)):
        A[one], W[one] = solve_with(hals.SOLVER, problem, A[one], W[one], stopping)
    return A, W, len(A) - last


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
    possible = required(problem.model.offending)(problem, moved[0][1], moved[1][1]) < 0
    A, W = (np.where(possible[:, None, None], nudged, center) for center, nudged in moved)
    return A, W, np.full(len(A), 2 * np.log(sigma))


def work(problem: Problem, settings: Settings) -> float:
    """Multiply-adds per component."""
    solving = hals.SOLVER.work(problem, settings.solver_iterations / 3)
    polishing = hals.SOLVER.work(problem, min(settings.polish, MANY_ITERATIONS) / 3)
    climbing = settings.iterations * 1.2 * solution.product_work(problem)
    return settings.restarts * solving + polishing + climbing


def fraction(state: State, settings: Settings) -> float:
    """Starts count for a fifth of the work, the iterations for the rest."""
    m = state.log_variances.size
    left = (state.unsolved + state.unpolished) / (m * (settings.restarts + 1))
    return 0.2 * (1.0 - left) + 0.8 * state.iterations / settings.iterations


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
    color="#8D994F",
    symbol="pentagon",
    summary="Fit a mixture of Gaussians to the posterior; the centres are the factorizations. "
    "Gives few factorizations, each in its own mode.",
    reference="Gershman, Hoffman & Blei 2012; paper 2, §4.2",
    check=check,
)
