"""What negative binomial counts add to a Gibbs sweep: the dispersion, and a gamma for every entry.

A count is Poisson with the mean g y, y = (AW)_dn, g ~ Gamma(k, k). The dispersion k is drawn with
all g integrated out, so that it moves freely; given k, g ~ Gamma(k + x, k + y) wherever X was seen.
"""

from collections.abc import Iterator

import numpy as np

from bnmf_core.core.model import LogNormal
from bnmf_core.numerics.counts import Counts

# Of log k in one proposal, at most.
LONGEST = 2.0
# Entries of g that are held together.
BLOCK_ENTRIES = 2**18


def draw(
    counts: Counts,
    prior: LogNormal,
    A: np.ndarray,
    W: np.ndarray,
    k: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Move every chain's k (c,), given A (c, R, D) and W (c, R, N).

    A Metropolis–Hastings step on log k: the proposal is normal around a Newton step, from either
    end (Qi & Minka 2002).
    """
    if prior.spread == 0.0:
        return k
    moved = k.copy()
    for chain in range(k.size):
        basis, weights = A[chain].T, W[chain]
        now = float(np.log(k[chain]))
        height, mean, sd = _newton(counts, prior, basis, weights, now)
        then = mean + sd * rng.standard_normal()
        new_height, back_mean, back_sd = _newton(counts, prior, basis, weights, then)
        gained = new_height - height
        gained += 0.5 * ((then - mean) / sd) ** 2 + np.log(sd)
        gained -= 0.5 * ((now - back_mean) / back_sd) ** 2 + np.log(back_sd)
        if np.log1p(-rng.random()) < gained:
            moved[chain] = np.exp(then)
    return moved


def _newton(
    counts: Counts, prior: LogNormal, A: np.ndarray, W: np.ndarray, log_k: float
) -> tuple[float, float, float]:
    """The log density of log k, and mean and standard deviation of a proposal from there."""
    value, slope, bend = counts.negative_binomial(A, W, log_k)
    apart, precision = log_k - np.log(prior.median), prior.spread**-2.0
    sharp = max(precision - bend, precision)
    step = np.clip((slope - precision * apart) / sharp, -LONGEST, LONGEST)
    return value - 0.5 * precision * apart**2, log_k + float(step), float(sharp**-0.5)


def exposures(
    counts: Counts,
    A: np.ndarray,
    W: np.ndarray,
    k: np.ndarray,
    rng: np.random.Generator,
    of_rows: bool,
) -> np.ndarray:
    """Draw g, and return Σ_n g_dn W_rn (c, R, D), or Σ_d g_dn A_dr (c, R, N)."""
    found = np.zeros_like(A if of_rows else W)
    for chain in range(k.size):
        for part, x, seen in _columns(counts):
            y = A[chain].T @ W[chain][:, part]
            g = rng.standard_gamma(k[chain] + x)
            g /= k[chain] + y
            g *= seen
            if of_rows:
                found[chain] += W[chain][:, part] @ g.T
            else:
                found[chain][:, part] = A[chain] @ g
    return found


def _columns(counts: Counts) -> Iterator[tuple[slice, np.ndarray, np.ndarray | float]]:
    """Blocks of columns of X, dense, and where they were seen."""
    D, N = counts.shape
    width = max(1, BLOCK_ENTRIES // D)
    for first in range(0, N, width):
        part = slice(first, min(first + width, N))
        x = np.zeros((D, part.stop - first))
        inside = (counts.columns >= first) & (counts.columns < part.stop)
        x[counts.rows[inside], counts.columns[inside] - first] = counts.values[inside]
        yield part, x, 1.0 if counts.seen is None else counts.seen[:, part]
