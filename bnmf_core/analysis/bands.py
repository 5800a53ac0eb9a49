"""Posterior intervals of the entries of components within a mode."""

import numpy as np

from bnmf_core.analysis.posterior import Posterior
from bnmf_core.compare.alignment import matching

# Fraction of the draws within a band.
WITHIN = 0.95


def entry_bands(
    posterior: Posterior | None, labels: np.ndarray, rows: np.ndarray, A: np.ndarray
) -> np.ndarray | None:
    """The range of each entry that holds 95 % of the draws in its mode, in shares of the sum.

    Draws are up to 100 of each mode, evenly spaced over its settled chains. A range need not hold
    the entry of the optimum itself: draws lie around it, and none lies at a bound.

    Parameters
    ----------
    posterior : None where it is not known. labels : (m,) modes of all members.
    rows : K members, with the bases A (K, D, R), whose components are in any order.

    Returns
    -------
    (2, K, D, R) lowest and highest; NaN where the chains of a mode have not settled. None where
    no row has draws.
    """
    if posterior is None:
        return None
    found = np.full((2, *A.shape), np.nan)
    for place, row in enumerate(rows.tolist()):
        k = posterior.within(labels, row)
        if k is not None:
            draws = np.asarray(posterior.draws[k]["A"], dtype=np.float64)
            order = matching(draws, A[place])
            draws = np.take_along_axis(draws, order[:, None, :], axis=2)
            shares = draws / np.maximum(draws.sum(axis=1, keepdims=True), 1e-300)
            ends = (1 - WITHIN) / 2, (1 + WITHIN) / 2
            found[:, place] = np.quantile(shares, ends, axis=0)
    return None if np.isnan(found).all() else found
