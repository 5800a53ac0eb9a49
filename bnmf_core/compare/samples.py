"""Shares of components in observations, groups of observations, and changes of group.

The share of a component in observation n is what it adds to column n of AW, as part of that
column's sum: w_rn Σ_d a_dr / Σ_r w_rn Σ_d a_dr. It does not depend on the scale of components. The
group of an observation is the component with the largest share.
"""

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.lazy import lazy
from bnmf_core.numerics.matrix import dense

distance = lazy("scipy.spatial.distance")
hierarchy = lazy("scipy.cluster.hierarchy")

# Group of an observation whose column of AW is 0.
NOBODY = -1
# Number of entries of X made dense at once.
COLUMNS = 2**22
# Observations with a sum below this fraction of the median are never typical.
FAINT = 0.5


def sample_shares(A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Shares (…, R, N) of bases A (…, D, R) and weights W (…, R, N).

    Columns sum to 1; where AW has a column of zeros, they are 0.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core.compare.samples import sample_shares
    >>> A, W = np.array([[1.0, 0.0], [1.0, 2.0]]), np.array([[1.0, 0.0], [3.0, 4.0]])
    >>> sample_shares(A, W)
    array([[0.25, 0.  ],
           [0.75, 1.  ]])
    """
    parts = sample_amounts(A, W)
    total = parts.sum(axis=-2, keepdims=True)
    return np.divide(parts, total, out=np.zeros_like(parts), where=total > 0)


def sample_groups(shares: np.ndarray) -> np.ndarray:
    """The component with the largest share (…, N), of shares (…, R, N); −1 where all are 0."""
    return np.where(shares.max(axis=-2) > 0, shares.argmax(axis=-2), NOBODY)


def in_groups(shares: np.ndarray) -> np.ndarray:
    """Observations in the order of their groups, the purest of each first: indices (N,).

    shares : (R, N).
    """
    groups = sample_groups(shares)
    own = shares[np.maximum(groups, 0), np.arange(groups.size)]
    return np.lexsort((-own, np.where(groups < 0, len(shares), groups)))


def sample_amounts(A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Contribution of each component to the sum of a column of AW: (…, R, N).

    Of counts these are counts: the exposures of mutational signatures, the words of each topic.
    """
    return W * A.sum(axis=-2)[..., None]


def reconstruction_cosines(dataset: Dataset, A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Cosine similarity (N,) of each observation's seen entries with their fit; 0 of an empty one.

    A : (D, R), W : (R, N). As for mutational signatures (Alexandrov and others 2020, Nature 578).

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core import Dataset
    >>> from bnmf_core.compare.samples import reconstruction_cosines
    >>> data = Dataset.from_array([[3.0, 1.0], [4.0, 0.0]])
    >>> reconstruction_cosines(data, np.array([[1.0], [0.0]]), np.array([[2.0, 2.0]]))
    array([0.6, 1. ])
    """
    found = np.zeros(dataset.N)
    step = max(1, COLUMNS // dataset.D)
    for first in range(0, dataset.N, step):
        some = slice(first, first + step)
        X, fit = dense(dataset.X[:, some]), A @ W[:, some]
        if dataset.mask is not None:
            fit = np.where(dataset.mask[:, some], fit, 0.0)
        size = np.linalg.norm(X, axis=0) * np.linalg.norm(fit, axis=0)
        np.divide((X * fit).sum(axis=0), size, out=found[some], where=size > 0)
    return found


def prevalence(shares: np.ndarray) -> np.ndarray:
    """Mean share (…, R) of each component over the observations of which AW holds something.

    shares : (…, R, N) of :func:`sample_shares`.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core.compare.samples import prevalence
    >>> prevalence(np.array([[0.25, 0.75, 0.0], [0.75, 0.25, 0.0]]))
    array([0.5, 0.5])
    """
    held = np.maximum((shares.sum(axis=-2) > 0).sum(axis=-1), 1)
    return np.asarray(shares.sum(axis=-1) / held[..., None])


def by_total(amounts: np.ndarray) -> np.ndarray:
    """Observations from the largest total to the smallest: indices (N,). amounts : (R, N)."""
    return np.argsort(-amounts.sum(axis=0), kind="stable")


def consensus_matrix(groups: np.ndarray) -> np.ndarray:
    """(N, N) part of M factorizations that put two observations into one group.

    groups : (M, N), each by its own factorization's components, which need not be matched.
    Source: Brunet and others (2004), Metagenes and molecular pattern discovery, PNAS 101.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core.compare.samples import consensus_matrix
    >>> consensus_matrix(np.array([[0, 0, 1], [1, 0, 0]]))
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0.5],
           [0. , 0.5, 1. ]])
    """
    together = np.zeros((groups.shape[1],) * 2)
    for each in groups:
        together += (each[:, None] == each) & (each >= 0)
    return together / len(groups)


def doubtful_pairs(
    together: np.ndarray, groups: np.ndarray, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of one group that are together least, and of two groups that are together most often.

    Parameters
    ----------
    together : (N, N) of :func:`consensus_matrix`. groups : (N,). most : pairs of each kind.

    Returns
    -------
    (k, 2) and (l, 2) indices, the most doubtful first, without pairs that nobody doubts. What
    belongs to no group is in no pair.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core.compare.samples import doubtful_pairs
    >>> together = np.array([[1.0, 0.6, 0.3], [0.6, 1.0, 0.0], [0.3, 0.0, 1.0]])
    >>> [pairs.tolist() for pairs in doubtful_pairs(together, np.array([0, 0, 1]), 5)]
    [[[0, 1]], [[0, 2]]]
    """
    i, j = np.triu_indices(groups.size, 1)
    known, same, part = (groups[i] >= 0) & (groups[j] >= 0), groups[i] == groups[j], together[i, j]
    found = []
    for chosen, doubt in ((same, 1.0 - part), (~same, part)):
        rows = np.flatnonzero(known & chosen & (doubt > 0))
        rows = rows[np.argsort(-doubt[rows], kind="stable")][:most]
        found.append(np.column_stack([i[rows], j[rows]]))
    return found[0], found[1]


