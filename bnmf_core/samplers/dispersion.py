"""Gibbs updates for negative binomial counts: the dispersion, and a gamma for every entry.

A count is Poisson with the mean g y, y = (AW)_dn, g ~ Gamma(k, k). The dispersion k is drawn with
all g integrated out, so that it moves freely; given k, g ~ Gamma(k + x, k + y) wherever X was seen.
"""

from collections.abc import Callable, Iterator

import numpy as np

from bnmf_core.core.model import LogNormal
from bnmf_core.numerics import dispersed
from bnmf_core.numerics.counts import Counts

# Width of the first interval of log k, and how often it is widened at most.
WIDTH, WIDENED = 0.5, 20
# Number of entries of g in memory at once.
BLOCK_ENTRIES = 2**18


def draw(
    counts: Counts,
    prior: LogNormal,
    A: np.ndarray,
    W: np.ndarray,
    k: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Move every chain's k (c,), given A (c, R, D) and W (c, R, N), by slice sampling of log k.

    The interval is widened step by step, then shrunk (Neal 2003, figures 3 and 5).
    """
    if prior.spread == 0.0:
        return k
    moved = k.copy()
    for chain in range(k.size):
        height = _height_of(counts, prior, A[chain : chain + 1], W[chain : chain + 1])
        moved[chain] = np.exp(_slice(height, float(np.log(k[chain])), rng))
    return moved


def _height_of(
    counts: Counts, prior: LogNormal, A: np.ndarray, W: np.ndarray
) -> Callable[[float], float]:
    """The log density of log k, given A (1, R, D) and W (1, R, N)."""

    def height(log_k: float) -> float:
        apart = (log_k - np.log(prior.median)) / prior.spread
        found = dispersed.of_dispersion(counts, A.transpose(0, 2, 1), W, np.exp([log_k]))
        return float(found[0][0]) - 0.5 * float(apart) ** 2

    return height


def _slice(height: Callable[[float], float], now: float, rng: np.random.Generator) -> float:
    """A draw that leaves exp(height) invariant."""
    level = height(now) - rng.standard_exponential()
    low = now - WIDTH * rng.random()
    high = low + WIDTH
    downwards = int(rng.integers(WIDENED))
    for _ in range(downwards):
        if height(low) <= level:
            break
        low -= WIDTH
    for _ in range(WIDENED - 1 - downwards):
        if height(high) <= level:
            break
        high += WIDTH
    while True:
        then = low + (high - low) * rng.random()
        if height(then) > level:
            return then
        if then < now:
            low = then
        else:
            high = then


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
