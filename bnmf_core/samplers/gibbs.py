"""Gibbs sampling, for models with Gaussian noise (Schmidt, Winther & Hansen 2009) and for counts.

For counts see :mod:`bnmf_core.samplers.sources`; here is what Gaussian noise needs.

Given everything else, and with an exponential prior, A_dr is a normal truncated to ≥ 0 with
variance s² = σ²/Σ_n W_rn² and mean [Σ_n (X_dn − Σ_{k≠r} A_dk W_kn) W_rn]/Σ_n W_rn² − λs²; paper 1
prints it without the factor W_rn and hides λs². The model says which σ², and of each factor which
λ, whether a half-normal prior adds to the precision and whether entries end at 1, see
:class:`bnmf_core.core.model.Conditionals`.

X enters through X Wᵀ and W Wᵀ only, so a sweep is one product with X, which serves all chains of a
shard, and a compiled pass over A; then the same for W. Where X has gaps, the sums are over the seen
entries of row d: X Wᵀ as before, as X holds 0 where it was not seen, and a matrix Σ_n w_n w_nᵀ for
each row in place of W Wᵀ. After each sweep a move of its own draws the scale of each component,
in which sweeps alone take small steps, see :mod:`bnmf_core.samplers.scale_move`.

The draws of one shard come from one generator: a chain's path depends on the seed and on how many
chains the run has, not on threads or interruptions.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from bnmf_core.core.algorithm import Algorithm, Batch, Needs, Shard, fitting
from bnmf_core.core.model import Capability, EntryPrior, required
from bnmf_core.core.problem import Problem
from bnmf_core.samplers import scale_move, sources
from bnmf_core.samplers.adaptive import (
    TYPICAL,
    WarmUp,
    expected_sweeps,
    longest_setting,
    thinning_of,
)
from bnmf_core.samplers.chains import (
    chains_of,
    chains_setting,
    joined,
    recorded,
    shard_sizes,
    thinning_setting,
    warm_up_setting,
)
from bnmf_core.samplers.starting import checking, start_setting, starts
from bnmf_core.samplers.truncated_normal import (
    draw_factors,
    draw_factors_within,
)
from bnmf_core.solvers.solution import gram, product_work, seen_grams

# Entries of chains that are swept together: their data stay in the L2 cache.
ENTRIES_TOGETHER = 2**16


@dataclass(frozen=True)
class Settings:
    """Number of chains, starts, and thinning."""

    chains: int = chains_setting(1)
    warm_up: int = warm_up_setting(100)
    thinning: int = thinning_setting(5)
    longest: int = longest_setting()
    start: str = start_setting()


@dataclass(frozen=True)
class State:
    """State of c chains, A (c, R, D) and W (c, R, N).

    draws : (c,) number of particles of each chain. first : number of the first chain in the run.
    k : (c,) the dispersion of negative binomial counts, which is drawn as well; (0,) elsewhere.
    sweeps : done. warm_up : what an adaptive warm-up has recorded; None once it is over.
    begin, thinning : sweeps before the draws, and for each of them; those of the settings, or as
    the warm-up measured them.
    """

    A: np.ndarray
    W: np.ndarray
    draws: np.ndarray
    first: int
    sweeps: int
    begin: int
    thinning: int
    warm_up: WarmUp | None
    k: np.ndarray = field(default_factory=lambda: np.empty(0))


def init(problem: Problem, settings: Settings, shard: Shard, rng: np.random.Generator) -> State:
    """Start each chain at a solved NMF, at a prior draw or at a known factorization."""
    first, draws = chains_of(settings, shard)
    generators = [shard.particle_generator(chain) for chain in range(draws.size)]
    A, W = starts(problem, settings, generators, "Gibbs")
    return started(problem, np.ascontiguousarray(A.transpose(0, 2, 1)), W, draws, first, settings)


def started(
    problem: Problem,
    A: np.ndarray,
    W: np.ndarray,
    draws: np.ndarray,
    first: int,
    settings: Settings,
) -> State:
    """Chains that start at A (c, R, D), W (c, R, N); the other arguments as of :class:`State`."""
    warm_up = WarmUp.begin(A, W) if settings.longest else None
    k = sources.first_dispersion(problem, A.shape[0])
    return State(A, W, draws, first, 0, settings.warm_up, settings.thinning, warm_up, k)


def step(
    problem: Problem, state: State, settings: Settings, rng: np.random.Generator
) -> tuple[State, Batch]:
    """A bounded number of sweeps; every ``thinning``-th one after the warm-up is kept.

    A warm-up of fixed length is recorded at the same distance, counted back from its end.
    """
    batches: list[Batch] = []
    left = fitting(state.draws.size * work_per_sweep(problem))
    while state.warm_up is not None and left:
        state = _swept(problem, state, rng)
        state = warmed(problem, state, settings)
        left -= 1
    total = total_sweeps(state, settings)
    for _ in range(left):
        if state.sweeps == total:
            break
        state = _swept(problem, state, rng)
        after = state.sweeps - state.begin
        if after % state.thinning == 0:
            known = {"dispersion": state.k} if state.k.size else {}
            batches.append(recorded(state, after // state.thinning, state.A, state.W, known))
    return state, joined(problem, batches)


def _swept(problem: Problem, state: State, rng: np.random.Generator) -> State:
    if sources.serve(problem):
        A, W, k = sources.sweep(problem, state.A, state.W, state.k, rng)
        return replace(state, A=A, W=W, k=k, sweeps=state.sweeps + 1)
    A, W = sweep_in_parts(problem, state.A, state.W, rng)
    A, W, _ = scale_move.move(problem, A, W, rng)
    return replace(state, A=A, W=W, sweeps=state.sweeps + 1)


def warmed(problem: Problem, state: State, settings: Settings) -> State:
    """The chains after a sweep of an adaptive warm-up, which may be its last."""
    warm_up = required(state.warm_up).noted(problem, state.A, state.W, state.sweeps)
    if not warm_up.full:
        return replace(state, warm_up=warm_up)
    warm_up, stationary = warm_up.checked()
    if not stationary and 2 * state.sweeps <= settings.longest:
        return replace(state, warm_up=warm_up)
    draws = int(state.draws.max())
    thinning = thinning_of(warm_up, settings.thinning, draws, settings.longest)
    return replace(state, warm_up=None, begin=state.sweeps, thinning=thinning)


def total_sweeps(state: State, settings: Settings) -> int:
    """Sweeps of a chain in all; expected ones during an adaptive warm-up."""
    draws = int(state.draws.max())
    if state.warm_up is None:
        return state.begin + state.thinning * draws
    return expected_sweeps(state.warm_up, state.sweeps, draws, settings.longest)


def sweep_in_parts(
    problem: Problem, A: np.ndarray, W: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """:func:`sweep` of chains in parts that fit the cache, one after the other."""
    together = max(1, ENTRIES_TOGETHER // (A[0].size + W[0].size))
    parts = [slice(first, first + together) for first in range(0, A.shape[0], together)]
    swept = [sweep(problem, A[part], W[part], rng) for part in parts]
    if len(swept) == 1:
        return swept[0]
    return np.concatenate([one for one, _ in swept]), np.concatenate([one for _, one in swept])


def sweep(
    problem: Problem,
    A: np.ndarray,
    W: np.ndarray,
    rng: np.random.Generator,
    variance: float | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw every column of A (c, R, D), then every row of W (c, R, N); new arrays.

    ``variance`` of the noise, None for the model's own: σ²/β draws from the posterior whose
    likelihood is raised to the power β. Poisson counts have none, and are swept by their sources.
    """
    if sources.serve(problem):
        A, W, _ = sources.sweep(problem, A, W, np.empty(0), rng)
        return A, W
    drawn = required(problem.model.conditionals)(problem.model_settings)
    variance = drawn.noise_variance if variance is None else variance
    seen = problem.seen
    if seen is not None:
        A = draw_seen(A, problem.times_rows(W), W, seen.T, variance, drawn.A, rng)
        return A, draw_seen(W, problem.times_columns(A), A, seen, variance, drawn.W, rng)
    A = draw(A, problem.times_rows(W), gram(W), variance, drawn.A, rng)
    W = draw(W, problem.times_columns(A), gram(A), variance, drawn.W, rng)
    return A, W


