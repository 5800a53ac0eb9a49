"""Gibbs sampling of counts through latent sources (Cemgil 2009; Zhou & Carin 2015 for k).

X_dn is the sum of R Poisson sources Z_dnr with means g_dn A_dr W_rn. One sweep draws, in turn,

- the dispersion k given A and W, with g integrated out, where counts are negative binomial;
- the sources: Z_dn ~ Multinomial(X_dn, ∝ A_dr W_rn), entries with X_dn > 0 only;
- g_dn ~ Gamma(k + X_dn, k + (AW)_dn), and A_dr ~ Gamma(a + Σ_n Z_dnr, b + Σ_n g_dn W_rn);
- g again, and W_rn ~ Gamma(c + Σ_d Z_dnr, λ + Σ_d g_dn A_dr);
- a scale for each component, and what each pair of components can exchange without a change of AW,
  see :mod:`bnmf_core.samplers.scale_move` and :mod:`bnmf_core.samplers.shear_move`.

For Poisson counts g = 1, and a sweep takes time in the stored entries of X. Of the sources only the
sums over rows and columns are held. An entry that was not seen is in no sum.
"""

import numba
import numpy as np

from bnmf_core.core.model import GammaPrior, Sources, required
from bnmf_core.core.problem import Problem
from bnmf_core.numerics.binomial import LOG_FACTORIALS, draw
from bnmf_core.numerics.counts import ENTRY_WORK, Counts
from bnmf_core.samplers import dispersion, scale_move, shear_move

# Counts up to so many times the components are shared out one by one, which takes no longer than
# the R − 1 binomial draws of larger ones.
ONE_BY_ONE = 4
# Gammas of small shape can fall below what a float holds; none is taken to be 0.
TINY = 1e-300
# Cost in multiply-adds of a gamma draw, a binomial draw, and one count.
GAMMA_WORK, BINOMIAL_WORK, COUNT_WORK = 150.0, 200.0, 30.0
# Products with A and W, and values of the density of k, of one sweep over dispersed counts.
DISPERSED, SLICES = 10.0, 6.0


def serve(problem: Problem) -> bool:
    """Whether the problem has a model, and one of counts."""
    return problem.model is not None and problem.model.sources is not None


def of(problem: Problem) -> Sources:
    """The sources of the problem's model."""
    return required(problem.model.sources)(problem.model_settings, problem.dataset.D)


def works(problem: Problem) -> str:
    """Short references for the sweeps of the problem's counts."""
    return "Cemgil 2009" + "; Zhou & Carin 2015" * (of(problem).dispersion is not None)


def first_dispersion(problem: Problem, chains: int) -> np.ndarray:
    """k (c,) where chains start: the median of its prior; (0,) where there is none."""
    prior = of(problem).dispersion if serve(problem) else None
    return np.empty(0) if prior is None else np.full(chains, prior.median)


def sweep(
    problem: Problem, A: np.ndarray, W: np.ndarray, k: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw k (c,), every entry of A (c, R, D), then of W (c, R, N); new arrays.

    ``k`` is (0,) where counts are Poisson.
    """
    priors, counts = of(problem), problem.counts
    if priors.dispersion is not None:
        k = dispersion.draw(counts, priors.dispersion, A, W, k, rng)
    of_A, of_W = allocate(counts, A, W, rng)
    A = drawn(priors.A, of_A, _exposures(counts, A, W, k, rng, of_rows=True), rng)
    W = drawn(priors.W, of_W, _exposures(counts, A, W, k, rng, of_rows=False), rng)
    A, W, _ = scale_move.move(problem, A, W, rng)
    A, W = shear_move.move(A, W, priors.A, priors.W, rng)
    return A, W, k


def allocate(
    counts: Counts, A: np.ndarray, W: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of the sources over columns, (c, R, D), and over rows, (c, R, N).

    Each Z_dn is multinomial with probabilities ∝ A_rd W_rn.
    """
    bases, weights = (np.ascontiguousarray(F.transpose(0, 2, 1)) for F in (A, W))
    rows, columns = np.zeros(bases.shape), np.zeros(weights.shape)
    places = counts.rows, counts.columns, counts.values
    _share_out(rng, *places, bases, weights, rows, columns, LOG_FACTORIALS)
    return rows.transpose(0, 2, 1), columns.transpose(0, 2, 1)


@numba.njit(cache=True, nogil=True)
def _share_out(
    rng: np.random.Generator,
    rows: np.ndarray,
    columns: np.ndarray,
    values: np.ndarray,
    A: np.ndarray,
    W: np.ndarray,
    of_rows: np.ndarray,
    of_columns: np.ndarray,
    log_factorials: np.ndarray,
) -> None:
    """Add the sources of every chain, A (c, D, R), W (c, N, R), to the sums (c, D or N, R)."""
    R = A.shape[2]
    p = np.empty(R)
    for chain in range(A.shape[0]):
        for i in range(values.size):
            d, n, left = rows[i], columns[i], values[i]
            total = 0.0
            for r in range(R):
                p[r] = A[chain, d, r] * W[chain, n, r]
                total += p[r]
            if not total > 0.0:  # below what a float holds: all alike
                p[:] = 1.0
                total = np.float64(R)
            if left <= ONE_BY_ONE * R:
                for _ in range(left):
                    u = rng.random() * total
                    r = 0
                    while r < R - 1 and u >= p[r]:
                        u -= p[r]
                        r += 1
                    of_rows[chain, d, r] += 1.0
                    of_columns[chain, n, r] += 1.0
                continue
            for r in range(R):
                whole = r == R - 1 or p[r] >= total
                some = left if whole else draw(rng, left, p[r] / total, log_factorials)
                of_rows[chain, d, r] += some
                of_columns[chain, n, r] += some
                left -= some
                total -= p[r]
                if left == 0:
                    break


def _exposures(
    counts: Counts,
    A: np.ndarray,
    W: np.ndarray,
    k: np.ndarray,
    rng: np.random.Generator,
    of_rows: bool,
) -> np.ndarray:
    """Σ_n g_dn W_rn or Σ_d g_dn A_dr of seen entries: (c, R, n), or (c, R, 1) if all are alike."""
    if k.size:
        return dispersion.exposures(counts, A, W, k, rng, of_rows)
    return seen_sums(counts.seen, W if of_rows else A, of_rows)


def seen_sums(seen: np.ndarray | None, F: np.ndarray, of_rows: bool) -> np.ndarray:
    """Sums of the other factor F (c, R, …) over the seen entries of each row of X, or column."""
    if seen is None:
        return F.sum(axis=2, keepdims=True)
    return F @ seen.T if of_rows else F @ seen


def drawn(
    prior: GammaPrior, sums: np.ndarray, exposure: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Entries ~ Gamma(shape + sums, rate + exposure) of a factor (c, R, n)."""
    made = rng.standard_gamma(prior.shape + sums)
    made /= prior.rate + exposure
    return np.maximum(made, TINY, out=made)


def work_per_sweep(problem: Problem) -> float:
    """Multiply-adds of one chain's sweep."""
    data, R = problem.dataset, problem.rank
    counts = data.total / data.stored_entries  # of an entry, on average
    an_entry = min(counts * (COUNT_WORK + R), R * BINOMIAL_WORK) + 4.0 * R
    work = data.stored_entries * an_entry + (data.D + data.N) * R * GAMMA_WORK
    if of(problem).dispersion is not None:
        work += data.D * data.N * (DISPERSED * R + SLICES * ENTRY_WORK + 2.0 * GAMMA_WORK)
    return work
