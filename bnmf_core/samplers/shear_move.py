"""Moves between pairs of components that leave AW as it is.

(A_s, W_r) → (A_s + ε A_r, W_r − ε W_s) changes no product, so that the likelihood stays, and its
Jacobian is 1. What the data leave open lies along such directions, in which a Gibbs sweep takes
small steps only, as A is drawn given W and W given A. Entries stay ≥ 0 for ε from −min A_s/A_r to
min W_r/W_s; there exponential priors are an exponential of ε, which is drawn from exactly. Of gamma
priors with other shapes the rest is left to an accept step: the proposal does not depend on where
in the interval the chain is.
"""

import math

import numba
import numpy as np

from bnmf_core.core.model import GammaPrior

# A slope along the whole interval that is as good as none, and one that leaves one end only.
FLAT, STEEP = 1e-9, 700.0
# Minimum value of an entry.
TINY = 1e-300


def move(
    A: np.ndarray,
    W: np.ndarray,
    of_A: GammaPrior,
    of_W: GammaPrior,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """One move for every ordered pair of components: new A (c, R, D), W (c, R, N)."""
    A, W = A.copy(), W.copy()
    _move(A, W, of_A.shape, of_A.rate, of_W.shape, of_W.rate, rng)
    return A, W


@numba.njit(cache=True, nogil=True)
def _move(
    A: np.ndarray,
    W: np.ndarray,
    shape_A: float,
    rate_A: float,
    shape_W: float,
    rate_W: float,
    rng: np.random.Generator,
) -> None:
    chains, R = A.shape[:2]
    for chain in range(chains):
        for r in range(R):
            for s in range(R):
                if r == s:
                    continue
                low, high = _least(A[chain, s], A[chain, r]), _least(W[chain, r], W[chain, s])
                slope = rate_A * A[chain, r].sum() - rate_W * W[chain, s].sum()
                step = _along(slope, low + high, rng.random()) - low
                gained = _gained(A[chain, s], A[chain, r], step, shape_A)
                gained += _gained(W[chain, r], W[chain, s], -step, shape_W)
                if gained >= 0.0 or math.log(1.0 - rng.random()) < gained:
                    _add(A[chain, s], A[chain, r], step)
                    _add(W[chain, r], W[chain, s], -step)


@numba.njit(cache=True, nogil=True)
def _least(F: np.ndarray, other: np.ndarray) -> float:
    """The smallest F/other."""
    least = np.inf
    for i in range(F.size):
        least = min(least, F[i] / other[i])
    return least


@numba.njit(cache=True, nogil=True)
def _along(slope: float, length: float, u: float) -> float:
    """The u-quantile of the density ∝ exp(−slope·t) on 0 ≤ t ≤ length."""
    whole = slope * length
    if abs(whole) < FLAT:
        return u * length
    if whole < -STEEP:
        return max(length - math.log(max(u, TINY)) / slope, 0.0)
    return min(max(-math.log1p(u * math.expm1(-whole)) / slope, 0.0), length)


@numba.njit(cache=True, nogil=True)
def _gained(F: np.ndarray, other: np.ndarray, step: float, shape: float) -> float:
    """Change of the log power term of a gamma density from F to F + step·other."""
    if shape == 1.0:
        return 0.0
    found = 0.0
    for i in range(F.size):
        found += math.log(max(F[i] + step * other[i], TINY) / F[i])
    return (shape - 1.0) * found


@numba.njit(cache=True, nogil=True)
def _add(F: np.ndarray, other: np.ndarray, step: float) -> None:
    for i in range(F.size):
        F[i] = max(F[i] + step * other[i], TINY)
