"""Perturb and factor (paper 1, section 4.2): what "Single mode" and "All modes" share.

Each particle starts at a known exact factorization (A, W) of the data without noise, and
multiplicative updates (Lee & Seung 2001) then fit it to a matrix of its own, max(X̃ + E_i, 0) with
X̃ the data and E_i ~ N(0, σ²), σ the model's. The result varies as the noise makes it vary, and
stays in the mode that it started in.

Negative entries of X̃ + E_i become 0, because the updates need entries ≥ 0. That this is what the
paper did with X̃ itself shows in its tables: 36 of the 63 entries of the infinite problem are 0, and
its log-likelihood of −22.0 is what clipping gives; without it, it would be −31.5.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numba
import numpy as np

from bnmf_core.core.algorithm import ANY_SCALE, Algorithm, Batch, Needs, Shard, unshared
from bnmf_core.core.errors import RunError
from bnmf_core.core.model import Capability, required
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting
from bnmf_core.explorers.from_starts import shard_sizes
from bnmf_core.solvers import solution

# Entries of noisy matrices in memory at once: 8 MB.
NOISY_ENTRIES = 2**20
# A draw of a normal entry takes about as long as this many multiply-adds.
NORMAL_WORK = 30.0
CHECK_EVERY = 10
TINY = 1e-150


@dataclass(frozen=True)
class PerturbSettings:
    """Settings of both explorers."""

    max_iterations: int = setting(
        100,
        "Most updates",
        "Maximum number of multiplicative updates of each factorization.",
        minimum=1,
        maximum=100_000,
    )
    tolerance: float = setting(
        1e-4,
        "Stopping tolerance",
        "A factorization stops when ten updates lower its squared error by less than this share.",
        minimum=0,
        maximum=0.1,
    )
    block: int = setting(
        200,
        "Factorizations per block",
        "Number of factorizations per batch; the result does not depend on it.",
        minimum=1,
        maximum=10_000,
        advanced=True,
    )


@dataclass(frozen=True)
class State:
    """A block of m factorizations on their way.

    Attributes
    ----------
    A : (m, D, R), W : (m, R, N). iterations : (m,) updates done. active : (m,) not yet settled.
    squared_error : (m,) ‖X̃ + E_i − AW‖² at the last check.
    seed, start : the run's seed and the number of the block's first particle, from which each
        noisy matrix is made anew whenever it is needed; holding them all would take M·D·N.
    """

    A: np.ndarray
    W: np.ndarray
    iterations: np.ndarray
    active: np.ndarray
    squared_error: np.ndarray
    seed: int
    start: int


SettingsT = TypeVar("SettingsT", bound=PerturbSettings)


def explorer(
    start: Callable[[Problem, SettingsT, np.random.Generator], tuple[np.ndarray, np.ndarray]],
    Settings: type[SettingsT],
    check: Callable[[Problem, SettingsT], None],
    **described: Any,
) -> Algorithm[SettingsT, State]:
    """The algorithm that perturbs and factors from ``start(problem, settings, rng) → (A, W)``.

    ``check`` asks at least what :func:`check` does. ``described`` holds key, label, color and
    summary.
    """

    def init(
        problem: Problem, settings: SettingsT, shard: Shard, rng: np.random.Generator
    ) -> State:
        pairs = [start(problem, settings, shard.particle_generator(i)) for i in range(shard.size)]
        return State(
            A=np.stack([A for A, _ in pairs]).astype(np.float64),
            W=np.stack([W for _, W in pairs]).astype(np.float64),
            iterations=np.zeros(shard.size, dtype=np.int64),
            active=np.ones(shard.size, dtype=bool),
            squared_error=np.full(shard.size, np.inf),
            seed=shard.seed,
            start=shard.start,
        )

    return Algorithm(
        family="explorer",
        Settings=Settings,
        State=State,
        check=check,
        init=init,
        step=step,
        shard_sizes=shard_sizes,
        work=work,
        fraction=fraction,
        needs=Needs.of(Capability.GAUSSIAN_NOISE, supports=ANY_SCALE),
        reference="Masood, Pan & Doshi-Velez 2016 (paper 1), section 4.2",
        works=None,
        **described,
    )


def check(problem: Problem, settings: PerturbSettings) -> None:
    """Refuse data with gaps, and data of which no factorization of the rank is known.

    In a RunError and a SettingsError.
    """
    dataset = problem.dataset
    if dataset.missing:
        raise RunError(
            f"{dataset.missing:,} entries of {dataset.name!r} were not seen, and noisy copies "
            "need complete data; run this on the data before entries were masked, or fill the "
            "missing ones on the Data page."
        )
    dataset.known_factorizations(problem.rank)


def step(
    problem: Problem, state: State, settings: PerturbSettings, rng: np.random.Generator
) -> tuple[State, Batch]:
    """Update some particles of the block; hand over all of it once the last one has settled."""
    data = problem.dataset
    X, sigma = data.dense(), required(problem.model.noise_level)(problem.model_settings)
    per_update, entries = work_per_update(problem), data.D * data.N
    budget = solution.STEP_WORK
    state = unshared(state)
    A, W, iterations, active = state.A, state.W, state.iterations, state.active
    at_once = max(1, NOISY_ENTRIES // entries)
    while active.any() and budget > 0:
        # At least one check's worth each, and the noise pays for as many updates as there are.
        updates = int(budget / per_update)
        updates = max(CHECK_EVERY, min(updates, settings.max_iterations))
        fit = max(1, int(budget / (updates * per_update + NORMAL_WORK * entries)))
        chosen = np.flatnonzero(active)[: min(at_once, fit)]
        noisy = _noisy(X, sigma, state, chosen)
        now_A, now_W = A[chosen], W[chosen]
        now_iterations, now_error = iterations[chosen], state.squared_error[chosen]
        settled = multiply_until_settled(
            noisy,
            now_A,
            now_W,
            now_iterations,
            now_error,
            updates,
            settings.max_iterations,
            settings.tolerance,
        )
        budget -= (now_iterations - iterations[chosen]).sum() * per_update
        budget -= chosen.size * NORMAL_WORK * entries
        A[chosen], W[chosen] = now_A, now_W
        iterations[chosen], state.squared_error[chosen] = now_iterations, now_error
        active[chosen[settled]] = False
    if active.any():
        return state, Batch.empty(problem)
    A, W = problem.model.scale(A, W)
    converged = iterations < settings.max_iterations
    return state, Batch(A, W, {"iterations": iterations, "converged": converged})


def fraction(state: State, settings: PerturbSettings) -> float:
    """Part of the block's work that is done: settled particles count in full."""
    part = np.minimum(state.iterations / settings.max_iterations, 1.0)
    return float(np.where(state.active, part, 1.0).mean())


