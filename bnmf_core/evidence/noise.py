"""The noise level that ranks are compared under: one for all of them, or each rank's own."""

from dataclasses import replace

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import SettingsError, raise_if_cancelled
from bnmf_core.core.problem import Problem
from bnmf_core.core.squared_error import SMALLEST_RELATIVE_NOISE
from bnmf_core.evidence.annealing import Stopped, never
from bnmf_core.evidence.restarts import Restarts
from bnmf_core.numerics.residuals import free_numbers, squared_errors
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.samplers.gibbs import sweep

# Chains, and sweeps after each of which σ is set anew, the first of them by long steps.
CHAINS, SWEEPS, UNSEEN = 8, 300, 100
# Maximum number of residuals compared, minimum in a quarter of the fit, and the ratio of sizes from
# which noise counts as uneven.
ENTRIES, FEWEST_ENTRIES, LARGER = 200_000, 50, 1.5


def residual_noise(problem: Problem, restarts: Restarts) -> float:
    """σ from the best fit: √(‖X − AW‖²/(seen entries − numbers that were free to fit them)).

    Those numbers are the entries of A and W that are not zero, less one scale a component.

    Raises
    ------
    SettingsError
        When so many numbers leave nothing to tell the noise by.
    """
    data, R, best = problem.dataset, problem.rank, restarts.best
    left = data.observed - free_numbers(restarts.A[best], restarts.W[best])
    sigma = np.sqrt(restarts.f[best] / left) if left > 0 else 0.0
    if sigma < SMALLEST_RELATIVE_NOISE * np.sqrt(data.squared_norm / data.observed):
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
        When ``stopped()`` returned True.
    """
    data = problem.dataset
    smallest = SMALLEST_RELATIVE_NOISE**2 * data.squared_norm / data.observed
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


def grows(dataset: Dataset, A: np.ndarray, W: np.ndarray) -> bool:
    """Whether residuals of a fit A (D, R), W (R, N) are larger where the fit is.

    Compared are root mean squares, over the upper quarter of the fitted entries and over the second
    lowest: the lowest may be cut off at 0. Of a large X that is seen on entries drawn at random.
    """
    rng = np.random.default_rng(0)
    rows, columns = (rng.integers(size, size=ENTRIES) for size in dataset.X.shape)
    if dataset.X.shape[0] * dataset.X.shape[1] <= ENTRIES:
        rows, columns = np.indices(dataset.X.shape).reshape(2, -1)
    if dataset.mask is not None:
        seen = dataset.mask[rows, columns]
        rows, columns = rows[seen], columns[seen]
    fit = np.einsum("er,re->e", A[rows], W[:, columns])
    squared = (np.asarray(dataset.X[rows, columns]).ravel() - fit) ** 2
    low, middle, high = np.quantile(fit, [0.25, 0.5, 0.75])
    of_low = squared[(fit > low) & (fit <= middle)]
    of_high = squared[fit > high]
    if min(of_low.size, of_high.size) < FEWEST_ENTRIES:
        return False
    return bool(of_high.mean() > LARGER**2 * of_low.mean())
