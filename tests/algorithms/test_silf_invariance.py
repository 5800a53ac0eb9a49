"""HMC leaves the posterior of the threshold model invariant: θ from the prior, X from the
likelihood, some moves, and both are distributed as before; a wrong threshold is noticed.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from bnmf_core.likelihoods import silf

from .kernels import D, N, draw_joint, hmc_kernel
from .test_invariance import MOVES, passes, simplex_basis_p_values, weight_p_values

SETTINGS = silf.Settings(epsilon=8.0, beta=0.6, C=0.7, rate=1.0)
KERNEL = hmc_kernel("simplex", model=silf.MODEL, settings=SETTINGS)


def objective_distribution():
    """f = ‖X − AW‖² on a grid and its distribution function, ∝ f^(DN/2 − 1) exp(−C SILF(f))."""
    f = np.geomspace(1e-4, 200.0, 400_001)
    density = f ** (D * N / 2 - 1) * np.exp(-SETTINGS.C * silf.silf(f, 8.0, 0.6))
    total = np.concatenate([[0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(f))])
    return f, total / total[-1]


def p_values(kernel, draws, rng) -> list[float]:
    A, W, _ = draw_joint("simplex", draws, rng)
    grid, below = objective_distribution()
    E = rng.standard_normal((draws, D, N))
    E /= np.sqrt((E**2).sum(axis=(1, 2), keepdims=True))
    E *= np.sqrt(np.interp(rng.uniform(size=draws), below, grid))[:, None, None]
    X = A @ W + E
    A, W = kernel.move(A, W, X, rng, MOVES)
    values = ((X - A @ W) ** 2).sum(axis=(1, 2))
    fit = stats.kstest(values, lambda y: np.interp(y, grid, below)).pvalue
    return [fit, *weight_p_values(W), *simplex_basis_p_values(A)]


def assert_kept(draws, seed):
    first, second = np.random.default_rng([seed, 0]), np.random.default_rng([seed, 1])
    assert passes(p_values(KERNEL, draws, first)) or passes(p_values(KERNEL, 4 * draws, second))


def test_hmc_keeps_the_joint_distribution():
    assert_kept(20_000, 31)


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes", [{"epsilon": 6.0}, {"C": 0.5}, {"rate": 0.9}], ids=["threshold", "steepness", "rate"]
)
def test_the_same_test_notices_another_model(changes):
    wrong = hmc_kernel("simplex", model=silf.MODEL, settings=replace(SETTINGS, **changes))
    assert not passes(p_values(wrong, 20_000, np.random.default_rng(32)))


@pytest.mark.long
def test_hmc_keeps_the_joint_distribution_in_the_long_run():
    assert_kept(200_000, 33)
