"""Derivatives of functions of one factor, to the last digits."""

import numpy as np

STEP = 1e-30


def by_complex_step(function, F):
    """Im f(F + ih)/h for every entry, of the shape of F."""
    slopes = np.empty(F.shape)
    for place in np.ndindex(F.shape):
        moved = F.astype(complex)
        moved[place] += 1j * STEP
        slopes[place] = function(moved).imag / STEP
    return slopes
