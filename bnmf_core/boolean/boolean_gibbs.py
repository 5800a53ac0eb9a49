"""Gibbs sampling of factors of 0 and 1 whose Boolean product was flipped here and there; exact.

A cell that some tile covers is 1 but for the rate p₋, any other is 0 but for the rate p₊. With
L_dn = log P(X_dn | covered) − log P(X_dn | not), 0 where X was not seen,

    logit P(A_dr = 1 | all else) = Σ_n W_rn·[no other tile covers (d, n)]·L_dn + logit π,

likewise for W. Open rates are drawn from Beta(1 + wrong, 1 + right), cut at ½: without the cut yes
and no could change places. This is another posterior than that of the model of entries between 0
and 1, which runs with it for its starts: ``log_posterior`` among the diagnostics is its own, the
log joint that of the model.

Single entries seldom leave a wrong arrangement of tiles. Chains start from box Gibbs, or warm up
under a power of the likelihood that rises to 1.
"""

from dataclasses import dataclass, replace

import numba
import numpy as np
from scipy import special

from bnmf_core.boolean import box_gibbs
from bnmf_core.core.algorithm import Algorithm, Batch, Needs, Shard, fitting
from bnmf_core.core.model import Capability
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting
from bnmf_core.numerics.matrix import boolean_product, dense
from bnmf_core.numerics.sparse_products import SparseProducts
from bnmf_core.samplers import gibbs
from bnmf_core.samplers.chains import (
    chains_of,
    chains_setting,
    joined,
    recorded,
    shard_sizes,
    thinning_setting,
    warm_up_setting,
)
from bnmf_core.samplers.starting import checking

# From where box Gibbs hands over.
BOX_SWEEPS = 120
HALF = 0.5


@dataclass(frozen=True)
class Settings:
    """Number of chains, starts, thinning, and the prior of the rates."""

    chains: int = chains_setting(4)
    warm_up: int = warm_up_setting(50)
    thinning: int = thinning_setting(1)
    start: str = setting(
        "box",
        "Start of a chain",
        "“box”: the last state of Box Gibbs. “restart”: a solved NMF. “prior”: a draw from the "
        "prior. “known”: a known factorization. Entries above ½ count as 1.",
        choices=("box", "restart", "prior", "known"),
    )
    rise: bool = setting(
        False,
        "Warm up under a rising likelihood",
        "During the warm-up the likelihood is raised to a power that increases to 1, so that "
        "tiles can still move.",
    )
    on: float = setting(
        0.5,
        "Prior probability π of an entry",
        "That an entry of a factor is 1, before X.",
        minimum=1e-6,
        maximum=1 - 1e-6,
        advanced=True,
    )
    false_positive: float | None = setting(
        None,
        "False ones p₊",
        "Probability of a 1 outside all tiles. Empty: inferred, below ½.",
        minimum=1e-9,
        maximum=0.5,
    )
    false_negative: float | None = setting(
        None,
        "False zeros p₋",
        "Probability of a 0 inside a tile. Empty: inferred, below ½.",
        minimum=1e-9,
        maximum=0.5,
    )


@dataclass(frozen=True)
class State:
    """State of c chains: A (c, R, D) and W (c, R, N), of 0 and 1 once ``preparing`` is 0.

    rates : (c, 2) p₊ and p₋. variance : (c,) of box Gibbs while it prepares the start.
    preparing : its sweeps to do. draws : (c,) number of particles of each chain. first : number of
    the first chain in the run. sweeps, total : done and to do.
    """

    A: np.ndarray
    W: np.ndarray
    rates: np.ndarray
    variance: np.ndarray
    preparing: int
    draws: np.ndarray
    first: int
    sweeps: int
    total: int


def init(problem: Problem, settings: Settings, shard: Shard, rng: np.random.Generator) -> State:
    """Start each chain, at first with entries between 0 and 1."""
    from_box = settings.start == "box"
    start = "prior" if from_box else settings.start
    lead = box_gibbs.init(
        problem, box_gibbs.Settings(chains=settings.chains, start=start), shard, rng
    )
    _, draws = chains_of(settings, shard)
    state = State(
        lead.A,
        lead.W,
        np.tile([settings.false_positive or 0.1, settings.false_negative or 0.1], (draws.size, 1)),
        lead.variance,
        BOX_SWEEPS if from_box else 0,
        draws,
        lead.first,
        0,
        settings.warm_up + settings.thinning * int(draws.max()),
    )
    return state if from_box else _rounded(state)