def cophenetic_correlation(consensus: np.ndarray) -> float:
    """How clear the groups of a consensus matrix (N, N) are; 1 where any two are always alike.

    The correlation of 1 − consensus with the heights at which average linkage joins two
    observations (Brunet and others 2004). NaN for fewer than 3 observations; 1 where all distances
    are the same.
    """
    if len(consensus) < 3:
        return float("nan")
    apart = distance.squareform(1.0 - consensus, checks=False)
    if np.ptp(apart) == 0:
        return 1.0
    return float(hierarchy.cophenet(hierarchy.linkage(apart, "average"), apart)[0])


def undetermined(dataset: Dataset, rank: int) -> np.ndarray:
    """Which observations have fewer seen entries than components, so that weights are open: (N,).

    Fewer equations than unknowns have many solutions, whatever the restarts say of A.
    """
    if dataset.mask is None:
        return np.zeros(dataset.N, dtype=bool)
    few: np.ndarray = dataset.mask.sum(axis=0) < rank
    return few


def group_changes(first: np.ndarray, second: np.ndarray, rank: int) -> np.ndarray:
    """(R, R) observations in group i of one factorization and j of another, matched with it."""
    both = (first >= 0) & (second >= 0)
    return np.bincount(first[both] * rank + second[both], minlength=rank**2).reshape(rank, rank)


def typical_samples(
    A: np.ndarray, W: np.ndarray, most: int, open_: np.ndarray | None = None
) -> np.ndarray:
    """(R, most) observations with the largest shares of each component, the largest first.

    Of equal shares the one with the larger column of AW comes first. Only those count whose column
    sums to at least half of the median: of nearly nothing, a large share says little. Those in
    ``open_`` (N,) do not count either, such as :func:`undetermined` ones. A (D, R), W (R, N).
    """
    shares, amount = sample_shares(A, W), A.sum(axis=0) @ W
    score = shares - (amount < FAINT * np.median(amount))
    if open_ is not None:
        score = score - open_
    return np.lexsort((np.broadcast_to(-amount, score.shape), -score), axis=1)[:, :most]
