"""Compiled products of a few long rows: ones that are made for large matrices are slow here.

What is here is forced into its callers. Numba's cache on disk does not see changes of this file:
with each one REVISION is counted up, and with it what the files that use it say, which the cache
does see.
"""

import numba
import numpy as np

REVISION = 5
# Bytes of a line of the cache: reading across two of them takes twice as long.
LINE = 64
# Columns of several rows that are worked on together in a product.
WIDE = 512


@numba.njit(cache=True, nogil=True)
def whole_lines(n: int, like: np.ndarray) -> int:
    """At least n columns, so many that each row of a matrix ends with a line of the cache."""
    each = LINE // like.itemsize
    return (n + each - 1) // each * each


@numba.njit(cache=True, nogil=True)
def zeros(R: int, n: int, like: np.ndarray) -> np.ndarray:
    """Zeros (R, n) that begin at a line of the cache."""
    memory = np.zeros(R * n + LINE // like.itemsize, like.dtype)
    skipped = -memory.ctypes.data % LINE // like.itemsize
    return memory[skipped : skipped + R * n].reshape(R, n)


@numba.njit(cache=True, nogil=True)
def pair(R: int, d: int, n: int, like: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Zeros (R, d) and (R, n): one for A and one for W."""
    return zeros(R, d, like), zeros(R, n, like)


@numba.njit(cache=True, nogil=True)
def copy(source: np.ndarray, target: np.ndarray) -> None:
    """Put a matrix into the first rows and columns of another; a slice takes longer to compile."""
    for r in range(source.shape[0]):
        for i in range(source.shape[1]):
            target[r, i] = source[r, i]


@numba.njit(cache=True, nogil=True, fastmath=True, forceinline=True)
def gram_matrix(F: np.ndarray, G: np.ndarray) -> None:
    """G = F Fᵀ of F (R, n), by blocks of two rows."""
    R, n = F.shape
    zero = F.dtype.type(0.0)
    for r in range(0, R, 2):
        q = min(r + 1, R - 1)  # of an odd number the last row is its own partner
        for s in range(0, r + 1, 2):
            t = min(s + 1, R - 1)
            rs, rt, qs, qt = zero, zero, zero, zero
            for i in range(n):
                a, b, c, d = F[r, i], F[q, i], F[s, i], F[t, i]
                rs += a * c
                rt += a * d
                qs += b * c
                qt += b * d
            G[r, s] = G[s, r] = rs
            G[r, t] = G[t, r] = rt
            G[q, s] = G[s, q] = qs
            G[q, t] = G[t, q] = qt


@numba.njit(cache=True, nogil=True, fastmath=True, forceinline=True)
def inner_products(F: np.ndarray, V: np.ndarray, G: np.ndarray) -> None:
    """G = F Vᵀ, F (R, n) and V (K, n), by blocks of two by four rows."""
    (R, n), K = F.shape, V.shape[0]
    zero = F.dtype.type(0.0)
    for r in range(0, R, 2):
        q = min(r + 1, R - 1)
        for s in range(0, K, 4):
            t, u, v = min(s + 1, K - 1), min(s + 2, K - 1), min(s + 3, K - 1)
            rs, rt, ru, rv = zero, zero, zero, zero
            qs, qt, qu, qv = zero, zero, zero, zero
            for i in range(n):
                a, b = F[r, i], F[q, i]
                c, d, e, f = V[s, i], V[t, i], V[u, i], V[v, i]
                rs += a * c
                rt += a * d
                ru += a * e
                rv += a * f
                qs += b * c
                qt += b * d
                qu += b * e
                qv += b * f
            G[r, s], G[r, t], G[r, u], G[r, v] = rs, rt, ru, rv
            G[q, s], G[q, t], G[q, u], G[q, v] = qs, qt, qu, qv


@numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy", forceinline=True)
def combined(  # noqa: PLR0912 (one loop nest, unrolled)
    G: np.ndarray, V: np.ndarray, C: np.ndarray
) -> None:
    """C = G V, G (R, K) and V (K, n), by blocks of two by four rows.

    Unsigned offsets: only with them does the compiler see that an index never counts from the end,
    and takes several entries at a time.
    """
    (R, K), n = G.shape, V.shape[1]
    zero = V.dtype.type(0.0)
    for first in range(0, n, WIDE):
        start, end = np.uint64(first), np.uint64(min(first + WIDE, n))
        for r in range(0, R - 1, 2):
            for i in range(start, end):
                C[r, i] = zero
                C[r + 1, i] = zero
            fours = K // 4 * 4
            for k in range(0, fours, 4):
                a, b, c, d = G[r, k], G[r, k + 1], G[r, k + 2], G[r, k + 3]
                e, f, g, h = G[r + 1, k], G[r + 1, k + 1], G[r + 1, k + 2], G[r + 1, k + 3]
                for i in range(start, end):
                    s, t, u, v = V[k, i], V[k + 1, i], V[k + 2, i], V[k + 3, i]
                    x = C[r, i] + a * s + b * t + c * u + d * v
                    y = C[r + 1, i] + e * s + f * t + g * u + h * v
                    C[r, i] = x
                    C[r + 1, i] = y
            for k in range(fours, K):
                a, e = G[r, k], G[r + 1, k]
                for i in range(start, end):
                    s = V[k, i]
                    x, y = C[r, i] + a * s, C[r + 1, i] + e * s
                    C[r, i] = x
                    C[r + 1, i] = y
        if R % 2:
            r = R - 1
            for i in range(start, end):
                C[r, i] = zero
            fours = K // 4 * 4
            for k in range(0, fours, 4):
                a, b, c, d = G[r, k], G[r, k + 1], G[r, k + 2], G[r, k + 3]
                for i in range(start, end):
                    C[r, i] += a * V[k, i] + b * V[k + 1, i] + c * V[k + 2, i] + d * V[k + 3, i]
            for k in range(fours, K):
                a = G[r, k]
                for i in range(start, end):
                    C[r, i] += a * V[k, i]


@numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy", forceinline=True)
def take_sparse(
    starts: np.ndarray,
    places: np.ndarray,
    values: np.ndarray,
    p: tuple[np.ndarray, np.ndarray],
    h: tuple[np.ndarray, np.ndarray],
) -> None:
    """Take X Fᵀ off (R, D) and EX off (R, N), h; E (R, D) and F (R, N) are p, X (D, N) is sparse.

    X is given by its columns, and read once for both.
    """
    # Numbers of all components that go with one entry stand side by side. Signed numbers in
    # addresses are half as fast.
    R, kind = np.uint64(p[0].shape[0]), p[0].dtype
    E, F = np.ascontiguousarray(p[0].T).ravel(), np.ascontiguousarray(p[1].T).ravel()
    of_rows, total = np.zeros(E.size, kind), np.empty(R, kind)
    for n in range(starts.size - 1):
        own = np.uint64(n) * R
        for r in range(R):
            total[r] = 0.0
        for e in range(np.uint64(starts[n]), np.uint64(starts[n + 1])):
            value, at = kind.type(values[e]), np.uint64(places[e]) * R
            for r in range(R):
                total[r] += value * E[at + r]
            for r in range(R):
                of_rows[at + r] += value * F[own + r]
        for r in range(R):
            h[1][r, n] -= total[r]
    for r in range(R):
        for d in range(h[0].shape[1]):
            h[0][r, d] -= of_rows[np.uint64(d) * R + r]