def _rounded(state: State) -> State:
    A, W = ((F > HALF).astype(np.float64) for F in (state.A, state.W))
    return replace(state, A=A, W=W)


def step(
    problem: Problem, state: State, settings: Settings, rng: np.random.Generator
) -> tuple[State, Batch]:
    """A bounded number of sweeps; every ``thinning``-th one after the warm-up is kept."""
    chains = state.draws.size
    if state.preparing:
        count = fitting(chains * gibbs.work_per_sweep(problem))
        A, W, variance = state.A, state.W, state.variance
        products = SparseProducts.of(problem.dataset.X)
        for _ in range(min(count, state.preparing)):
            A, W, variance = box_gibbs.sweep(problem, A, W, variance, rng, products)
        left = max(state.preparing - count, 0)
        state = replace(state, A=A, W=W, variance=variance, preparing=left)
        return (state if left else _rounded(state)), joined(problem, [])
    batches: list[Batch] = []
    for _ in range(fitting(chains * work_per_sweep(problem))):
        if state.sweeps == state.total:
            break
        places = zip(state.A, state.W, state.rates, strict=True)
        # Of the likelihood: it has come to 1 when four fifths of the warm-up are over.
        power = min(1.0, (state.sweeps + 1) / (0.8 * settings.warm_up + 1.0))
        power = power if settings.rise else 1.0
        moved = [sweep(problem, *place, settings, rng, power) for place in places]
        A, W, rates = (np.stack(part) for part in zip(*moved, strict=True))
        state = replace(state, A=A, W=W, rates=rates, sweeps=state.sweeps + 1)
        after = state.sweeps - settings.warm_up
        if after % settings.thinning == 0:
            batches.append(_record(problem, state, settings, after // settings.thinning))
    return state, joined(problem, batches)


def _record(problem: Problem, state: State, settings: Settings, draw: int) -> Batch:
    rates = state.rates
    pairs = [(A.T, W) for A, W in zip(state.A, state.W, strict=True)]
    own = [
        log_posterior(problem, *pair, one, settings.on)
        for pair, one in zip(pairs, rates, strict=True)
    ]
    flipped = [cell_counts(problem, boolean_product(*pair))[0].sum() for pair in pairs]
    return recorded(
        state,
        draw,
        state.A,
        state.W,
        {
            "log_posterior": np.array(own),
            "flipped": np.array(flipped),
            "false_positive": rates[:, 0],
            "false_negative": rates[:, 1],
        },
    )


def sweep(
    problem: Problem,
    A: np.ndarray,
    W: np.ndarray,
    rates: np.ndarray,
    settings: Settings,
    rng: np.random.Generator,
    power: float = 1.0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw A (R, D), W (R, N) of 0 and 1, and the rates (2,) that are open; new arrays."""
    A, W = A.copy(), W.copy()
    evidence = power * log_ratios(problem, rates)
    covers = A.T @ W
    prior = float(special.logit(settings.on))
    draw_entries(A, W, covers, evidence, prior, rng.random(A.shape))
    covers, evidence = np.ascontiguousarray(covers.T), np.ascontiguousarray(evidence.T)
    draw_entries(W, A, covers, evidence, prior, rng.random(W.shape))
    wrong, right = cell_counts(problem, covers.T > 0)
    drawn = [
        cut_beta(1.0 + wrong[i], 1.0 + right[i], rng.random()) if known is None else known
        for i, known in enumerate((settings.false_positive, settings.false_negative))
    ]
    return A, W, np.array(drawn)


def log_ratios(problem: Problem, rates: np.ndarray) -> np.ndarray:
    """L (D, N): how much more likely a cell is when it is covered, in nats; 0 where not seen."""
    false_positive, false_negative = rates
    X = dense(problem.dataset.X)
    if_one = np.log1p(-false_negative) - np.log(false_positive)
    if_zero = np.log(false_negative) - np.log1p(-false_positive)
    ratios = np.where(X > HALF, if_one, if_zero)
    return ratios if problem.seen is None else ratios * problem.seen


def cell_counts(problem: Problem, covered: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cells that are flipped, and that are not: (2,) each, among those not covered and covered."""
    data = problem.dataset
    X, seen = dense(data.X) > HALF, np.ones(covered.shape, dtype=bool)
    if data.mask is not None:
        seen = data.mask
    flipped = np.array([(X & ~covered & seen).sum(), (~X & covered & seen).sum()])
    alike = np.array([(~X & ~covered & seen).sum(), (X & covered & seen).sum()])
    return flipped, alike


def log_posterior(
    problem: Problem, A: np.ndarray, W: np.ndarray, rates: np.ndarray, on: float
) -> float:
    """log p(X, A, W | p₊, p₋) of A (D, R) and W (R, N) of 0 and 1, in nats."""
    wrong, right = cell_counts(problem, boolean_product(A, W))
    fit = (special.xlogy(wrong, rates) + special.xlog1py(right, -rates)).sum()
    ones, entries = A.sum() + W.sum(), A.size + W.size
    return float(fit + ones * np.log(on) + (entries - ones) * np.log1p(-on))


def cut_beta(a: float, b: float, u: float) -> float:
    """The value below which the part u of Beta(a, b), cut to [0, ½], lies."""
    mass = special.betainc(a, b, HALF)
    if mass > 1e-290:
        return float(min(special.betaincinv(a, b, u * mass), HALF))
    # Nearly all of it lies beyond ½: what is left falls off exponentially below.
    return float(max(HALF + np.log(max(u, 1e-300)) / (2.0 * (a - b)), 0.0))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def draw_entries(
    F: np.ndarray,
    other: np.ndarray,
    covers: np.ndarray,
    evidence: np.ndarray,
    prior: float,
    uniform: np.ndarray,
) -> None:
    """Draw every entry of F (R, P) in place, given other (R, Q), and keep ``covers`` (P, Q) true.

    covers : how many tiles cover each cell. evidence : L (P, Q). uniform : (R, P).
    """
    R, P = F.shape
    Q = other.shape[1]
    places, starts = np.empty(R * Q, np.int64), np.zeros(R + 1, np.int64)
    for r in range(R):
        end = starts[r]
        for q in range(Q):
            if other[r, q] > 0.0:
                places[end] = q
                end += 1
        starts[r + 1] = end
    for p in range(P):
        for r in range(R):
            now, logit = F[r, p], prior
            for e in range(starts[r], starts[r + 1]):
                q = places[e]
                if covers[p, q] - now < 0.5:
                    logit += evidence[p, q]
            drawn = 1.0 if uniform[r, p] * (1.0 + np.exp(-logit)) < 1.0 else 0.0
            if drawn != now:
                F[r, p] = drawn
                for e in range(starts[r], starts[r + 1]):
                    covers[p, places[e]] += drawn - now


def work_per_sweep(problem: Problem) -> float:
    """Multiply-adds of one chain's sweep; setting out on one costs about 1e5."""
    data, R = problem.dataset, problem.rank
    return data.D * data.N * (R + 20.0) + 1e5


def fraction(state: State, settings: Settings) -> float:
    """Part of the chain's sweeps that are done, those of box Gibbs among them."""
    box = BOX_SWEEPS if settings.start == "box" else 0
    return (box - state.preparing + state.sweeps) / (box + state.total)


def work(problem: Problem, settings: Settings) -> float:
    """Multiply-adds per kept draw, start and warm-up left out."""
    return settings.thinning * work_per_sweep(problem)


ALGORITHM = Algorithm(
    key="boolean_gibbs",
    label="Boolean Gibbs",
    family="sampler",
    Settings=Settings,
    State=State,
    init=init,
    step=step,
    shard_sizes=shard_sizes,
    work=work,
    fraction=fraction,
    check=checking("Boolean Gibbs"),
    needs=Needs.of(Capability.BOX),
    color="#7D57ED",
    symbol="square",
    summary="Redraw entries that are 0 or 1, and the rates at which cells are flipped. Exact "
    "for this posterior; rarely leaves the arrangement of tiles in which it starts.",
    reference="Rukat, Holmes, Titsias & Yau 2017 for the model",
)
