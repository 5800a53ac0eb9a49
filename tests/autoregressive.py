"""Chains whose autocorrelation is known."""

import numpy as np
from scipy.signal import lfilter


def autoregressive(rho: float, shape: tuple[int, int], seed: int = 0) -> np.ndarray:
    """x_t = ρ x_{t−1} + noise, begun in its stationary state: correlations ρ^t."""
    noise = np.random.default_rng(seed).standard_normal((shape[0], shape[1] + 1000))
    return lfilter([1.0], [1.0, -rho], noise, axis=1)[:, 1000:]
