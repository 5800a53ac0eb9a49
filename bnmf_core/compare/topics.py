"""Words of the components of a text factorization."""

import difflib
from collections.abc import Sequence

import numpy as np
import pandas as pd

from bnmf_core.core.errors import DataError, NotFoundError, SettingsError
from bnmf_core.numerics.matrix import Matrix, dense


def relevance_scores(
    A: np.ndarray, relevance: float = 1.0, background: np.ndarray | None = None
) -> np.ndarray:
    """Relevance of every feature to every component: (…, D, R).

    λ·log φ + (1 − λ)·log(φ / p), with φ the columns of A scaled to sum to 1 and p how common
    a feature is overall (C. Sievert and K. Shirley, LDAvis, 2014, equation 1). λ = 1 ranks by
    probability within the component, λ = 0 by how particular a feature is to it. A feature
    that a component does not use, or that never occurs while λ < 1, scores −∞.

    Parameters
    ----------
    A : (…, D, R) non-negative bases.
    relevance : λ, 0 to 1.
    background : (D,) p up to its scale (row sums of X, for instance); the average column φ of
        the same factorization when left out.

    Raises
    ------
    SettingsError
        When λ is outside 0 to 1.
    DataError
        When the background does not fit.
    """
    A = np.asarray(A, dtype=np.float64)
    if A.ndim < 2:
        raise DataError(f"Bases are (…, D, R); this array is {A.shape}.")
    if not 0.0 <= relevance <= 1.0:
        raise SettingsError(f"The relevance was {relevance}; it lies between 0 and 1.")
    total = A.sum(axis=-2, keepdims=True)
    probability = np.divide(A, total, out=np.zeros_like(A), where=total > 0)
    with np.errstate(divide="ignore"):
        scores = np.log(probability)
    if relevance == 1.0:
        return scores
    if background is None:
        common = probability.mean(axis=-1, keepdims=True)
    else:
        common = np.asarray(background, dtype=np.float64)
        if common.shape != (A.shape[-2],) or common.min() < 0 or not common.sum() > 0:
            raise DataError(
                f"The background must hold {A.shape[-2]} frequencies ≥ 0, one for each feature."
            )
        common = (common / common.sum())[:, None]
    usual = np.full_like(common, np.inf)
    np.log(common, out=usual, where=common > 0)
    # λ log φ + (1 − λ)(log φ − log p), without a product of 0 and infinity.
    return scores - (1.0 - relevance) * usual


# By which features name a component, and are listed at first: Sievert & Shirley (2014) found that
# topics are recognised best at it.
RELEVANCE = 0.6
# Number of words that name a topic.
NAMING = 2


def topic_names(A: np.ndarray, features: Sequence[str]) -> list[str]:
    """The two most relevant words of each component of a basis (D, R), as one name.

    They are the first of :func:`top_words` at the relevance 0.6; "" for a
    component of zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core.compare.topics import topic_names
    >>> topic_names(np.array([[5.0, 0.0], [1.0, 1.0], [0.0, 7.0]]), ["moon", "and", "goal"])
    ['moon, and', 'goal, and']
    """
    found = top_words(A, features, NAMING, RELEVANCE)
    return [", ".join(word for word in some if word) for some in found]


def top_indices(
    A: np.ndarray,
    count: int = 10,
    relevance: float = 1.0,
    background: np.ndarray | None = None,
) -> np.ndarray:
    """Most relevant features of every component: (…, R, count) int64, the best first.

    Equal scores keep the features' order. Where a component uses fewer than ``count``
    features the rest is −1. ``count`` is cut to D.
    """
    return _ranked(relevance_scores(A, relevance, background), count)[0]


def top_words(
    A: np.ndarray,
    features: Sequence[str],
    count: int = 10,
    relevance: float = 1.0,
    background: np.ndarray | None = None,
) -> np.ndarray:
    """Names of the most relevant features of every component: (…, R, count) strings.

    Where a component uses fewer than ``count`` features the rest is "". Other arguments as
    for :func:`relevance_scores`.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core import top_words
    >>> A = np.array([[5.0, 0.0], [1.0, 1.0], [0.0, 7.0]])
    >>> top_words(A, ["moon", "and", "goal"], count=2)
    array([['moon', 'and'],
           ['goal', 'and']], dtype='<U4')
    """
    return _words(top_indices(A, count, relevance, background), _names(features, A))