def draw(
    F: np.ndarray,
    C: np.ndarray,
    G: np.ndarray,
    variance: float,
    prior: EntryPrior,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draw F (c, R, n) given C = the other factor times the data and G = its Gram matrix.

    ``variance`` of the noise; ``prior`` of the entries of F.
    """
    F = F.copy()
    uniform = _uniforms(F.shape, rng)
    if np.isinf(prior.largest):
        if prior.precision > 0.0:  # in units of the noise's
            G = G + prior.precision * variance * np.eye(G.shape[-1])
        draw_factors(F, C, G, variance, prior.rate, uniform)
        return F
    for chain, grams in enumerate(G):
        _draw_chain(F[chain], C[chain], grams[:, :, None], variance, prior, uniform[chain])
    return F


def _uniforms(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """In (0, 1]."""
    drawn = rng.random(shape)
    return np.subtract(1.0, drawn, out=drawn)


def draw_seen(
    F: np.ndarray,
    C: np.ndarray,
    other: np.ndarray,
    seen: np.ndarray,
    variance: float,
    prior: EntryPrior,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draw F (c, R, n) given C, the other factor (c, R, k), and where X was seen (k, n)."""
    F = F.copy()
    uniform = _uniforms(F.shape, rng)
    for chain in range(F.shape[0]):
        for columns, G in seen_grams(other[chain], seen):
            part, linear = F[chain, :, columns].copy(), C[chain, :, columns].copy()
            _draw_chain(part, linear, G, variance, prior, uniform[chain, :, columns].copy())
            F[chain, :, columns] = part
    return F


def _draw_chain(
    F: np.ndarray,
    C: np.ndarray,
    G: np.ndarray,
    variance: float,
    prior: EntryPrior,
    uniform: np.ndarray,
) -> None:
    """Draw one chain's F (R, n) in place, with a Gram matrix for every column: G (R, R, n)."""
    linear, precision = np.full(F.shape, -prior.rate), np.full(F.shape, prior.precision)
    draw_factors_within(F, C, G, 1 / variance, linear, precision, prior.largest, uniform)


def work_per_sweep(problem: Problem) -> float:
    """Multiply-adds of one chain's sweep; a draw costs about 40, setting out on one 1e5."""
    data, R = problem.dataset, problem.rank
    if sources.serve(problem):
        return sources.work_per_sweep(problem)
    return product_work(problem) + (data.D + data.N) * R * (40.0 + R) + 1e5


def fraction(state: State, settings: Settings) -> float:
    """Part of the chain's sweeps that are done, as far as is known."""
    return state.sweeps / total_sweeps(state, settings)


def work(problem: Problem, settings: Settings) -> float:
    """Multiply-adds per kept draw; the warm-up is left out unless it is adaptive."""
    sweeps = 2.0 * max(settings.thinning, TYPICAL) if settings.longest else settings.thinning
    return sweeps * work_per_sweep(problem)


def works(problem: Problem, _: Settings) -> str:
    """References, which differ for counts and Gaussian noise."""
    return sources.works(problem) if sources.serve(problem) else ALGORITHM.reference


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
    check=checking("Gibbs", conditionals=True),
    needs=Needs.of(Capability.SWEEPS),
    color="#C42B31",
    symbol="square",
    summary="Sample the posterior by redrawing one column at a time. Exact in the long run; "
    "rarely leaves the mode in which it starts.",
    reference="Schmidt, Winther & Hansen 2009; paper 1, §2.2",
    works=works,
)
