"""Exact draws from a normal distribution kept to x ≥ 0, however far below zero its mean is."""

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

# Beyond this many standard deviations z − a loses digits; the tail is then solved directly.
TAIL = 30.0


def truncated_normal(mean: np.ndarray, sd: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """The value with survival probability ``uniform`` under N(mean, sd²) given x ≥ 0.

    Inverse-survival sampling: with a = −mean/sd, log S(z) = log u + log S(a) and x = mean +
    sd·z. All three arguments broadcast; ``uniform`` lies in (0, 1].
    """
    a = np.asarray(-mean / sd, dtype=np.float64)
    log_u = np.log(uniform)
    near = np.minimum(a, TAIL)
    z = -ndtri_exp(log_u + log_ndtr(-near))
    x = sd * (z - near)
    far = a > TAIL
    if far.any():
        sd_far = np.broadcast_to(sd, a.shape)[far]
        x = np.where(far, 0.0, x)
        x[far] = sd_far * tail_excess(a[far], np.broadcast_to(log_u, a.shape)[far])
    return np.maximum(x, 0.0)


def tail_excess(a: np.ndarray, log_u: np.ndarray) -> np.ndarray:
    """t with S(a + t)/S(a) = u for a > 30, by Newton steps on the asymptotic expansion.

    log S(x) = −x²/2 − log x + log(1 − x⁻² + 3x⁻⁴ − 15x⁻⁶) + constant (Abramowitz & Stegun
    26.2.12); differences are formed without subtracting large numbers.
    """
    t = -log_u / a
    for _ in range(4):
        value = -t * (a + 0.5 * t) - np.log1p(t / a) + _series(a + t) - _series(a) - log_u
        hazard = (a + t) + 1 / (a + t) - 2 / (a + t) ** 3
        t = t + value / hazard
    return t


def _series(x: np.ndarray) -> np.ndarray:
    y = 1 / (x * x)
    return np.log1p(y * (-1 + y * (3 - 15 * y)))