def work(problem: Problem, settings: PerturbSettings) -> float:
    """Multiply-adds per particle if a typical one needs half of the updates allowed."""
    entries = problem.dataset.D * problem.dataset.N
    return settings.max_iterations / 2 * work_per_update(problem) + NORMAL_WORK * entries


def work_per_update(problem: Problem) -> float:
    """Multiply-adds of one update of both factors of one particle, whose matrix is dense."""
    D, N, R = problem.dataset.D, problem.dataset.N, problem.rank
    return 2.0 * D * N * R + (D + N) * R * (2.0 * R + 20.0)


def _noisy(X: np.ndarray, sigma: float, state: State, chosen: np.ndarray) -> np.ndarray:
    """max(X̃ + E_i, 0) of the chosen particles: (m, D, N)."""
    noisy = np.empty((chosen.size, *X.shape))
    block = Shard(0, state.start, state.A.shape[0], state.seed)
    for place, i in enumerate(chosen):
        # A child of the particle's generator: independent of what its start has drawn.
        block.particle_generator(int(i)).spawn(1)[0].standard_normal(out=noisy[place])
    noisy *= sigma
    noisy += X
    return np.maximum(noisy, 0.0, out=noisy)


# Sums in any order, so that the compiler may add several entries at a time.
@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"}, forceinline=True)
def _update(  # noqa: PLR0912 (one loop nest)
    X: np.ndarray,
    A: np.ndarray,
    W: np.ndarray,
    gram: np.ndarray,
    linear: np.ndarray,
    column: np.ndarray,
    total: np.ndarray,
) -> tuple[float, float]:
    """One update of A (D, R), then of W (R, N), in place; ⟨W, AᵀX⟩ and ⟨AᵀA, WWᵀ⟩ back."""
    D, N = X.shape
    R = W.shape[0]
    for r in range(R):
        for s in range(R):
            value = 0.0
            for n in range(N):
                value += W[r, n] * W[s, n]
            gram[r, s] = value
            total[r, s] = 0.0
        for n in range(N):
            linear[r, n] = 0.0
    # A row of A needs only its own row of X, which is then in the cache for AᵀX: one pass.
    for d in range(D):
        for r in range(R):
            value = 0.0
            for n in range(N):
                value += X[d, n] * W[r, n]
            product = 0.0
            for s in range(R):
                product += A[d, s] * gram[s, r]
            column[r] = A[d, r] * value / product if product > TINY else A[d, r]
        for r in range(R):
            A[d, r] = column[r]
            for n in range(N):
                linear[r, n] += column[r] * X[d, n]
            for s in range(R):
                total[r, s] += column[r] * column[s]
    for n in range(N):
        for r in range(R):
            product = 0.0
            for s in range(R):
                product += total[r, s] * W[s, n]
            column[r] = W[r, n] * linear[r, n] / product if product > TINY else W[r, n]
        for r in range(R):
            W[r, n] = column[r]
    fit = 0.0
    size = 0.0
    for r in range(R):
        for s in range(R):
            value = 0.0
            for n in range(N):
                value += W[r, n] * W[s, n]
            size += value * total[r, s]
        for n in range(N):
            fit += W[r, n] * linear[r, n]
    return fit, size


