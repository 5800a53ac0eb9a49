"""Binomial draws for compiled code, by inversion from the middle where counts are moderate.

A uniform number is compared with the probabilities of the mode, of its neighbours, of theirs, and
so on: about as many steps as the standard deviation, where inversion from 0 takes as many as the
mean (Kachitvichyanukul & Schmeiser 1988). Large means are left to numpy.
"""

import math

import numba
import numpy as np
from scipy.special import gammaln

# Means from 0 upwards below the first, from the middle below the second; numpy's from there on.
FROM_ZERO, FROM_MIDDLE = 6.0, 200.0
LOG_FACTORIALS = gammaln(np.arange(2**14) + 1.0)
NOTHING = 1e-300


@numba.njit(cache=True, nogil=True)
def draw(rng: np.random.Generator, n: int, p: float, log_factorials: np.ndarray) -> int:
    """Draw the number of successes of n, each with probability p, in (0, 1)."""
    q = min(p, 1.0 - p)
    mean, odds = n * q, q / (1.0 - q)
    if mean < FROM_ZERO:
        k, u, f = 0, rng.random(), math.exp(n * math.log1p(-q))
        while u >= f and k < n:
            u -= f
            f *= odds * (n - k) / (k + 1.0)
            k += 1
    elif mean < FROM_MIDDLE and n < log_factorials.size:
        k = _from_middle(rng.random(), n, q, odds, log_factorials)
    else:
        k = rng.binomial(n, q)
    return k if p <= 0.5 else n - k


@numba.njit(cache=True, nogil=True)
def _from_middle(u: float, n: int, q: float, odds: float, log_factorials: np.ndarray) -> int:
    mode = int((n + 1) * q)
    ways = log_factorials[n] - log_factorials[mode] - log_factorials[n - mode]
    above = math.exp(ways + mode * math.log(q) + (n - mode) * math.log1p(-q))
    high = low = mode
    below = above
    u -= above
    while u >= 0.0 and (above > NOTHING or below > NOTHING):
        above *= odds * (n - high) / (high + 1.0)
        high += 1
        u -= above
        if u < 0.0:
            return high
        below *= low / (odds * (n - low + 1.0))
        low -= 1
        u -= below
        if u < 0.0:
            return low
    return mode
