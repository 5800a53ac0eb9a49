"""The negative binomial log likelihood of many factorizations with its slopes, compiled.

With the mean y and the dispersion k, a count x has the probability
Γ(x + k)/(Γ(k) x!) · (y/(y + k))^x · (k/(y + k))^k, the variance y + y²/k, and for k → ∞ the Poisson
distribution. A sum takes one logarithm for every count above 0, and one for many entries together.
Zeros do not separate as they do of Poisson counts, so that sums take time in D × N; no array of
that size is held.
"""

import math
from collections.abc import Iterator

import numba
import numpy as np

from bnmf_core.numerics.counts import Counts

# The smallest mean and the smallest odds.
TINY = 2e-308
# Number of entries of AW in memory at once.
BLOCK_ENTRIES = 2**18
# Products above it can be multiplied once more before a logarithm is taken.
SMALL = 1e-140
# From here on the asymptotic series of log Γ and its slope are exact to rounding.
LARGE_ENOUGH = 16.0


# Of rows of X: where each one's counts begin, columns, counts, what was seen.
Held = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def of_dispersion(
    counts: Counts, A: np.ndarray, W: np.ndarray, k: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Σ log p(x | AW, k) over the seen entries but for Σ log x!, and its derivatives by log k.

    A : (c, D, R). W : (c, R, N). k : (c,). Returns values, first and second derivatives (c,).
    """
    found = _of_gammas(*counts.distinct, k)
    for rows in _blocks(counts, k.size):
        _entries(_held(counts, rows), A[:, rows] @ W, k, found)
    return _by_logarithm(found, k)


def log_likelihood(
    counts: Counts, A: np.ndarray, W: np.ndarray, k: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """As :func:`of_dispersion`: the values (c,), and the slopes in A, in W and in log k (c,)."""
    found, by_A, by_W = _of_gammas(*counts.distinct, k), np.empty(A.shape), np.zeros(W.shape)
    for rows in _blocks(counts, k.size):
        slopes = A[:, rows] @ W  # AW, which is overwritten
        _entries(_held(counts, rows), slopes, k, found)
        by_A[:, rows] = slopes @ W.transpose(0, 2, 1)
        by_W += A[:, rows].transpose(0, 2, 1) @ slopes
    values, by_k, _ = _by_logarithm(found, k)
    return values, by_A, by_W, by_k


def _blocks(counts: Counts, chains: int) -> Iterator[slice]:
    """Rows of X that are held together."""
    D, N = counts.shape
    height = max(1, BLOCK_ENTRIES // (chains * N))
    for first in range(0, D, height):
        yield slice(first, min(first + height, D))


def _held(counts: Counts, rows: slice) -> Held:
    seen = np.empty((0, 0)) if counts.seen is None else counts.seen[rows]
    return counts.starts[rows.start : rows.stop + 1], counts.columns, counts.values, seen


def _by_logarithm(found: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values and derivatives by log k, of those by k (c, 3)."""
    values, slopes, bends = found.T
    return values, k * slopes, k * slopes + k * k * bends


@numba.njit(cache=True, nogil=True)
def _of_gammas(distinct: np.ndarray, times: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Σ log Γ(x + k) − log Γ(k) over counts, and two derivatives by k: (c, 3)."""
    found = np.zeros((k.size, 3))
    for c in range(k.size):
        value, slope, bend = log_gamma(k[c])
        for i in range(distinct.size):
            one = log_gamma(distinct[i] + k[c])
            found[c, 0] += times[i] * (one[0] - value)
            found[c, 1] += times[i] * (one[1] - slope)
            found[c, 2] += times[i] * (one[2] - bend)
    return found


@numba.njit(cache=True, nogil=True, error_model="numpy")
def log_gamma(z: float) -> tuple[float, float, float]:
    """Log Γ(z) and two derivatives, z > 0, by Stirling's series beyond what recurrence takes."""
    below, slope, bend = 1.0, 0.0, 0.0
    while z < LARGE_ENOUGH:
        below *= z
        slope -= 1.0 / z
        bend += 1.0 / (z * z)
        z += 1.0
    log_z, one = np.log(z), 1.0 / z
    two = one * one
    value = (z - 0.5) * log_z - z + 0.5 * math.log(2.0 * math.pi)
    value += one * (1 / 12 - two * (1 / 360 - two * (1 / 1260 - two / 1680)))
    slope += log_z - 0.5 * one - two * (1 / 12 - two * (1 / 120 - two * (1 / 252 - two / 240)))
    third = one * two
    bend += one + 0.5 * two + third * (1 / 6 - two * (1 / 30 - two * (1 / 42 - two / 30)))
    return (value if below == 1.0 else value - np.log(below)), slope, bend


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _entries(held: Held, Y: np.ndarray, k: np.ndarray, found: np.ndarray) -> None:
    """Add what rows of X hold to ``found`` (c, 3), and turn AW (c, rows, N) into its slopes.

    The slope of a count x is s − x s/y with s = −k/(y + k), and (−s)^k is the probability of a
    count of 0.
    """
    starts, columns, counts, seen = held
    y = np.empty(Y.shape[2])
    for c in range(k.size):
        own = k[c]
        for d in range(Y.shape[1]):
            slopes, total, squares, logs, factor = Y[c, d], 0.0, 0.0, 0.0, 1.0
            for n in range(y.size):
                y[n] = max(slopes[n], TINY)
                slopes[n] = -own / (y[n] + own)
            if seen.size:
                for n in range(y.size):
                    slopes[n] *= seen[d, n]
            for n in range(y.size):
                if slopes[n] == 0.0:
                    continue
                part = 1.0 + slopes[n]
                total += part
                squares += part * part
                factor *= -slopes[n]
                if factor < SMALL:
                    logs += np.log(factor)
                    factor = 1.0
            logs += np.log(factor)
            found[c, 0] += own * logs
            found[c, 1] += logs + total
            found[c, 2] += squares / own
            for i in range(starts[d], starts[d + 1]):
                n, x = columns[i], counts[i]
                part = slopes[n] / own
                found[c, 0] += x * np.log(max(-part * y[n], TINY))
                found[c, 1] += x * part
                found[c, 2] += x * part * part
                slopes[n] -= x * slopes[n] / y[n]
