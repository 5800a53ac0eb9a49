"""Weights for a given basis: non-negative least squares, many columns and bases at once."""

import numpy as np
from numba import njit
from scipy import sparse

from bnmf_core.core.errors import DataError
from bnmf_core.numerics.matrix import Matrix, is_sparse

# Coordinate descent finds most of the zeros in a few sweeps; then the exact method starts.
SWEEPS = 3
# A gradient that is this small, relative to the largest entry of AᵀX, counts as zero.
TOLERANCE = 1e-12
# A squared length that falls to this part of itself lies in the span of the other columns.
DEPENDENT = 1e-13


def solve_weights(X: Matrix, A: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
    """Best non-negative weights of every observation, each basis held fixed.

    W[m] = argmin over W ≥ 0 of ‖X − A[m] W‖²_F on the normal equations AᵀA, AᵀX: a few sweeps
    of cyclic coordinate descent guess which weights are zero, and the active-set method of
    Lawson and Hanson (Solving Least Squares Problems, 1974, chapter 23) goes on from there to
    the exact minimum, however close to collinear the columns of A are. Where they are
    linearly dependent, one of the minima is returned; an all-zero column gets weight 0.

    Parameters
    ----------
    X : (D, N) array or scipy sparse matrix. A : (M, D, R) non-negative bases.
    mask : (D, N) bool, True where X was observed; other entries are left out of the sum.

    Returns
    -------
    (M, R, N) float64.

    Raises
    ------
    DataError
        When the shapes do not fit, an entry of A is not finite, or a mask comes with a
        sparse X.
    """
    A = np.asarray(A)
    if A.ndim != 3 or A.shape[1] != X.shape[0]:
        raise DataError(
            f"The bases are {A.shape}; a {X.shape[0]}×{X.shape[1]} matrix needs (M, "
            f"{X.shape[0]}, R)."
        )
    if mask is not None and (is_sparse(X) or mask.shape != X.shape):
        raise DataError("A mask needs a dense matrix of its own shape.")
    if is_sparse(X):
        transposed: Matrix = sparse.csc_array(X, dtype=np.float64).T
    else:
        transposed = np.asarray(X, dtype=np.float64).T
        if mask is not None:
            transposed = np.where(mask.T, transposed, 0.0)
    seen = None if mask is None else np.asarray(mask, dtype=np.float64).T
    M, D, R = A.shape
    W = np.empty((M, R, X.shape[1]))
    for m in range(M):
        basis = np.array(A[m], dtype=np.float64)
        # Columns of length 1: tolerances then mean the same for every component.
        length = np.sqrt((basis**2).sum(axis=0))
        if not np.isfinite(length).all():
            raise DataError(f"The basis at position {m} holds an entry that is not finite.")
        length[length == 0] = 1.0
        basis /= length
        if seen is None:
            gram = (basis.T @ basis)[None]
        else:
            products = (basis[:, :, None] * basis[:, None, :]).reshape(D, R * R)
            gram = (seen @ products).reshape(-1, R, R)
        target = np.ascontiguousarray(transposed @ basis)
        W[m] = (solve_columns(gram, target) / length).T
    return W


@njit(cache=True, nogil=True)
def solve_columns(gram: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Minimise ½wᵀGw − bᵀw over w ≥ 0, for every b: see :func:`solve_weights`.

    Parameters
    ----------
    gram : G (1, R, R), or one for each b, (N, R, R). target : b (N, R).

    Returns
    -------
    (N, R).
    """
    N, R = target.shape
    weights = np.zeros((N, R))
    factor = np.empty((R, R))
    trial = np.empty(R)
    support = np.empty(R, np.int64)
    closed = np.empty(R, np.bool_)
    for n in range(N):
        G = gram[n] if gram.shape[0] > 1 else gram[0]
        largest = 0.0
        for r in range(R):
            largest = max(largest, abs(target[n, r]))
        if largest == 0.0:
            continue
        for _ in range(SWEEPS):
            _sweep(G, target[n], weights[n])
        tolerance = TOLERANCE * largest
        active_set(G, target[n], weights[n], tolerance, factor, trial, support, closed)
    return weights


@njit(cache=True, nogil=True)
def improve_columns(
    gram: np.ndarray,
    target: np.ndarray,
    weights: np.ndarray,
    inverses: np.ndarray,
    kind: np.ndarray,
) -> None:
    """:func:`solve_columns` from weights that may be near, in place.

    Where the zeros are right already, one product tells the weights; elsewhere the active-set
    method goes on from them.

    Parameters
    ----------
    gram : G (R, R). target, weights : (N, R). inverses : (K, R, R), of G on the components of each
        kind that are above 0. kind : (N,), of each column of X.
    """
    N, R = target.shape
    factor = np.empty((R, R))
    trial = np.empty(R)
    support = np.empty(R, np.int64)
    closed = np.empty(R, np.bool_)
    for n in range(N):
        inverse, b, w = inverses[kind[n]], target[n], weights[n]
        largest = 0.0
        right = True
        for r in range(R):
            largest = max(largest, abs(b[r]))
            trial[r] = 0.0
            for k in range(R):
                trial[r] += inverse[r, k] * b[k]
            right = right and (trial[r] > 0.0 or w[r] <= 0.0)
        tolerance = TOLERANCE * largest
        for r in range(R):
            if right and w[r] <= 0.0:
                gradient = -b[r]
                for k in range(R):
                    gradient += gram[r, k] * trial[k]
                right = gradient >= -tolerance
        if right:
            for r in range(R):
                w[r] = trial[r]
        else:
            active_set(gram, b, w, tolerance, factor, trial, support, closed)


@njit(cache=True, nogil=True)
def _sweep(G: np.ndarray, b: np.ndarray, w: np.ndarray) -> None:
    """One pass of coordinate descent over w, in place."""
    for r in range(w.shape[0]):
        if G[r, r] <= 0.0:
            continue
        gradient = -b[r]
        for s in range(w.shape[0]):
            gradient += G[r, s] * w[s]
        w[r] = max(0.0, w[r] - gradient / G[r, r])


@njit(cache=True, nogil=True)
def active_set(
    G: np.ndarray,
    b: np.ndarray,
    w: np.ndarray,
    tolerance: float,
    factor: np.ndarray,
    trial: np.ndarray,
    support: np.ndarray,
    closed: np.ndarray,
) -> None:
    """Move w ≥ 0 to the minimum of ½wᵀGw − bᵀw over w ≥ 0, in place.

    ``support`` lists the components free to be positive and ``factor`` is the Cholesky factor
    of G on them; ``closed`` marks those that rounding alone would let in.
    """
    R = w.shape[0]
    count = 0
    for r in range(R):
        closed[r] = False
        if w[r] > 0.0:
            if extend(G, factor, support, count, r):
                count += 1
            else:
                w[r] = 0.0
    for _ in range(10 * R):
        _solve_on_support(factor, b, support, count, trial)
        step = 1.0
        for i in range(count):
            if trial[i] <= 0.0:
                step = min(step, w[support[i]] / (w[support[i]] - trial[i] + 1e-300))
        if step < 1.0:
            count = _retreat(G, w, step, factor, support, count, trial, closed)
            continue
        for i in range(count):
            w[support[i]] = trial[i]
        if not _enter(G, b, w, tolerance, factor, support, count, closed):
            return
        count += 1


@njit(cache=True, nogil=True)
def _retreat(
    G: np.ndarray,
    w: np.ndarray,
    step: float,
    factor: np.ndarray,
    support: np.ndarray,
    count: int,
    trial: np.ndarray,
    closed: np.ndarray,
) -> int:
    """Go towards the trial point until the first weight is zero, and take it out; how many stay."""
    remaining = 0
    for i in range(count):
        r = support[i]
        before = w[r]
        w[r] += step * (trial[i] - before)
        leaves = trial[i] <= 0.0 and before <= step * (before - trial[i]) * (1 + 1e-12)
        if leaves or w[r] <= 0.0:
            w[r] = 0.0
            closed[r] = closed[r] or before == 0.0
        elif extend(G, factor, support, remaining, r):
            remaining += 1
        else:
            w[r] = 0.0
    return remaining


@njit(cache=True, nogil=True)
def _enter(
    G: np.ndarray,
    b: np.ndarray,
    w: np.ndarray,
    tolerance: float,
    factor: np.ndarray,
    support: np.ndarray,
    count: int,
    closed: np.ndarray,
) -> bool:
    """Let in the zero weight whose growth lowers the objective fastest; False if none does."""
    while True:
        steepest = -tolerance
        entering = -1
        for r in range(w.shape[0]):
            if w[r] > 0.0 or closed[r] or G[r, r] <= 0.0:
                continue
            gradient = -b[r]
            for i in range(count):
                gradient += G[r, support[i]] * w[support[i]]
            if gradient < steepest:
                steepest = gradient
                entering = r
        if entering < 0:
            return False
        if extend(G, factor, support, count, entering):
            return True
        closed[entering] = True


@njit(cache=True, nogil=True)
def extend(G: np.ndarray, factor: np.ndarray, support: np.ndarray, count: int, r: int) -> bool:
    """Add component r to the Cholesky factor; False when it depends on those already in."""
    remaining = G[r, r]
    for j in range(count):
        total = G[r, support[j]]
        for k in range(j):
            total -= factor[count, k] * factor[j, k]
        factor[count, j] = total / factor[j, j]
        remaining -= factor[count, j] * factor[count, j]
    if remaining <= DEPENDENT * G[r, r]:
        return False
    factor[count, count] = np.sqrt(remaining)
    support[count] = r
    return True


@njit(cache=True, nogil=True)
def _solve_on_support(
    factor: np.ndarray, b: np.ndarray, support: np.ndarray, count: int, trial: np.ndarray
) -> None:
    for i in range(count):
        total = b[support[i]]
        for k in range(i):
            total -= factor[i, k] * trial[k]
        trial[i] = total / factor[i, i]
    for i in range(count - 1, -1, -1):
        total = trial[i]
        for k in range(i + 1, count):
            total -= factor[k, i] * trial[k]
        trial[i] = total / factor[i, i]
