"""Compiled loops of the solver: coordinate descent, and the approach."""

import numba
import numpy as np

from bnmf_core.solvers import products
from bnmf_core.solvers.products import (
    combined,
    copy,
    gram_matrix,
    inner_products,
    pair,
    whole_lines,
)

assert products.REVISION == 5

# Columns of a factor that are worked on together: a few R × TILE numbers stay in the nearest cache.
TILE = 256
# A Gram diagonal below this stands for an empty component.
EMPTY = 1e-300
# Extrapolation (Ang & Gillis 2019): how its step grows, how fast its limit grows, how it shrinks.
GROWTH, LIMIT_GROWTH, SHRINKAGE, SMALLEST_STEP = 1.1, 1.05, 1.5, 0.1
# Single-precision products carry about this error relative to ‖X‖²; a rise below it is noise.
NOISE = 4e-9


@numba.njit(cache=True, nogil=True, forceinline=True)
def _of_other(G: np.ndarray, r: int, k: int) -> float:
    """G_kr, 0 where k is r or no component."""
    return G.dtype.type(0.0) if k == r or k >= G.shape[0] else G[k, r]


@numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy", forceinline=True)
def _descend(
    F: np.ndarray,
    C: np.ndarray,
    G: np.ndarray,
    sweeps: int,
    total: np.ndarray,
) -> None:
    """:func:`sweep` of one F (R, n), in place; total (TILE,) is overwritten.

    Offsets are unsigned: only with them does the compiler see that an index never counts from the
    end, and takes several columns at a time. Components go in fours: fewer passes over the tile.
    """
    R, n = F.shape
    one, zero = F.dtype.type(1.0), F.dtype.type(0.0)
    for first in range(0, n, TILE):
        start, width = np.uint64(first), np.uint64(min(TILE, n - first))
        for _ in range(sweeps):
            for r in range(R):
                if G[r, r] <= EMPTY:
                    continue
                inverse = one / G[r, r]
                for i in range(width):
                    total[i] = C[r, start + i]
                for k in range(0, R, 4):
                    t, u, v = min(k + 1, R - 1), min(k + 2, R - 1), min(k + 3, R - 1)
                    a, b = _of_other(G, r, k), _of_other(G, r, k + 1)
                    c, d = _of_other(G, r, k + 2), _of_other(G, r, k + 3)
                    for i in range(width):
                        at = start + i
                        total[i] -= a * F[k, at] + b * F[t, at] + c * F[u, at] + d * F[v, at]
                for i in range(width):
                    value = total[i] * inverse
                    F[r, start + i] = value if value > zero else zero


@numba.njit(cache=True, nogil=True)
def sweep(F: np.ndarray, C: np.ndarray, G: np.ndarray, sweeps: int) -> None:
    """Coordinate descent on ½ Σ f G f − c f over f ≥ 0, in place, for every column of F.

    Parameters
    ----------
    F, C : (m, R, n) factor and linear term. G : (m, R, R) Gram matrices of the other factor.
    A component whose Gram diagonal is zero (below 1e-300) cannot be improved and stays as it is.
    """
    total = np.empty(TILE, F.dtype)
    for p in range(F.shape[0]):
        _descend(F[p], C[p], G[p], sweeps, total)


@numba.njit(cache=True, nogil=True, fastmath=True)
def sweep_each(F: np.ndarray, C: np.ndarray, G: np.ndarray, sweeps: int) -> None:
    """:func:`sweep` with a Gram matrix of its own for every column of F: G (m, R, R, n)."""
    m, R, n = F.shape
    total = np.empty(TILE)
    for p in range(m):
        for first in range(0, n, TILE):
            start, width = np.uint64(first), np.uint64(min(TILE, n - first))
            for _ in range(sweeps):
                for r in range(R):
                    for i in range(width):
                        total[i] = C[p, r, start + i]
                    for k in range(R):
                        if k != r:
                            for i in range(width):
                                total[i] -= G[p, k, r, start + i] * F[p, k, start + i]
                    for i in range(width):
                        diagonal = G[p, r, r, start + i]
                        if diagonal > EMPTY:
                            F[p, r, start + i] = max(total[i] / diagonal, 0.0)