def attributed(A: np.ndarray, W: np.ndarray, X: Matrix, features: np.ndarray) -> np.ndarray:
    """Share of the row sums of X that each component accounts for: (K, R), of K features.

    Σ_n x_dn a_dr w_rn / (AW)_dn: each entry is divided as the fit divides it, which is expected
    under Poisson noise (Cemgil 2009). Rows sum to those of X, less entries where the fit is 0.

    Parameters
    ----------
    A : (D, R). W : (R, N). X : (D, N). features : (K,) rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core.compare.topics import attributed
    >>> A, W, X = np.array([[1.0, 3.0], [2.0, 0.0]]), np.ones((2, 2)), np.array([[4, 8], [5, 0]])
    >>> attributed(A, W, X, np.array([0, 1]))
    array([[3., 9.],
           [5., 0.]])
    """
    fit = A[features] @ W
    ratio = np.divide(dense(X[features]), fit, out=np.zeros(fit.shape), where=fit > 0)
    return np.asarray(A[features] * (ratio @ W.T))


def aligned_words(
    A_aligned: np.ndarray,
    features: Sequence[str],
    count: int = 10,
    relevance: float = 1.0,
    background: np.ndarray | None = None,
) -> pd.DataFrame:
    """Top words of K aligned factorizations, and where they differ from the first.

    Parameters
    ----------
    A_aligned : (K, D, R), components in one common order.

    Returns
    -------
    A row per word: ``factorization`` (0-based position in A_aligned), ``component``
    (0-based), ``rank`` (1 is the best), ``word``, ``probability`` (its part of the component's
    sum), ``score`` (the relevance) and ``changed``: the word is not among the first
    factorization's top words of the same component.
    """
    A_aligned = np.asarray(A_aligned)
    if A_aligned.ndim != 3:
        raise DataError(f"Aligned bases are (K, D, R); this array is {A_aligned.shape}.")
    index, scores = _ranked(relevance_scores(A_aligned, relevance, background), count)
    probability = np.swapaxes(np.exp(relevance_scores(A_aligned)), -1, -2)
    names = _names(features, A_aligned)
    in_first = (index[:, :, :, None] == index[:1, :, None, :]).any(axis=-1)
    factorization, component, rank = np.indices(index.shape)
    table = pd.DataFrame(
        {
            "factorization": factorization.ravel(),
            "component": component.ravel(),
            "rank": rank.ravel() + 1,
            "word": _words(index, names).ravel(),
            "probability": np.take_along_axis(probability, np.maximum(index, 0), axis=-1).ravel(),
            "score": scores.ravel(),
            "changed": ~in_first.ravel(),
        }
    )
    return table[index.ravel() >= 0].reset_index(drop=True)


def key_term_counts(
    A: np.ndarray,
    features: Sequence[str],
    terms: Sequence[str],
    count: int = 10,
    relevance: float = 1.0,
    background: np.ndarray | None = None,
) -> np.ndarray:
    """In how many components of each factorization a term is a top word: (M, len(terms)).

    Parameters
    ----------
    A : (M, D, R). terms : names among ``features``.

    Raises
    ------
    NotFoundError
        For a term that is not a feature; names the features that look like it.
    """
    names = _names(features, A)
    position = {str(name): d for d, name in enumerate(names)}
    for term in terms:
        if term not in position:
            close = difflib.get_close_matches(str(term), position, n=3)
            hint = f"; similar ones are {', '.join(map(repr, close))}" if close else ""
            raise NotFoundError(f"There is no feature called {term!r}{hint}.")
    index = top_indices(A, count, relevance, background)
    counts = [(index == position[term]).any(axis=-1).sum(axis=-1) for term in terms]
    return np.stack(counts, axis=-1) if counts else np.zeros((len(A), 0), np.int64)


def _ranked(scores: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    if count < 1:
        raise SettingsError(f"The number of top words was {count}; at least 1 is needed.")
    scores = np.ascontiguousarray(np.swapaxes(scores, -1, -2))
    index = _largest(scores, count)
    best = np.take_along_axis(scores, index, axis=-1)
    return np.where(best > -np.inf, index, -1), best


def _largest(scores: np.ndarray, count: int) -> np.ndarray:
    """Indices of the largest entries of each last axis, from large to small, ties by index."""
    if count >= scores.shape[-1]:
        return np.argsort(-scores, axis=-1, kind="stable")
    index = np.sort(np.argpartition(-scores, count - 1, axis=-1)[..., :count], axis=-1)
    best = np.take_along_axis(scores, index, axis=-1)
    index = np.take_along_axis(index, np.argsort(-best, axis=-1, kind="stable"), axis=-1)
    # Where the last one is tied with one left out, the choice was arbitrary: sort in full.
    tied = (scores >= best.min(axis=-1, keepdims=True)).sum(axis=-1) > count
    index[tied] = np.argsort(-scores[tied], axis=-1, kind="stable")[..., :count]
    return index


def _names(features: Sequence[str], A: np.ndarray) -> np.ndarray:
    names = np.asarray([str(name) for name in features])
    if names.shape != (np.shape(A)[-2],):
        raise DataError(f"{names.size} feature names were given for {np.shape(A)[-2]} features.")
    return names


def _words(index: np.ndarray, names: np.ndarray) -> np.ndarray:
    return np.where(index >= 0, names[index], "")
