"""Gibbs sampling with every entry of A and W between 0 and 1; exact, and σ² drawn where it is open.

Given all else A_dr is a normal of precision h = Σ_n W_rn²/σ² and mean b/h with
b = Σ_n W_rn (X_dn − Σ_{k≠r} A_dk W_kn)/σ², cut to [0, 1]: a normal prior adds to h, a Laplace one
takes ½ from b. Paper 4 clamps a Langevin step where this draws, and thought it could not be done
(§4.2.6). Under a Beta(½, ½) prior the entry moves along a slice instead, see
:mod:`bnmf_core.boolean.arcsine_slice`. An open σ² is (b₀ + ½‖X − AW‖²)/Gamma(a₀ + n/2) for n seen
cells; the states without it are draws from the posterior that has it integrated out.
"""

from dataclasses import dataclass, replace

import numpy as np

from bnmf_core.boolean.arcsine_slice import slice_factors
from bnmf_core.core.algorithm import Algorithm, Batch, Needs, Shard, fitting
from bnmf_core.core.model import Box, Capability, InverseGamma, required
from bnmf_core.core.problem import Problem
from bnmf_core.numerics.residuals import squared_errors
from bnmf_core.numerics.sparse_products import SparseProducts
from bnmf_core.samplers import gibbs
from bnmf_core.samplers.chains import (
    chains_of,
    chains_setting,
    fraction,
    joined,
    recorded,
    shard_sizes,
    thinning_setting,
    warm_up_setting,
)
from bnmf_core.samplers.starting import checking, start_setting, starts
from bnmf_core.solvers.solution import alike_columns, gram


@dataclass(frozen=True)
class Settings:
    """Number of chains, starts, and thinning."""

    chains: int = chains_setting(4)
    warm_up: int = warm_up_setting(120)
    thinning: int = thinning_setting(2)
    start: str = start_setting()


@dataclass(frozen=True)
class State:
    """State of c chains: A (c, R, D), W (c, R, N), variance (c,) of the noise.

    draws : (c,) number of particles of each chain. first : number of the first chain in the run.
    sweeps, total : done and to do.
    """

    A: np.ndarray
    W: np.ndarray
    variance: np.ndarray
    draws: np.ndarray
    first: int
    sweeps: int
    total: int


def init(problem: Problem, settings: Settings, shard: Shard, rng: np.random.Generator) -> State:
    """Start each chain; an open σ² at the mean square of what the start leaves."""
    first, draws = chains_of(settings, shard)
    generators = [shard.particle_generator(chain) for chain in range(draws.size)]
    A, W = starts(problem, settings, generators, ALGORITHM.label)
    noise = box_of(problem).noise
    variance = np.full(draws.size, noise if isinstance(noise, float) else 0.0)
    if isinstance(noise, InverseGamma):
        squared = squared_errors(problem.dataset.X, A, W, problem.dataset.mask)
        variance = (noise.scale + 0.5 * squared) / (noise.shape + 0.5 * problem.dataset.observed)
    total = settings.warm_up + settings.thinning * int(draws.max())
    A = np.ascontiguousarray(A.transpose(0, 2, 1))
    return State(A, np.ascontiguousarray(W), variance, draws, first, 0, total)


def step(
    problem: Problem, state: State, settings: Settings, rng: np.random.Generator
) -> tuple[State, Batch]:
    """A bounded number of sweeps; every ``thinning``-th one after the warm-up is kept."""
    batches: list[Batch] = []
    A, W, variance, sweeps = state.A, state.W, state.variance, state.sweeps
    products = SparseProducts.of(problem.dataset.X)
    for _ in range(fitting(state.draws.size * gibbs.work_per_sweep(problem))):
        if sweeps == state.total:
            break
        A, W, variance = sweep(problem, A, W, variance, rng, products)
        sweeps += 1
        after = sweeps - settings.warm_up
        if after % settings.thinning == 0:
            draw, sigma = after // settings.thinning, {"sigma": np.sqrt(variance)}
            batches.append(recorded(state, draw, A, W, sigma))
    state = replace(state, A=A, W=W, variance=variance, sweeps=sweeps)
    return state, joined(problem, batches)


def sweep(
    problem: Problem,
    A: np.ndarray,
    W: np.ndarray,
    variance: np.ndarray,
    rng: np.random.Generator,
    products: SparseProducts | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw A (c, R, D), W (c, R, N), and where it is open σ² (c,); new arrays.

    ``products`` with X, where they are quicker than the problem's own.
    """
    box, seen = box_of(problem), problem.seen
    X = problem if products is None else products
    A = _drawn(A, X.times_rows(W), W, None if seen is None else seen.T, box, variance, rng)
    C = X.times_columns(A)
    W = _drawn(W, C, A, seen, box, variance, rng)
    if isinstance(box.noise, InverseGamma):
        shape = box.noise.shape + 0.5 * problem.dataset.observed
        squared = _squared(problem, A, W, C)
        variance = (box.noise.scale + 0.5 * squared) / rng.gamma(shape, size=variance.size)
    return A, W, variance


def _drawn(
    F: np.ndarray,
    C: np.ndarray,
    other: np.ndarray,
    seen: np.ndarray | None,
    box: Box,
    variance: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """F (c, R, n) given C, the other factor (c, R, k) and where X was seen (k, n)."""
    F, prior = F.copy(), box.prior
    for c, noise in enumerate(variance):
        this = slice(c, c + 1)
        if prior is None:
            for part, linear, G in alike_columns(F[c], C[c], other[c], seen):
                slice_factors(part, linear, G, 1.0 / noise, rng)
        elif seen is None:
            F[this] = gibbs.draw(F[this], C[this], gram(other[this]), noise, prior, rng)
        else:
            F[this] = gibbs.draw_seen(F[this], C[this], other[this], seen, noise, prior, rng)
    return F


def _squared(problem: Problem, A: np.ndarray, W: np.ndarray, C: np.ndarray) -> np.ndarray:
    """‖X − AW‖² over the seen cells, (c,), given C = AᵀX."""
    data = problem.dataset
    if data.missing:
        return squared_errors(data.X, A.transpose(0, 2, 1), W, data.mask)
    overlap = np.einsum("crn,crn->c", W, C)
    size = np.einsum("crs,crs->c", gram(A), gram(W))
    return np.maximum(data.squared_norm - 2.0 * overlap + size, 0.0)


def box_of(problem: Problem) -> Box:
    """The prior of entries between 0 and 1, and of the noise, under the problem's settings."""
    return required(problem.model.box)(problem.model_settings)


def work(problem: Problem, settings: Settings) -> float:
    """Multiply-adds per kept draw, the warm-up left out."""
    return settings.thinning * gibbs.work_per_sweep(problem)


ALGORITHM = Algorithm(
    key="box_gibbs",
    label="Box Gibbs",
    family="sampler",
    Settings=Settings,
    State=State,
    init=init,
    step=step,
    shard_sizes=shard_sizes,
    work=work,
    fraction=fraction,
    check=checking("Box Gibbs"),
    needs=Needs.of(Capability.BOX),
    color="#408D58",
    symbol="circle",
    summary="Redraw one column at a time, with every entry between 0 and 1, and the noise level "
    "with them. Exact, and fast for binary matrices.",
    reference="Schmidt, Winther & Hansen 2009; Neal 2003 for the Beta prior",
)