@numba.njit(cache=True, nogil=True, fastmath=True, forceinline=True)
def _extrapolate(new: np.ndarray, old: np.ndarray, step: float, result: np.ndarray) -> None:
    R, n = new.shape
    size, zero = new.dtype.type(step), new.dtype.type(0.0)
    for r in range(R):
        for i in range(n):
            value = new[r, i] + size * (new[r, i] - old[r, i])
            result[r, i] = value if value > zero else zero


@numba.njit(cache=True, nogil=True, fastmath=True, forceinline=True)
def _inner_product(a: np.ndarray, b: np.ndarray) -> float:
    total = 0.0
    for r in range(a.shape[0]):
        for i in range(a.shape[1]):
            total += np.float64(a[r, i]) * np.float64(b[r, i])
    return total


@numba.njit(cache=True, nogil=True)
def accelerated_round(
    U: np.ndarray,
    V: np.ndarray,
    squared_norm: float,
    A: np.ndarray,
    W: np.ndarray,
    step: np.ndarray,
    limit: np.ndarray,
    iterations: int,
    sweeps: int,
    held: np.ndarray,
) -> np.ndarray:
    """Extrapolated alternating descent on ‖U Vᵀ − A W‖², in place, one particle after the other.

    After each update a factor moves on in the same direction, by a step that grows while the
    error falls and shrinks when it rises; a rise is undone (Ang & Gillis 2019, algorithm 3).

    Parameters
    ----------
    U : (D, K), V : (N, K) float32. squared_norm : ‖U Vᵀ‖².
    A : (m, R, D), W : (m, R, N) float32. step, limit : (m,) state of the extrapolation.
    held : (R,) bool, components whose rows of A stay as they are.

    Returns
    -------
    (m,) squared errors.
    """
    m, R, D = A.shape
    N, K = V.shape
    total = np.empty(TILE, A.dtype)
    inner = np.empty((R, K), A.dtype)
    gram, gram_new = np.empty((R, R), A.dtype), np.empty((R, R), A.dtype)
    # Of A and of W; columns of zeros at the end stay what they are.
    d, n = whole_lines(D, A), whole_lines(N, A)
    linear, old, far, new = (pair(R, d, n, A), pair(R, d, n, A), pair(R, d, n, A), pair(R, d, n, A))
    rows = pair(K, d, n, A)
    copy(U.T, rows[0])
    copy(V.T, rows[1])
    errors = np.empty(m)
    for p in range(m):
        error = np.inf
        copy(A[p], old[0])
        copy(W[p], old[1])
        copy(old[0], far[0])
        copy(old[1], far[1])
        for _ in range(iterations):
            for s in range(2):
                other = far[1 - s]
                inner_products(other, rows[1 - s], inner)
                combined(inner, rows[s], linear[s])
                gram_matrix(other, gram)
                if s == 0:
                    for r in range(R):
                        gram[r, r] = 0.0 if held[r] else gram[r, r]
                copy(far[s], new[s])
                _descend(new[s], linear[s], gram, sweeps, total)
                if s == 0:
                    _extrapolate(new[0], old[0], step[p], far[0])
            gram_matrix(new[1], gram_new)
            # The error at this far A and new W, from products that are already there.
            now = squared_norm - 2 * _inner_product(new[1], linear[1])
            now += _inner_product(gram, gram_new)
            if now > error + NOISE * squared_norm:
                copy(old[0], far[0])
                copy(old[1], far[1])
                limit[p] = step[p]
                step[p] = max(step[p] / SHRINKAGE, SMALLEST_STEP)
            else:
                _extrapolate(new[1], old[1], step[p], far[1])
                copy(far[0], old[0])
                copy(new[1], old[1])
                step[p] = min(limit[p], GROWTH * step[p])
                limit[p] = min(1.0, LIMIT_GROWTH * limit[p])
                error = min(error, now)
        copy(old[0][:, :D], A[p])
        copy(old[1][:, :N], W[p])
        errors[p] = max(error, 0.0)
    return errors
