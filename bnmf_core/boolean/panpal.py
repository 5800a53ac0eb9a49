"""Proximal alternating linearised minimisation for binary matrices (Hess and others 2017).

    F(A, W) + λ (φ(A) + φ(W)),  F = ½‖X − AW‖² + ½ (ΣA + ΣW),  φ(F) = Σ 1 − |1 − 2F| on [0, 1],

over the cells that were seen (paper 4, §2.2, its slips put right). A ← prox_{λα}(A − α ∇_A F) with
α = 1/(γ‖WWᵀ‖), γ > 1, then W: a step of at most 1 over the Lipschitz constant, so that F + λφ never
rises at a given λ. φ draws entries to 0 and 1; from a random start it holds on to them too soon, so
λ rises from 0.
"""

from dataclasses import dataclass

import numpy as np

from bnmf_core.core.algorithm import Algorithm, Batch, Needs, Shard, fitting, unshared
from bnmf_core.core.model import Support
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.explorers.from_starts import block_setting, shard_sizes
from bnmf_core.numerics.residuals import squared_errors
from bnmf_core.samplers.starting import check_posterior
from bnmf_core.solvers.solution import gram, product_work

# γ: how much shorter than allowed a step is.
SHORTER = 1.0 + 1e-3
HALF = 0.5
TYPICAL_ITERATIONS = 600
IN_THE_BOX = frozenset([(Support.UNIT_INTERVAL, Support.UNIT_INTERVAL)])


@dataclass(frozen=True)
class Settings:
    """Strength of the pull to 0 and 1, and stopping."""

    weight: float = setting(
        1.0, "Weight λ", "Of the pull towards 0 and 1.", minimum=0.0, maximum=1000
    )
    ramp: int = setting(
        200,
        "Iterations of the ramp",
        "Number of iterations over which λ rises from 0; 0: constant, as published.",
        minimum=0,
        maximum=100_000,
    )
    max_iterations: int = setting(
        2000,
        "Maximum iterations",
        "A factorization stops here at the latest.",
        minimum=1,
        maximum=1_000_000,
    )
    tolerance: float = setting(
        1e-6,
        "Converged when entries move by at most",
        "Checked after the ramp.",
        minimum=0.0,
        maximum=1.0,
        advanced=True,
    )
    block: int = block_setting(4)


@dataclass(frozen=True)
class State:
    """m factorizations on their way: Aᵀ (m, R, D), W (m, R, N).

    iterations : (m,) done. active : (m,) which have not stopped.
    """

    A: np.ndarray
    W: np.ndarray
    iterations: np.ndarray
    active: np.ndarray


def init(problem: Problem, settings: Settings, shard: Shard, rng: np.random.Generator) -> State:
    """Uniform entries, from each particle's own generator."""
    check(problem, settings)
    A, W = uniform_starts(problem, shard)
    return State(A, W, np.zeros(shard.size, dtype=int), np.ones(shard.size, dtype=bool))


def uniform_starts(problem: Problem, shard: Shard) -> tuple[np.ndarray, np.ndarray]:
    """Aᵀ (m, R, D) and W (m, R, N), uniform between 0 and 1, from each particle's own generator."""
    data, R = problem.dataset, problem.rank
    generators = [shard.particle_generator(i) for i in range(shard.size)]
    A = np.stack([one.random((R, data.D)) for one in generators])
    return A, np.stack([one.random((R, data.N)) for one in generators])


def check(problem: Problem, settings: Settings) -> None:
    """Refuse data of zeros."""
    check_posterior(problem, "PanPAL")


def step(
    problem: Problem, state: State, settings: Settings, rng: np.random.Generator
) -> tuple[State, Batch]:
    """A bounded number of iterations; all are handed over once the last one has stopped."""
    count = fitting(state.active.size * work_per_iteration(problem))
    for _ in range(count):
        if not state.active.any():
            break
        state = _iterated(problem, state, settings)
    if state.active.any():
        return state, Batch.empty(problem)
    A, W = state.A.transpose(0, 2, 1), state.W
    between = sum(((F > 0.0) & (F < 1.0)).sum(axis=(1, 2)) for F in (A, W))
    found = {
        "iterations": state.iterations,
        "converged": state.iterations < settings.max_iterations,
        "objective": objective(problem, A, W, settings.weight),
        "undecided": between / (A[0].size + W[0].size),
    }
    return state, Batch(A, W, found)


