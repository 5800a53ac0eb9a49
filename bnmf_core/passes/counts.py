"""The Kullback–Leibler divergence over blocks: best weights given A, and what A's next step needs.

For one observation x and its weights w the divergence is s·w − Σ x log(Bw) and what no w changes,
with B the rows of A at the entries x > 0 and s the column sums of A. It is self-concordant where
x ≥ 1, so Newton's method on w ≥ 0, damped by 1/(1 + decrement) while that is large, converges from
any start (Nesterov 2004, section 4.1); near the minimum it converges quadratically.
"""

import time

import numba
import numpy as np
from scipy import sparse

from bnmf_core.blocks.whole import whole_of
from bnmf_core.core.kullback_leibler import KULLBACK_LEIBLER
from bnmf_core.core.problem import Problem
from bnmf_core.numerics.matrix import Matrix
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.passes.sums import Sums, of_weights
from bnmf_core.solvers.nnls import TOLERANCE, active_set

# Multiplicative updates before Newton's steps, and the most of these.
ROUGH, NEWTON = 8, 60
# A step is damped while the decrement is above the first; one below the second is the last, after
# which it is about its square.
DAMPED, ARRIVED = 0.25, 1e-3
# What is added to the curvature, a part of its diagonal: an observation with fewer entries than
# components bends in few directions, and in the others goes as far as w ≥ 0 lets it.
RIDGE = 1e-8


def sums(problem: Problem, i: int, A: np.ndarray, judged: np.ndarray) -> tuple[Sums, float]:
    """Sums of block i at the bases A (m, R, D), and the seconds that it took.

    ``judged`` (m,) : whether to compute the log joint.
    """
    began = time.thread_time()
    with one_blas_thread():
        X = whole_of(problem).read(i)
        columns, floor = nonzero(X), KULLBACK_LEIBLER.floor(problem.dataset)
        (m, R, D), n = A.shape, X.shape[1]
        W, loss, both = np.empty((m, R, n)), np.empty(m), _places(R)
        slope, curvature = np.empty((m, R, D)), np.empty((m, D, R, R))
        for p in range(m):
            w, loss[p], of_rows, bends = best_weights(columns, A[p].T, floor)
            W[p] = w.T
            slope[p] = w.sum(axis=0)[:, None] - of_rows.T
            curvature[p] = bends[:, both]
        found = of_weights(problem, i, X, A, W, loss, slope, curvature, bool(judged.any()))
    return found, time.thread_time() - began


def nonzero(X: Matrix) -> sparse.csc_array:
    """The entries of X above 0, by columns."""
    columns = sparse.csc_array(X)
    columns.eliminate_zeros()
    return columns


