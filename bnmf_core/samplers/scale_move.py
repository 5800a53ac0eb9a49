"""A Metropolis move along the scale of each component, which leaves AW as it is.

(A_r, W_r) → (s A_r, W_r/s) has the Jacobian s^(D−N). Gibbs sweeps change a component's scale in
small steps only, as A is drawn given W and W given A.
"""

import numpy as np

from bnmf_core.core.model import EntryPrior, given
from bnmf_core.core.problem import Problem


def move(
    problem: Problem, A: np.ndarray, W: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One proposal for every component: new A (c, R, D), W (c, R, N), accepted (c, R) bool.

    log s ~ N(0, τ²) with τ log-uniform between 1/(D + N) and 1, whatever the state, so that s and
    1/s are proposed alike; the likelihood stays, and so does that power of it that a tempered
    posterior has. Components are independent given AW, so each is accepted for itself.
    """
    drawn = given(problem.model.conditionals)(problem.model_settings)
    D, N = A.shape[2], W.shape[2]
    width = np.exp(-np.log(D + N) * rng.random(A.shape[:2]))
    log_s = width * rng.standard_normal(width.shape)
    s = np.exp(log_s)
    change = _prior_change(drawn.A, A, s) + _prior_change(drawn.W, W, 1 / s) + (D - N) * log_s
    accepted = np.log1p(-rng.random(s.shape)) < change
    s = np.where(accepted, s, 1.0)[:, :, None]
    return A * s, W / s, accepted


def _prior_change(prior: EntryPrior, F: np.ndarray, s: np.ndarray) -> np.ndarray:
    """log p(s F_r) − log p(F_r) of every component: F (c, R, n), s (c, R)."""
    change = -prior.rate * (s - 1) * F.sum(axis=2)
    if prior.precision > 0:
        change -= 0.5 * prior.precision * (s**2 - 1) * np.square(F).sum(axis=2)
    if np.isfinite(prior.largest):
        change = np.where(s * F.max(axis=2) <= prior.largest, change, -np.inf)
    return change
