"""Random restarts with every entry of A and W between 0 and 1: maxima of the posterior density.

Given all else the log joint is a parabola in A_dr, with slope b − h·A_dr for the h and b of
:mod:`bnmf_core.boolean.box_gibbs`, so that its largest value on [0, 1] is at b/h, cut: where box
Gibbs draws, this climbs. An open σ² is integrated out. The log of (b₀ + ½‖X − AW‖²) lies below its
tangent, so that a climb with 1/σ² = (a₀ + n/2)/(b₀ + ½‖X − AW‖²) never lowers the log joint either.
"""

from dataclasses import dataclass

import numba
import numpy as np

from bnmf_core.boolean import panpal
from bnmf_core.boolean.box_gibbs import box_of
from bnmf_core.boolean.panpal import uniform_starts, work_per_iteration
from bnmf_core.core.algorithm import Algorithm, Batch, Needs, Shard, fitting, unshared
from bnmf_core.core.errors import SettingsError
from bnmf_core.core.model import Capability, EntryPrior, InverseGamma
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting
from bnmf_core.explorers.from_starts import block_setting, movement_setting, shard_sizes
from bnmf_core.numerics.residuals import squared_errors
from bnmf_core.numerics.sparse_products import SparseProducts
from bnmf_core.samplers.starting import check_posterior
from bnmf_core.solvers.solution import alike_columns
from bnmf_core.solvers.stationarity import turned

# Sweeps between looks at whether a factorization has come to rest, and by how much entries may
# still move in one that has.
CHECK_EVERY, AT_REST = 10, 1e-5
# Along a valley steps shrink ever more slowly, so the estimate is multiplied by this factor.
CAUTION = 10.0
# Steps shorter than this in each entry are rounding.
ROUNDING = 1e-13
TYPICAL_SWEEPS = 300

Pair = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Settings:
    """When a factorization stops."""

    max_iterations: int = setting(
        20_000,
        "Most sweeps",
        "Maximum number of iterations of a factorization, converged or not.",
        minimum=10,
        maximum=1_000_000,
    )
    movement: float = movement_setting()
    block: int = block_setting(4, "How many climb together")


@dataclass(frozen=True)
class State(panpal.State):
    """The same of sweeps, and movement : (m,) degrees, as last estimated."""

    movement: np.ndarray


def init(problem: Problem, settings: Settings, shard: Shard, rng: np.random.Generator) -> State:
    """Uniform entries, from each particle's own generator."""
    check(problem, settings)
    A, W = uniform_starts(problem, shard)
    m = shard.size
    return State(A, W, np.zeros(m, dtype=int), np.ones(m, dtype=bool), np.full(m, 90.0))


def check(problem: Problem, settings: Settings) -> None:
    """Refuse data of zeros, and a prior under which there is no largest density."""
    check_posterior(problem, ALGORITHM.label)
    if box_of(problem).prior is None:
        raise SettingsError(
            f"{ALGORITHM.label} climbs to the largest density, and under Beta(½, ½) it has no "
            "bound: choose another prior, or an algorithm that draws, such as Box Gibbs."
        )


def step(
    problem: Problem, state: State, settings: Settings, rng: np.random.Generator
) -> tuple[State, Batch]:
    """A bounded number of sweeps; all are handed over once the last one has stopped."""
    work = CHECK_EVERY * work_per_iteration(problem) * state.active.size
    products = SparseProducts.of(problem.dataset.X)
    for _ in range(fitting(work)):
        if not state.active.any():
            break
        state = _climbed(problem, state, settings, products)
    if state.active.any():
        return state, Batch.empty(problem)
    found = {
        "iterations": state.iterations,
        "converged": state.movement <= settings.movement,
        "movement": state.movement,
    }
    return state, Batch(state.A.transpose(0, 2, 1), state.W, found)


def _climbed(
    problem: Problem, state: State, settings: Settings, products: SparseProducts | None
) -> State:
    """Sweeps up to the next look, and the look."""
    chosen = np.flatnonzero(state.active)
    now: Pair = (state.A[chosen], state.W[chosen])
    for _ in range(CHECK_EVERY - 2):
        now = sweep(problem, *now, products)
    one = sweep(problem, *now, products)
    two = sweep(problem, *one, products)
    movement = to_turn(now, one, two)
    moved = np.maximum(*(np.abs(F - G).max(axis=(1, 2)) for F, G in zip(one, two, strict=True)))
    iterations = state.iterations[chosen] + CHECK_EVERY
    rests = (moved <= AT_REST) & (movement <= settings.movement)
    after = unshared(state)
    after.A[chosen], after.W[chosen] = two
    after.iterations[chosen], after.movement[chosen] = iterations, movement
    after.active[chosen] = ~rests & (iterations < settings.max_iterations)
    return after