@numba.njit(cache=True, nogil=True)
def multiply_until_settled(
    X: np.ndarray,
    A: np.ndarray,
    W: np.ndarray,
    iterations: np.ndarray,
    squared_error: np.ndarray,
    updates: int,
    most: int,
    tolerance: float,
) -> np.ndarray:
    """Multiplicative updates of each particle on its own matrix, in place.

    Parameters
    ----------
    X : (m, D, N) entries ≥ 0. A : (m, D, R), W : (m, R, N).
    iterations : (m,) done so far, at most ``most``. squared_error : (m,) at the last check.
    updates : how many more each takes at most now. tolerance : see ``PerturbSettings``.

    Returns
    -------
    (m,) bool, whether it has settled or reached ``most``.
    """
    m, D, N = X.shape
    R = W.shape[1]
    gram, total = np.empty((R, R)), np.empty((R, R))
    linear, column = np.empty((R, N)), np.empty(R)
    settled = np.zeros(m, dtype=np.bool_)
    for p in range(m):
        norm = 0.0
        for d in range(D):
            for n in range(N):
                norm += X[p, d, n] * X[p, d, n]
        for _ in range(updates):
            if iterations[p] >= most:
                break
            fit, size = _update(X[p], A[p], W[p], gram, linear, column, total)
            iterations[p] += 1
            if iterations[p] % CHECK_EVERY:
                continue
            now = max(norm - 2.0 * fit + size, 0.0)
            # Below 1e-15 of ‖X‖² the error in this form is rounding.
            enough = squared_error[p] - now <= tolerance * now or now <= 1e-15 * norm
            squared_error[p] = now
            if enough:
                settled[p] = True
                break
        if iterations[p] >= most:
            settled[p] = True
    return settled
