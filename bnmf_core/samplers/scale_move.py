"""A Metropolis move along the scale of each component, which leaves AW as it is.

(A_r, W_r) → (s A_r, W_r/s) has the Jacobian s^(D−N). Gibbs sweeps change a component's scale in
small steps only, as A is drawn given W and W given A.
"""

import numpy as np

from bnmf_core.core.problem import Problem


def move(
    problem: Problem, A: np.ndarray, W: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One proposal for every component: new A (c, R, D), W (c, R, N), accepted (c, R) bool.

    log s ~ N(0, τ²) with τ log-uniform between 1/(D + N) and 1, whatever the state, so that s and
    1/s are proposed alike; the likelihood stays, and so does that power of it that a tempered
    posterior has. Components are independent given AW, so each is accepted for itself.
    """
    D, N = A.shape[2], W.shape[2]
    of_A, of_W = problem.model.entry_priors(problem.model_settings, D)
    width = np.exp(-np.log(D + N) * rng.random(A.shape[:2]))
    log_s = width * rng.standard_normal(width.shape)
    s = np.exp(log_s)
    change = of_A.gained(A, s) + of_W.gained(W, 1 / s) + (D - N) * log_s
    accepted = np.log1p(-rng.random(s.shape)) < change
    s = np.where(accepted, s, 1.0)[:, :, None]
    return A * s, W / s, accepted
