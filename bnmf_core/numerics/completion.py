"""Filling the unseen entries of a matrix with a product of low rank.

What needs a whole matrix (singular vectors, a compression) gets a completed one; the error of a
factorization, and what a solver or sampler lowers or draws in the end, is over the seen entries.
"""

from typing import Any

import numpy as np

from bnmf_core.numerics.matrix import Matrix, dense

MOST_ITERATIONS = 100
TOLERANCE = 1e-3
COMPLETION_SEED = 2


def completed(data: Any, rank: int) -> Matrix:
    """X (D, N) of a Dataset, dense or sparse, where all of it was seen; else :func:`complete`."""
    X: Matrix = data.X
    return complete(dense(X), data.mask, rank) if data.missing else X


def complete(X: np.ndarray, mask: np.ndarray, rank: int) -> np.ndarray:
    """X with its unseen entries filled by a truncated SVD that is iterated.

    Hard-impute (Mazumder, Hastie & Tibshirani 2010, section 5; SVDimpute of Troyanskaya and others
    2001): put the best product of rank R where nothing was seen, and find the best product of the
    result. As in paper 3, §7.3, the singular vectors of the completed matrix then stand in for
    those of X; that paper completes by masked multiplicative updates instead. The fill is kept
    ≥ 0, so these are projections onto two sets in turn, and ‖completed − product‖ never rises.
    One step of subspace iteration from the last singular vectors stands in for a whole SVD.

    Parameters
    ----------
    X : (D, N) entries ≥ 0, 0 where unseen. mask : (D, N) bool, True where seen; at least one entry
        is. rank : R of the product, at most min(D, N).

    Returns
    -------
    (D, N). It begins with (mean of the feature · mean of the observation)/mean of all, a line
    without a seen entry counting as the mean of all, and ends when the fill changes by less than
    a thousandth of itself, after 100 iterations at the latest.
    """
    if X.shape[0] < X.shape[1]:
        return complete(X.T, mask.T, rank).T
    unseen = ~mask
    completed = np.where(mask, X, mean_product(X, mask))
    rng = np.random.default_rng(COMPLETION_SEED)
    V = np.linalg.qr(rng.standard_normal((X.shape[1], rank)))[0]
    for _ in range(MOST_ITERATIONS):
        V = np.linalg.qr(completed.T @ (completed @ V))[0]
        product = np.maximum((completed @ V) @ V.T, 0.0)
        fill, before = product[unseen], completed[unseen]
        completed[unseen] = fill
        if np.linalg.norm(fill - before) <= TOLERANCE * np.linalg.norm(fill):
            break
    return completed


def mean_product(X: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """(mean of the feature · mean of the observation)/mean of all, over seen entries: (D, N)."""
    overall = X.sum() / mask.sum()
    if overall == 0.0:
        return np.zeros(X.shape)
    features, observations = (
        np.divide(X.sum(axis=axis), seen, out=np.full(seen.size, overall), where=seen > 0)
        for axis, seen in ((1, mask.sum(axis=1)), (0, mask.sum(axis=0)))
    )
    return np.outer(features, observations) / overall
