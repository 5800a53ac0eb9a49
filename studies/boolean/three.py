"""Three variables in the place of a table of yes and no (paper 4, §4.1.2).

    LL₁ = −½ [(xy − a)² + (xz − b)² + (yz − c)²],  LL₂ = LL₁ − ½ (x² + y² + z²)

on [0, 1]³; in the thesis's (4.1) and (4.2) two of the squares have the wrong sign.
"""

from itertools import product

import numpy as np
from scipy.optimize import minimize

CASES = tuple("".join(map(str, bits)) for bits in product((0, 1), repeat=3))
PRIORS = ("flat", "normal")
# Nodes of Gauss–Legendre quadrature along each variable: its error is far below 1e-6.
NODES = 40
STARTS = (0.1, 0.5, 0.9)


def log_density(point: np.ndarray, case: str, prior: str) -> np.ndarray:
    """LL₁ ("flat") or LL₂ ("normal") at points (3, …)."""
    x, y, z = point
    a, b, c = map(float, case)
    value = -0.5 * ((x * y - a) ** 2 + (x * z - b) ** 2 + (y * z - c) ** 2)
    if prior == "normal":
        value = value - 0.5 * (x**2 + y**2 + z**2)
    return np.asarray(value)


def largest(case: str, prior: str) -> tuple[float, np.ndarray]:
    """The largest log density on [0, 1]³, and where it is."""
    found = [
        minimize(
            lambda point: -float(log_density(point, case, prior)),
            np.array(start),
            bounds=[(0.0, 1.0)] * 3,
            method="L-BFGS-B",
            options={"ftol": 1e-15, "gtol": 1e-10},
        )
        for start in product(STARTS, repeat=3)
    ]
    best = min(found, key=lambda one: one.fun)
    return -float(best.fun), np.asarray(best.x)


def means(case: str, prior: str) -> np.ndarray:
    """Posterior means of x, y and z."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    grid = np.stack(np.meshgrid(*[0.5 * (nodes + 1.0)] * 3, indexing="ij"))
    volume = np.einsum("i,j,k->ijk", weights, weights, weights)
    density = np.exp(log_density(grid, case, prior)) * volume
    return np.asarray((grid * density).sum(axis=(1, 2, 3)) / density.sum())
