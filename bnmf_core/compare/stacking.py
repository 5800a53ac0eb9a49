"""Stacking weights: the mixture of factorizations that predicts held-out entries best.

Yao, Vehtari, Simpson & Gelman (2018), Using stacking to average Bayesian predictive distributions,
Bayesian Analysis 13; Yao, Vehtari & Gelman (2022), Stacking for non-mixing Bayesian computations,
Journal of Machine Learning Research 23. Unlike a posterior mass, which says how probable a mode is,
a stacking weight says how much it adds to a prediction that others make already.
"""

from collections.abc import Callable

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import raise_if_cancelled
from bnmf_core.core.loss import Loss
from bnmf_core.core.objective import MaximumLikelihood
from bnmf_core.core.problem import Problem
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.solvers import usual_solver
from bnmf_core.solvers.solution import Stopping, solve_with

# Parts of the seen entries, each hidden once, and when a factorization of the others has settled.
FOLDS = 5
SETTLED = Stopping(1000, None)
# Steps of the weights, at most, and the gain, in nats for a prediction, at which they end.
STEPS, GAIN = 20_000, 1e-9


def stacking_weights(log_density: np.ndarray) -> np.ndarray:
    """Weights (K,) ≥ 0 of sum 1 that make Σ_i log Σ_k w_k p_ik largest.

    ``log_density`` : (K, n) log p_ik, what each of K says of n hidden parts of the data. By
    expectation and maximization, which never lowers the sum; it has one maximum.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core.compare.stacking import stacking_weights
    >>> stacking_weights(np.log([[0.9, 0.1, 0.9, 0.1], [0.1, 0.9, 0.1, 0.9]])).round(3)
    array([0.5, 0.5])
    """
    shifted = log_density - log_density.max(axis=0)
    p = np.exp(shifted)
    weights = np.full(len(p), 1.0 / len(p))
    before = -np.inf
    for _ in range(STEPS):
        mixed = weights @ p
        now = float(np.log(mixed).mean())
        weights = weights * (p / mixed).mean(axis=1)
        if now - before <= GAIN:
            break
        before = now
    return np.asarray(weights / weights.sum())


def gain_of_mixture(log_density: np.ndarray, weights: np.ndarray, k: int) -> tuple[float, float]:
    """Gain in nats of a mixture of K over its k-th part alone, on all hidden parts.

    And its standard error, from the n parts; see Vehtari, Gelman & Gabry (2017).

    log_density : (K, n). weights : (K,) of sum 1.
    """
    ahead = log_density - log_density[k]
    top = ahead.max(axis=0)
    gains = top + np.log(weights @ np.exp(ahead - top))
    return float(gains.sum()), float(np.sqrt(gains.size) * gains.std(ddof=1))


def hidden_predictions(
    dataset: Dataset,
    loss: Loss,
    A: np.ndarray,
    W: np.ndarray,
    rng: np.random.Generator,
    on_progress: Callable[[float], None] | None = None,
    cancel: Callable[[], bool] | None = None,
) -> np.ndarray:
    """Log densities of held-out entries under K factorizations, by observation and part.

    Seen entries are cut into ``FOLDS`` parts at random. While one is hidden, each factorization is
    solved for again, from where it stands, so that it stays in its mode; the noise is what the best
    of them leaves.

    Parameters
    ----------
    A : (K, D, R), W : (K, R, N). on_progress : called with the fraction done. cancel : checked.

    Returns
    -------
    (K, FOLDS · N) log densities in nats, up to a constant for each column that is the same for all
    K; those of observations with nothing hidden are 0.

    Raises
    ------
    Cancelled
        When ``cancel()`` returned True.
    """
    X = dataset.dense()
    seen = np.ones(X.shape, dtype=bool) if dataset.mask is None else dataset.mask
    part = rng.integers(FOLDS, size=X.shape)
    found = []
    for fold in range(FOLDS):
        raise_if_cancelled(cancel, "predicting held-out entries")
        hidden = seen & (part == fold)
        rest, held_out = (
            Problem.without_model(
                Dataset.from_array(np.where(mask, X, 0.0), mask=mask), A.shape[2], loss=loss
            )
            for mask in (seen & ~hidden, hidden)
        )
        with one_blas_thread():
            solved = solve_with(usual_solver(rest), rest, A.copy(), W.copy(), SETTLED)
        best = loss.values(rest, *solved).min()
        nats = MaximumLikelihood(rest).nats(np.array([best]))
        found.append(-nats * loss.by_observation(held_out, *solved))
        if on_progress is not None:
            on_progress((fold + 1) / FOLDS)
    return np.concatenate(found, axis=1)
