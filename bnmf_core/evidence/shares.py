"""Posterior masses from log evidences, and what their errors leave of them."""

import numpy as np
from scipy import special

# Draws of the masses that their intervals come from, and the part of them inside.
DRAWS, INSIDE = 4000, 0.9


def shares(
    log_evidence: np.ndarray,
    error: np.ndarray,
    rng: np.random.Generator,
    groups: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The mass of each part, and the lower and upper end of 90 % of what the errors allow.

    Parameters
    ----------
    log_evidence : (K,) of disjoint parts of the posterior, nats; −∞ for none. error : (K,) one
        standard error each, NaN where there is no evidence.
    groups : (K,) the group of each part, 0 and up, whose masses are wanted together.

    Returns
    -------
    Three arrays (K,), or one entry for each group; masses sum to 1.
    """
    drawn = log_evidence + np.nan_to_num(error) * rng.standard_normal((DRAWS, error.size))
    of_parts = special.softmax(np.vstack([log_evidence, drawn]), axis=1)
    if groups is not None:
        of_parts = of_parts @ np.eye(int(groups.max(initial=-1)) + 1)[groups]
    tails = (1 - INSIDE) / 2
    low, high = np.quantile(of_parts[1:], [tails, 1 - tails], axis=0)
    return of_parts[0], low, high
