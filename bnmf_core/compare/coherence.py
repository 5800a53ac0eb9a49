"""Coherence of topics: whether the words of each stand in the same documents."""

import numpy as np
from scipy import sparse

from bnmf_core.core.errors import DataError
from bnmf_core.numerics.matrix import Matrix


def coherence(words: np.ndarray, X: Matrix) -> np.ndarray:
    """Mean normalized pointwise mutual information (NPMI) of each two words of a topic: (…,).

    log(p(a, b) / p(a) p(b)) / −log p(a, b), with p the shares of documents that hold a, b or both:
    0 for words that are independent, −1 where no document holds both, 1 where all do (Bouma 2009;
    Röder, Both & Hinneburg 2015). NaN for a topic of fewer than two words.

    Parameters
    ----------
    words : (…, K) rows of X, the words of each topic; below 0 where a topic has fewer. X : (D, N),
        above 0 where a document holds a word.

    Raises
    ------
    DataError
        When a word is no row of X.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core import coherence
    >>> X = np.array([[1, 2, 0, 0], [1, 1, 0, 0], [0, 0, 3, 1]])
    >>> coherence(np.array([[0, 1], [0, 2]]), X)
    array([ 1., -1.])
    """
    words = np.asarray(words)
    if words.max(initial=-1) >= X.shape[0]:
        raise DataError(f"Words are rows 0 to {X.shape[0] - 1} of X; {words.max()} was given.")
    distinct, place = np.unique(np.maximum(words, 0), return_inverse=True)
    inside = (sparse.csr_array(X)[distinct] > 0).astype(float)
    together = (inside @ inside.T).toarray() / X.shape[1]
    single = np.diag(together)
    with np.errstate(divide="ignore", invalid="ignore"):
        npmi = np.log(together / np.outer(single, single)) / -np.log(together)
    npmi[together == 0] = -1.0
    npmi[together == 1] = 1.0
    place = place.reshape(words.shape)
    one, other = np.triu_indices(words.shape[-1], k=1)
    counted = (words[..., one] >= 0) & (words[..., other] >= 0)
    total = np.where(counted, npmi[place[..., one], place[..., other]], 0.0).sum(axis=-1)
    pairs = counted.sum(axis=-1)
    return np.divide(total, pairs, out=np.full(pairs.shape, np.nan), where=pairs > 0)
