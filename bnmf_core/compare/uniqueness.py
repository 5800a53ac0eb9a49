"""Which components every factorization of the same AW has, and which can be mixed with others.

Two certificates, both of the exact product AW of a factorization of rank R, whatever the noise:

Unique. Column r of A is in all of them, up to its scale, when some column of X holds component r
alone, and the rows in which A_r is 0 have rank R − 1 in the other columns: then it is an extreme
ray of the room of non-negative vectors, and the data reach it (restricted data-based uniqueness,
Gillis & Rajkó 2023; Rajkó 2015). The same holds of row r of W, with A and W exchanged. And a column
is unique where all other rows of W are, since these leave one direction: it is what they are 0 on;
likewise a row of W.

Mixed. A + ε A_i e_jᵀ, W − ε e_i W_j has the same product. It stays non-negative for an ε > 0 when
component i is in every observation that j is in, and for an ε < 0 when the entries of A_i that are
above 0 are so in A_j. Then component j can take up some of i, or lose some.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from bnmf_core.compare.alignment import component_angles
from bnmf_core.compare.feasible import Feasible, region
from bnmf_core.core.errors import DataError
from bnmf_core.core.names import listed

# Entries below this part of the largest of their column of A, or row of W, are 0.
ZERO = 1e-6
# A singular value below this part of the largest is 0.
SINGULAR = 1e-6
# Degrees below which a component hardly turns, and number of components that a sentence lists.
HARDLY, MOST_LISTED = 1.0, 3


@dataclass(frozen=True, eq=False)
class Uniqueness:
    """Proved uniqueness of R components.

    Attributes
    ----------
    columns, rows : (R,) bool, columns of A and rows of W that every factorization of AW has.
    turns : (R, R) degrees by which column j of A can turn when it takes up component i, or loses
        some of it, with all else of A as it is: [i, j], the larger of the two; 0 on the diagonal.
    """

    columns: np.ndarray
    rows: np.ndarray
    turns: np.ndarray


def uniqueness(A: np.ndarray, W: np.ndarray) -> Uniqueness:
    """Certificates of the factorization A (D, R), W (R, N); a component of zeros has none.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core.compare.uniqueness import uniqueness
    >>> A = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> uniqueness(A, np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])).columns
    array([ True,  True])
    >>> found = uniqueness(A, np.array([[1.0, 0.2, 1.0], [0.0, 1.0, 1.0]]))
    >>> found.columns, found.turns.round(1)  # the second one can take up some of the first
    (array([ True, False]), array([[0. , 8.9],
           [0. , 0. ]]))
    """
    A, W = np.asarray(A, dtype=np.float64), np.asarray(W, dtype=np.float64)
    A = np.where(ZERO * A.max(axis=0) < A, A, 0.0)
    W = np.where(ZERO * W.max(axis=1)[:, None] < W, W, 0.0)
    columns, rows = _alone_and_extreme(A, W.T), _alone_and_extreme(W.T, A)
    for _ in range(2 * A.shape[1]):
        columns, rows = columns | _all_others(rows), rows | _all_others(columns)
    full = (A > 0).any(axis=0) & (W > 0).any(axis=1)
    if not full.all():  # of fewer components than R nothing has been shown
        columns, rows = np.zeros((2, full.size), dtype=bool)
    return Uniqueness(columns, rows, _turns(A, W))


def freedom(A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """(R,) degrees by which other factorizations with the same AW turn the columns of A.

    The farthest for two and three components (:func:`bnmf_core.compare.feasible.region`); at least
    so far for more, of which mixtures with one other component are tried.

    A : (D, R). W : (R, N).
    """
    if A.shape[1] in (2, 3):
        with suppress(DataError):  # they span fewer dimensions
            return region(Feasible.of(A, W)).angle
    return uniqueness(A, W).turns.max(axis=0)


def describe_uniqueness(found: Uniqueness, called: Sequence[str]) -> str:
    """Which components are unique, which can be mixed, and of which neither is proved.

    ``called`` : R names, as they stand after "component".

    >>> both = np.array([True, False])
    >>> describe_uniqueness(Uniqueness(both, both, np.array([[0.0, 8.9], [0.0, 0.0]])), ["1", "2"])
    'Every factorization with the same AW has component 1 as it is. Component 2 can be mixed \
with component 1 without any change of AW, and turns by up to 9°.'
    """
    sentences, unique = [], np.flatnonzero(found.columns)
    if unique.size:
        which = f"component{'s' * (unique.size > 1)} {listed([called[r] for r in unique.tolist()])}"
        sentences.append(f"Every factorization with the same AW has {which} as it is.")
    turned, other = found.turns.max(axis=0), found.turns.argmax(axis=0)
    mixed = np.flatnonzero(~found.columns & (turned >= HARDLY))
    for j in mixed[np.argsort(-turned[mixed], kind="stable")][:MOST_LISTED].tolist():
        sentences.append(
            f"Component {called[j]} can be mixed with component {called[int(other[j])]} without "
            f"any change of AW, and turns by up to {turned[j]:.0f}°."
        )
    if mixed.size > MOST_LISTED:
        sentences.append(f"So can {mixed.size - MOST_LISTED} more.")
    open_ = np.flatnonzero(~found.columns & (turned < HARDLY))
    if open_.size:
        which = listed([called[r] for r in open_.tolist()])
        is_, one = ("s", "are"), "one of them"
        if open_.size == 1:
            is_, one = ("", "is"), "it"
        together = "several together may turn it more"
        if len(called) == 3:
            together = "the regions show how far both others together turn it"
        sentences.append(
            f"Component{is_[0]} {which} {is_[1]} not proved unique: mixing {one} with one other "
            f"component alone turns it by less than {HARDLY:g}°; {together}."
        )
    return " ".join(sentences)


def _alone_and_extreme(F: np.ndarray, G: np.ndarray) -> np.ndarray:
    """(R,) columns of F (D, R) that some row of G (N, R) holds alone, and that are extreme."""
    R = F.shape[1]
    alone = ((G > 0).sum(axis=1) == 1)[:, None] & (G > 0)
    found = alone.any(axis=0)
    for r in np.flatnonzero(found):
        others = np.delete(F[F[:, r] == 0], r, axis=1)
        found[r] = R == 1 or (len(others) >= R - 1 and _rank(others) == R - 1)
    return found


def _rank(rows: np.ndarray) -> int:
    """Rank after scaling columns to the same size."""
    size = np.linalg.norm(rows, axis=0)
    if not size.all():
        return 0
    return int(np.linalg.matrix_rank(rows / size, tol=SINGULAR * np.sqrt(rows.shape[1])))


def _all_others(known: np.ndarray) -> np.ndarray:
    """(R,) whether all others are known."""
    return np.asarray(known.sum() - known == known.size - 1)


def _turns(A: np.ndarray, W: np.ndarray) -> np.ndarray:
    R = A.shape[1]
    turns = np.zeros((R, R))
    full = np.asarray((A > 0).any(axis=0) & (W > 0).any(axis=1))
    for i in range(R):
        for j in range(R):
            if i == j or not (full[i] and full[j]):
                continue
            # ε up, as far as W_i − ε W_j stays at least 0; ε down, as A_j − ε A_i does.
            for sign, most in ((1.0, _most(W[i], W[j])), (-1.0, _most(A[:, j], A[:, i]))):
                moved = A[:, j] + sign * most * A[:, i]
                if moved.any():
                    angle = component_angles(moved[None, :, None], A[:, [j]])[0, 0]
                    turns[i, j] = max(turns[i, j], angle)
    return turns


def _most(whole: np.ndarray, part: np.ndarray) -> float:
    """The largest ε ≥ 0 with whole − ε part ≥ 0."""
    held = part > 0
    return float((whole[held] / part[held]).min())
