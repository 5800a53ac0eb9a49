"""Stein discrepancy of particles against time as they arrive."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bnmf_core.analysis.stein import weigh
from bnmf_core.posterior.stein import ksd

SIZES = (5, 10, 25, 50)
# HIGHS is mostly the fastest, but may take seconds where particles are nearly alike, like the draws
# of a chain; and a discrepancy is wanted of many sets of them.
SOLVER = "CLARABEL"
WEIGHTS = {"weighted": "Stein weights", "equal": "equal weights"}


def discrepancies(K: np.ndarray) -> dict[str, float]:
    """wᵀKw of a Stein kernel K (M, M) under the names of ``WEIGHTS``."""
    M = K.shape[0]
    return {"weighted": ksd(K, weigh(K, SOLVER)[0]), "equal": ksd(K, np.full(M, 1.0 / M))}


def as_they_arrive(
    K: np.ndarray, seconds: np.ndarray, sizes: Sequence[int] = SIZES
) -> pd.DataFrame:
    """Discrepancies of the first particles of one run, in the order of their time.

    Parameters
    ----------
    K : (m, m) Stein kernel. seconds : (m,) when each was finished; equal times keep their order.
    sizes : numbers of particles; those beyond m are left out, and m is always included.

    Returns
    -------
    Columns M, seconds, weighted and equal. ``weighted`` never rises with more particles.
    """
    order = np.argsort(seconds, kind="stable")
    rows = []
    for M in sorted({min(size, K.shape[0]) for size in (*sizes, K.shape[0])}):
        first = order[:M]
        found = discrepancies(K[np.ix_(first, first)])
        rows.append({"M": M, "seconds": float(seconds[first].max()), **found})
    return pd.DataFrame(rows)
