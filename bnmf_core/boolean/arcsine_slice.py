"""Exact moves of entries in [0, 1] under a Beta(½, ½) prior and Gaussian noise.

With x = sin²φ the prior is flat on 0 ≤ φ ≤ π/2, and the density ∝ exp(b sin²φ − ½h sin⁴φ) is
finite everywhere, so that a slice sampler (Neal 2003) can take the whole interval as its first
bracket and shrink it: no step size, no rejection.
"""

import math

import numba
import numpy as np

QUARTER_TURN = 0.5 * math.pi


@numba.njit(cache=True, nogil=True, error_model="numpy")
def slice_factors(
    F: np.ndarray,
    C: np.ndarray,
    G: np.ndarray,
    heat: float,
    rng: np.random.Generator,
) -> None:
    """Move every entry of F (R, n) once, in place, row by row.

    The density of F given the other factor is ∝ exp(heat·(⟨C, F⟩ − ½⟨F, G F⟩)) Π 1/√(x(1 − x)).
    C (R, n); G (R, R, n), or (R, R, 1) for all columns; heat = 1/σ².
    """
    R, n = F.shape
    linear = np.empty(n)
    for r in range(R):
        linear[:] = C[r]
        for k in range(R):
            if k != r:
                for i in range(n):
                    linear[i] -= F[k, i] * G[k, r, i if G.shape[2] > 1 else 0]
        for i in range(n):
            h = heat * G[r, r, i if G.shape[2] > 1 else 0]
            F[r, i] = _sliced(F[r, i], heat * linear[i], h, rng)


@numba.njit(cache=True, error_model="numpy")
def _sliced(x: float, b: float, h: float, rng: np.random.Generator) -> float:
    now = math.asin(math.sqrt(min(max(x, 0.0), 1.0)))
    level = x * (b - 0.5 * h * x) - rng.standard_exponential()
    low, high = 0.0, QUARTER_TURN
    while True:
        angle = low + (high - low) * rng.random()
        proposed = math.sin(angle) ** 2
        if proposed * (b - 0.5 * h * proposed) >= level:
            return proposed
        if angle < now:
            low = angle
        else:
            high = angle
        if high - low < 1e-300:  # only rounding can bring it here
            return x
