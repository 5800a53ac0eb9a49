"""Coordinates without walls of one factor, by its support, and slopes in them.

- entries ≥ 0: log x;
- columns that sum to 1: the centred log-ratios log x − mean(log x), which isometric ones
  (Egozcue et al. 2003) only turn: distances and inner products are the same;
- entries between 0 and 1: log(x/(1 − x)).

In them, with the Jacobian, a density vanishes towards every border, and Stein's identity holds.
"""

import numpy as np
from scipy.special import logit

from bnmf_core.core.model import Support


def coordinates(F: np.ndarray, support: Support, axis: int) -> np.ndarray:
    """Coordinates of a factor (M, …) off every border; ``axis``: along which columns sum to 1."""
    if support is Support.UNIT_INTERVAL:
        return logit(F)
    logarithms = np.log(F)
    if support is Support.SIMPLEX:
        logarithms -= logarithms.mean(axis=axis, keepdims=True)
    return logarithms


def to_slopes(gradient: np.ndarray, F: np.ndarray, support: Support, axis: int) -> None:
    """Turn the gradient in F, in place, into that of the density in the coordinates.

    The density of log F gains ∏F, that of the log-ratios ∏x and that of the logits ∏x(1 − x). With
    h = F ∘ gradient + 1 it is h, and h − x Σh along a column x that sums to 1; for a logit it is
    x(1 − x) ∘ gradient + 1 − 2x.
    """
    gradient *= F
    if support is Support.UNIT_INTERVAL:
        gradient *= 1.0 - F
        gradient -= 2.0 * F
    gradient += 1.0
    if support is Support.SIMPLEX:
        gradient -= F * gradient.sum(axis=axis, keepdims=True)


def dimension(rows: int, columns: int, support: Support) -> int:
    """Dimension of the space of a factor."""
    return (rows - 1) * columns if support is Support.SIMPLEX else rows * columns
