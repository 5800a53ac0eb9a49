"""The noise level that ranks are compared under: one for all of them, or each rank's own."""

from dataclasses import replace

import numpy as np

from bnmf_core.core.errors import SettingsError, raise_if_cancelled
from bnmf_core.core.problem import Problem
from bnmf_core.evidence.annealing import Stopped, never
from bnmf_core.evidence.restarts import Restarts
from bnmf_core.numerics.residuals import squared_errors
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.probability.gaussian import SMALLEST_RELATIVE_SIGMA
from bnmf_core.samplers.gibbs import sweep

# Chains, and sweeps after each of which σ is set anew, the first of them by long steps.
CHAINS, SWEEPS, UNSEEN = 8, 300, 100


def residual_noise(problem: Problem, restarts: Restarts) -> float:
    """σ from the best fit: √(‖X − AW‖²/(seen entries − numbers that were free to fit them)).

    Those numbers are the entries of A and W that are not zero, less one scale a component.

    Raises
    ------
    SettingsError
        When so many numbers leave nothing to tell the noise by.
    """
    data, R = problem.dataset, problem.rank
    left = data.observed - restarts.free_numbers
    sigma = np.sqrt(restarts.squared[restarts.best] / left) if left > 0 else 0.0
    if sigma < SMALLEST_RELATIVE_SIGMA * np.sqrt(data.squared_norm / data.observed):
        raise SettingsError(
            f"Rank {R}, the largest, fits {data.name!r} so closely that no residual is left to "
            "tell the noise by; give σ, or smaller ranks."
        )
    return float(sigma)


def with_noise(problem: Problem, sigma: float) -> Problem:
    """The problem with this σ."""
    settings = replace(problem.model_settings, sigma=sigma)
    return replace(problem, model_settings=settings)


def most_probable_noise(
    problem: Problem,
    A: np.ndarray,
    W: np.ndarray,
    squared: float,
    rng: np.random.Generator,
    stopped: Stopped = never,
) -> float:
    """σ at which the evidence of a mode, A (D, R), W (R, N) with ‖X − AW‖² = squared, is largest.

    There σ² is the posterior mean of ‖X − AW‖² over the number of seen entries (d log Z/dσ = 0).
    Gibbs chains from the mode find it by stochastic approximation of expectation-maximization
    (Delyon, Lavielle & Moulines 1999): a sweep of all chains is the expectation, and steps shrink
    after a while. No smaller than a thousandth of X, as everywhere.

    Raises
    ------
    Cancelled
        When ``stopped()`` said so.
    """
    data = problem.dataset
    smallest = SMALLEST_RELATIVE_SIGMA**2 * data.squared_norm / data.observed
    start_A, start_W = problem.model.scale(A[None], W[None])
    chains_A = np.repeat(start_A.transpose(0, 2, 1), CHAINS, axis=0)
    chains_W = np.repeat(start_W, CHAINS, axis=0)
    variance = max(squared / data.observed, smallest)
    with one_blas_thread():
        for done in range(SWEEPS):
            raise_if_cancelled(stopped, "the noise level")
            noisy = with_noise(problem, float(np.sqrt(variance)))
            chains_A, chains_W = sweep(noisy, chains_A, chains_W, rng)
            bases = chains_A.transpose(0, 2, 1)
            met = float(squared_errors(data.X, bases, chains_W, data.mask).mean()) / data.observed
            # At first all the way to what was met, then the mean of all that was met since.
            step = 1.0 / max(1, done - UNSEEN)
            variance = max(variance + step * (met - variance), smallest)
    return float(np.sqrt(variance))
