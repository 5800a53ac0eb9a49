"""Gibbs sampling of the gaussian model (Schmidt, Winther & Hansen 2009).

Given everything else, A_dr is a normal truncated to ≥ 0 with variance s² = σ²/Σ_n W_rn² and
mean [Σ_n (X_dn − Σ_{k≠r} A_dk W_kn) W_rn]/Σ_n W_rn² − λs²; paper 1 prints it without the
factor W_rn and hides λs². X enters through X Wᵀ and W Wᵀ only, so a sweep is one product with X
and a compiled pass over the rows of A; then the same for W.
"""

from dataclasses import dataclass

import numpy as np

from bnmf_core.errors import SettingsError
from bnmf_core.problem import Problem
from bnmf_core.samplers.truncated_normal import draw_rows
from bnmf_core.settings import setting
from bnmf_core.solvers import hals
from bnmf_core.solvers.starts import random_start
from bnmf_core.types import Algorithm, Batch, Shard

# Multiply-adds of one step: about a third of a second on one core.
STEP_WORK = 1.0e9
START_ITERATIONS = 200


@dataclass(frozen=True)
class Settings:
    """How many chains, where they start, what is kept."""

    chains: int = setting(
        1,
        "Chains",
        "Independent chains; the draws are shared out among them.",
        minimum=1,
        maximum=64,
    )
    warm_up: int = setting(
        100,
        "Warm-up sweeps",
        "Sweeps thrown away before the first draw is kept.",
        minimum=0,
        maximum=1_000_000,
    )
    thinning: int = setting(
        5, "Sweeps per kept draw", "One draw in this many is kept.", minimum=1, maximum=10_000
    )
    start: str = setting(
        "restart",
        "Start of a chain",
        "“restart”: a solved NMF from a random start. “prior”: a draw from the prior.",
        choices=("restart", "prior"),
    )


@dataclass(frozen=True)
class State:
    """The chain's position, A (D, R) and W (N, R), and the sweeps done."""

    A: np.ndarray
    W: np.ndarray
    sweeps: int
    total: int


def init(problem: Problem, settings: Settings, shard: Shard, rng: np.random.Generator) -> State:
    """Start a chain at a solved NMF, at the prior's favourite scale, or at a prior draw."""
    if problem.model_settings.rate <= 0:
        raise SettingsError(
            "Gibbs needs a prior rate λ above 0: with a flat prior the posterior has no finite "
            "total, and the chain would drift off."
        )
    total = settings.warm_up + settings.thinning * shard.size
    data, rank = problem.dataset, problem.rank
    if settings.start == "prior":
        scale = 1 / problem.model_settings.rate
        A = rng.exponential(scale, (data.D, rank))
        W = rng.exponential(scale, (data.N, rank))
        return State(A, W, 0, total)
    A, W = random_start(data, rank, shard.particle_generator(0))
    A, W = hals.solve(problem, A[None], W[None], START_ITERATIONS)
    A, W = problem.model.scale(A, W)
    return State(A[0], np.ascontiguousarray(W[0].T), 0, total)


def step(problem: Problem, state: State, settings: Settings, rng: np.random.Generator):
    """A bounded number of sweeps; every ``thinning``-th one after the warm-up is kept."""
    kept_A, kept_W = [], []
    A, W, sweeps = state.A, state.W, state.sweeps
    for _ in range(max(1, int(STEP_WORK / work_per_sweep(problem)))):
        if sweeps == state.total:
            break
        A, W = sweep(problem, A, W, rng)
        sweeps += 1
        after = sweeps - settings.warm_up
        if after > 0 and after % settings.thinning == 0:
            kept_A.append(A)
            kept_W.append(W.T)
    D, N, R = problem.dataset.D, problem.dataset.N, problem.rank
    batch = Batch(np.array(kept_A).reshape(-1, D, R), np.array(kept_W).reshape(-1, R, N))
    return State(A, W, sweeps, state.total), batch


def sweep(
    problem: Problem, A: np.ndarray, W: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw every column of A (D, R), then every column of W (N, R); new arrays."""
    A = draw_columns(problem, A, problem.rows @ W, W.T @ W, rng)
    W = draw_columns(problem, W, problem.columns @ A, A.T @ A, rng)
    return A, W


def draw_columns(
    problem: Problem, F: np.ndarray, C: np.ndarray, G: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Draw F (n, R) given C = data times the other factor and G = its Gram matrix; a new array."""
    F = F.copy()
    settings = problem.model_settings
    uniform = 1.0 - rng.random(F.shape)  # in (0, 1]
    draw_rows(F, np.ascontiguousarray(C), G, settings.sigma**2, settings.rate, uniform)
    return F


def work_per_sweep(problem: Problem) -> float:
    """Multiply-adds of one sweep; a draw costs about 150, setting out on a sweep 1e5."""
    data, R = problem.dataset, problem.rank
    products = 2.0 * data.stored_entries * R * (8 if data.is_sparse else 1)
    return products + (data.D + data.N) * R * (150.0 + R) + 1e5


def shard_sizes(settings: Settings, particles: int) -> list[int]:
    """The draws shared out among the chains, the first ones taking the remainder."""
    chains = min(settings.chains, particles)
    each, rest = divmod(particles, chains)
    return [each + (chain < rest) for chain in range(chains)]


def fraction(state: State, settings: Settings) -> float:
    """Part of the chain's sweeps that are done."""
    return state.sweeps / state.total


def work(problem: Problem, settings: Settings) -> float:
    """Multiply-adds per kept draw, the warm-up left out."""
    return settings.thinning * work_per_sweep(problem)


ALGORITHM = Algorithm(
    key="gibbs",
    label="Gibbs",
    family="sampler",
    Settings=Settings,
    State=State,
    init=init,
    step=step,
    shard_sizes=shard_sizes,
    work=work,
    fraction=fraction,
    models=("gaussian",),
    color="#D55E00",
    summary="Walk through the posterior, redrawing one column at a time. Right in the long run; "
    "rarely leaves the mode it starts in.",
    reference="Schmidt, Winther & Hansen 2009; paper 1, §2.2",
)