def sweep(
    problem: Problem, A: np.ndarray, W: np.ndarray, products: SparseProducts | None = None
) -> Pair:
    """Every entry of A (m, R, D), then of W (m, R, N), to its best value given all others.

    ``products`` with X, where they are quicker than the problem's own.
    """
    box, seen = box_of(problem), problem.seen
    assert box.prior is not None
    X = problem if products is None else products
    heat = _heat(problem, A, W)
    A = _raised(A, X.times_rows(W), W, None if seen is None else seen.T, heat, box.prior)
    heat = _heat(problem, A, W)
    return A, _raised(W, X.times_columns(A), A, seen, heat, box.prior)


def _heat(problem: Problem, A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """1/σ² (m,), or what stands for it where σ² is integrated out; 1 where it does not matter."""
    box = box_of(problem)
    if not isinstance(box.noise, InverseGamma):
        return np.full(A.shape[0], 1.0 / box.noise)
    if box.prior == EntryPrior(largest=1.0):
        return np.ones(A.shape[0])
    data = problem.dataset
    squared = squared_errors(data.X, A.transpose(0, 2, 1), W, data.mask)
    found: np.ndarray = (box.noise.shape + 0.5 * data.observed) / (box.noise.scale + 0.5 * squared)
    return found


def _raised(
    F: np.ndarray,
    C: np.ndarray,
    other: np.ndarray,
    seen: np.ndarray | None,
    heat: np.ndarray,
    prior: EntryPrior,
) -> np.ndarray:
    """F (m, R, n) given C, the other factor (m, R, k) and where X was seen (k, n); a new array."""
    F = np.array(F, order="C")
    for i, h in enumerate(heat):
        for part, linear, G in alike_columns(F[i], C[i], other[i], seen):
            raise_entries(part, linear, G, h, prior.rate, prior.precision)
    return F


@numba.njit(cache=True, nogil=True, error_model="numpy")
def raise_entries(
    F: np.ndarray, C: np.ndarray, G: np.ndarray, heat: float, rate: float, precision: float
) -> None:
    """Move every entry of F (R, n) to its best place in [0, 1], in place, row by row.

    The log density is heat·(⟨C, F⟩ − ½⟨F, G F⟩) − rate·ΣF − ½ precision·ΣF². C (R, n);
    G (R, R, n), or (R, R, 1) for all columns. An entry on which nothing depends stays.
    """
    R, n = F.shape
    linear = np.empty(n)
    for r in range(R):
        linear[:] = C[r]
        for k in range(R):
            if k != r:
                for i in range(n):
                    linear[i] -= F[k, i] * G[k, r, i if G.shape[2] > 1 else 0]
        for i in range(n):
            h = heat * G[r, r, i if G.shape[2] > 1 else 0] + precision
            b = heat * linear[i] - rate
            if h > 0.0:
                F[r, i] = min(max(b / h, 0.0), 1.0)
            elif b < 0.0:
                F[r, i] = 0.0


def to_turn(now: Pair, one: Pair, two: Pair) -> np.ndarray:
    """How far bases A (m, R, D) would still turn after three states in a row: (m,) degrees.

    Steps near a maximum shrink in a constant proportion, so that those to come add up to the last
    one over one minus it; ten times that far, 90 at most. Where they do not shrink nothing is
    known: 90.
    """
    first, last = (
        np.sqrt(sum(((new - old) ** 2).sum(axis=(1, 2)) for old, new in zip(*pair, strict=True)))
        for pair in ((now, one), (one, two))
    )
    moving = last > ROUNDING * np.sqrt(now[0][0].size + now[1][0].size)
    ratio = np.divide(last, first, out=np.where(moving, np.inf, 0.0), where=moving & (first > 0))
    way = np.divide(CAUTION, 1.0 - ratio, out=np.zeros_like(ratio), where=ratio < 1.0)
    towards = one[0] + way[:, None, None] * (two[0] - one[0])
    turns = np.minimum(turned(one[0], np.clip(towards, 0.0, 1.0)), 90.0)
    found: np.ndarray = np.where(ratio < 1.0, turns, 90.0)
    return found


def fraction(state: State, settings: Settings) -> float:
    """Estimated fraction of the block's work that is done."""
    way = state.iterations / (state.iterations + TYPICAL_SWEEPS)
    return float(np.where(state.active, way, 1.0).mean())


def work(problem: Problem, settings: Settings) -> float:
    """Multiply-adds of a typical particle."""
    return min(settings.max_iterations, TYPICAL_SWEEPS) * work_per_iteration(problem)


ALGORITHM = Algorithm(
    key="box_restarts",
    label="Box restarts",
    family="explorer",
    Settings=Settings,
    State=State,
    init=init,
    step=step,
    shard_sizes=shard_sizes,
    work=work,
    fraction=fraction,
    check=check,
    needs=Needs.of(Capability.BOX),
    color="#BF7B08",
    symbol="diamond",
    summary="Start from random entries between 0 and 1 and climb to the nearest maximum of the "
    "density, repeatedly. Finds the modes of binary matrices.",
    reference="Cichocki & Phan 2009, cut to [0, 1]",
)