def _iterated(problem: Problem, state: State, settings: Settings) -> State:
    chosen = np.flatnonzero(state.active)
    # All that are active have done as many.
    done = int(state.iterations[chosen[0]])
    weight = settings.weight * (min(1.0, done / settings.ramp) if settings.ramp else 1.0)
    A, W = state.A[chosen], state.W[chosen]
    new_A, new_W = iterate(problem, A, W, weight)
    moved = np.maximum(np.abs(new_A - A).max(axis=(1, 2)), np.abs(new_W - W).max(axis=(1, 2)))
    after = unshared(state)
    after.A[chosen], after.W[chosen] = new_A, new_W
    after.iterations[chosen] += 1
    settled = (moved <= settings.tolerance) & (done >= settings.ramp)
    after.active[chosen] = ~settled & (done + 1 < settings.max_iterations)
    return after


def iterate(
    problem: Problem, A: np.ndarray, W: np.ndarray, weight: float
) -> tuple[np.ndarray, np.ndarray]:
    """One step of A (m, R, D), then one of W (m, R, N); new arrays."""
    A = _stepped(A, _downhill(problem, A, W, of_A=True), gram(W), weight)
    return A, _stepped(W, _downhill(problem, A, W, of_A=False), gram(A), weight)


def _downhill(problem: Problem, A: np.ndarray, W: np.ndarray, of_A: bool) -> np.ndarray:
    """−∇F in A (m, R, D) or in W (m, R, N)."""
    if problem.dataset.missing:
        _, by_A, by_W = SQUARED_ERROR.values_and_gradients(problem, A.transpose(0, 2, 1), W)
        return -0.5 * (by_A.transpose(0, 2, 1) if of_A else by_W) - HALF
    if of_A:
        return problem.times_rows(W) - gram(W) @ A - HALF
    return problem.times_columns(A) - gram(A) @ W - HALF


def _stepped(F: np.ndarray, downhill: np.ndarray, G: np.ndarray, weight: float) -> np.ndarray:
    norms = np.linalg.norm(G, ord=2, axis=(1, 2))
    # Where the other factor is empty F is flat but for its linear part: any step will do.
    alpha = 1.0 / (SHORTER * np.where(norms > 0, norms, 1.0))[:, None, None]
    return prox(F + alpha * downhill, weight * alpha)


def prox(Z: np.ndarray, rho: float | np.ndarray) -> np.ndarray:
    """argmin over 0 ≤ x ≤ 1 of ½(x − z)² + ρ(1 − |1 − 2x|): away from ½ by 2ρ, then cut."""
    moved: np.ndarray = np.where(Z <= HALF, Z - 2.0 * rho, Z + 2.0 * rho)
    return np.clip(moved, 0.0, 1.0)


def objective(problem: Problem, A: np.ndarray, W: np.ndarray, weight: float) -> np.ndarray:
    """F + λφ of A (m, D, R) and W (m, R, N) in [0, 1]: (m,)."""
    squared = squared_errors(problem.dataset.X, A, W, problem.dataset.mask)
    total = 0.5 * squared
    for F in (A, W):
        total = total + (HALF * F + weight * (1.0 - np.abs(1.0 - 2.0 * F))).sum(axis=(1, 2))
    return total


def work_per_iteration(problem: Problem) -> float:
    """Multiply-adds of one iteration of one factorization."""
    data, R = problem.dataset, problem.rank
    return product_work(problem) + (data.D + data.N) * R * (R + 10.0) + 1e5


def fraction(state: State, settings: Settings) -> float:
    """Part of the block's work that is done."""
    way = np.minimum(state.iterations / settings.max_iterations, 1.0)
    return float(np.where(state.active, way, 1.0).mean())


def work(problem: Problem, settings: Settings) -> float:
    """Multiply-adds of a typical particle."""
    return min(settings.max_iterations, TYPICAL_ITERATIONS) * work_per_iteration(problem)


ALGORITHM = Algorithm(
    key="panpal",
    label="PanPAL",
    family="explorer",
    Settings=Settings,
    State=State,
    init=init,
    step=step,
    shard_sizes=shard_sizes,
    work=work,
    fraction=fraction,
    check=check,
    needs=Needs.of(supports=IN_THE_BOX),
    color="#9F79CF",
    symbol="pentagon",
    summary="Minimize the error from random starts while a penalty pulls entries to 0 and 1. "
    "Finds tiles quickly, without draws.",
    reference="Hess, Morik & Piatkowski 2017; paper 4, §2.2",
)