def best_weights(
    X: sparse.csc_array, A: np.ndarray, floor: float
) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
    """The weights (n, R) at which X (D, n) diverges least from A (D, R), and what they give.

    The divergence, Σ x'/y' w of each row (D, R), and Σ x'/y'² w wᵀ (D, R (R + 1)/2) by its lower
    triangle; x' and y' are raised by the floor. Every stored entry is above 0.
    """
    (D, R), n = A.shape, X.shape[1]
    W, of_rows, bends = np.zeros((n, R)), np.zeros((D, R)), np.zeros((D, R * (R + 1) // 2))
    bases = np.ascontiguousarray(A)
    loss = _solved(X.indptr, X.indices, X.data, bases, floor, W, of_rows, bends)
    return W, loss, of_rows, bends


def _places(R: int) -> np.ndarray:
    """Indices of a symmetric matrix (R, R) in its lower triangle, row by row."""
    rows, columns = np.tril_indices(R)
    places = np.empty((R, R), dtype=np.int64)
    places[rows, columns] = places[columns, rows] = np.arange(rows.size)
    return places


@numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def _solved(
    starts: np.ndarray,
    places: np.ndarray,
    values: np.ndarray,
    A: np.ndarray,
    floor: float,
    W: np.ndarray,
    of_rows: np.ndarray,
    bends: np.ndarray,
) -> float:
    """Put the best weights into W (n, R) and add what they give; A (D, R). The divergence.

    of_rows : (D, R), Σ x'/y' w. bends : (D, R (R + 1)/2), Σ x'/y'² w wᵀ, its lower triangle.
    """
    n, R = W.shape
    longest = 0
    for j in range(n):
        longest = max(longest, starts[j + 1] - starts[j])
    B, x, y = np.empty((R, longest)), np.empty(longest), np.empty(longest)
    u, v, pairs = np.empty(longest), np.empty(longest), np.empty(bends.shape[1])
    found, s = 0.0, A.sum(axis=0)
    for j in range(n):
        low, count, total = starts[j], starts[j + 1] - starts[j], 0.0
        for e in range(count):
            x[e] = values[low + e] + floor
            total += values[low + e]
            for r in range(R):
                B[r, e] = A[places[low + e], r]
        w = W[j]
        if total > 0.0:
            _descend(B, x[:count], s, floor, total, w, y, u, v)
        _weigh(B, x[:count], w, floor, y, u, v)
        k = 0
        for r in range(R):
            found += s[r] * w[r]
            for q in range(r + 1):
                pairs[k] = w[r] * w[q]
                k += 1
        for e in range(count):
            found += x[e] * np.log(x[e] / y[e]) - (x[e] - floor)
            row, bend, pulled, bent = of_rows[places[low + e]], bends[places[low + e]], u[e], v[e]
            for r in range(R):
                row[r] += pulled * w[r]
            for k in range(pairs.size):
                bend[k] += bent * pairs[k]
    return found


@numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy", forceinline=True)
def _weigh(
    B: np.ndarray,
    x: np.ndarray,
    w: np.ndarray,
    floor: float,
    y: np.ndarray,
    u: np.ndarray,
    v: np.ndarray,
) -> None:
    """Put Bᵀw and the floor into y, x/y into u and x/y² into v."""
    for e in range(x.size):
        y[e] = floor
    for r in range(w.size):
        a, size = B[r, : x.size], w[r]
        if size > 0.0:
            for e in range(x.size):
                y[e] += size * a[e]
    for e in range(x.size):
        u[e] = x[e] / y[e]
        v[e] = u[e] / y[e]


@numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy", forceinline=True)
def _descend(
    B: np.ndarray,
    x: np.ndarray,
    s: np.ndarray,
    floor: float,
    total: float,
    w: np.ndarray,
    y: np.ndarray,
    u: np.ndarray,
    v: np.ndarray,
) -> None:
    """Put the best weights of one observation into w (R,); B (R, …) has its entries first."""
    R, count = w.size, x.size
    whole = s.sum()
    for r in range(R):
        w[r] = total / whole if s[r] > 0.0 else 0.0
    for _ in range(ROUGH):
        _weigh(B, x, w, floor, y, u, v)
        for r in range(R):
            pulled, a = 0.0, B[r, :count]
            for e in range(count):
                pulled += u[e] * a[e]
            if s[r] > 0.0:
                w[r] *= pulled / s[r]
    H, pull, new, factor = np.empty((R, R)), np.empty(R), np.empty(R), np.empty((R, R))
    trial, support, closed = np.empty(R), np.empty(R, np.int64), np.empty(R, np.bool_)
    for _ in range(NEWTON):
        _weigh(B, x, w, floor, y, u, v)
        tolerance = TOLERANCE * _quadratic(B, s, w, u[:count], v[:count], H, pull)
        new[:] = w
        active_set(H, pull, new, tolerance, factor, trial, support, closed)
        bent, fall = 0.0, 0.0
        for r in range(R):
            along = 0.0
            for q in range(R):
                along += H[r, q] * (new[q] - w[q])
            bent += (new[r] - w[r]) * along
            fall += (new[r] - w[r]) * (pull[r] - 0.5 * along)
            for q in range(R):
                fall -= (new[r] - w[r]) * H[r, q] * w[q]
        decrement = np.sqrt(max(bent, 0.0))
        size = 1.0 if decrement <= DAMPED else 1.0 / (1.0 + decrement)
        for r in range(R):
            w[r] = max(w[r] + size * (new[r] - w[r]), 0.0)
        if decrement <= ARRIVED and fall <= ARRIVED**2:
            return


@numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy", forceinline=True)
def _quadratic(
    B: np.ndarray,
    s: np.ndarray,
    w: np.ndarray,
    u: np.ndarray,
    v: np.ndarray,
    H: np.ndarray,
    pull: np.ndarray,
) -> float:
    """Put the quadratic ½wᵀHw − pull·w that the divergence is at w into H and pull; max |pull|."""
    R, largest = w.size, 0.0
    for r in range(R):
        a, pulled = B[r, : u.size], 0.0
        for e in range(u.size):
            pulled += u[e] * a[e]
        pull[r] = pulled - s[r]
        for q in range(r + 1):
            b, bend = B[q, : u.size], 0.0
            for e in range(u.size):
                bend += v[e] * a[e] * b[e]
            H[r, q] = bend
            H[q, r] = bend
        H[r, r] *= 1.0 + RIDGE
    for r in range(R):
        for q in range(R):
            pull[r] += H[r, q] * w[q]
        largest = max(largest, abs(pull[r]))
    return largest
