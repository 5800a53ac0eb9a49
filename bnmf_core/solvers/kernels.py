"""Compiled loops of the solver. All in one file: Numba's cache on disk sees only its own file."""

import numba
import numpy as np

# Columns of a factor that are worked on together: a few R × TILE numbers stay in the nearest cache.
TILE = 128
# Columns of several rows that are worked on together in a product.
WIDE = 512
# A Gram diagonal below this stands for an empty component.
EMPTY = 1e-300
# Extrapolation (Ang & Gillis 2019): how its step grows, how fast its limit grows, how it shrinks.
GROWTH, LIMIT_GROWTH, SHRINKAGE, SMALLEST_STEP = 1.1, 1.05, 1.5, 0.1
# Single-precision products carry about this error relative to ‖X‖²; a rise below it is noise.
NOISE = 4e-9
# Lin (2007): the part of the predicted decrease that a projected gradient step must reach.
SUFFICIENT = 0.01


@numba.njit(cache=True, nogil=True, fastmath=True, forceinline=True)
def _descend(  # noqa: PLR0912 (one loop nest, unrolled)
    F: np.ndarray,
    C: np.ndarray,
    G: np.ndarray,
    sweeps: int,
    room: np.ndarray,
    shares: np.ndarray,
) -> None:
    """Coordinate descent as :func:`sweep` says; ``room`` and ``shares`` as :func:`_room` makes."""
    R, n = F.shape
    padded = shares.shape[1]
    f, c, total = room[:padded], room[padded : 2 * padded], room[2 * padded]
    zero, one = F.dtype.type(0.0), F.dtype.type(1.0)
    # f_r = max(0, c_r/G_rr − Σ_k≠r G_kr/G_rr f_k): divided once instead of for every column.
    for r in range(R):
        for k in range(R):
            shares[r, k] = zero if k == r or G[r, r] <= EMPTY else G[k, r] / G[r, r]
    for first in range(0, n, TILE):
        width = min(TILE, n - first)
        for r in range(R):
            inverse = one / G[r, r] if G[r, r] > EMPTY else zero
            for i in range(width):
                f[r, i] = F[r, first + i]
                c[r, i] = C[r, first + i] * inverse
        for _ in range(sweeps):
            for r in range(R):
                if G[r, r] <= EMPTY:
                    continue
                # Four components at a time: fewer passes over the tile.
                p, q, s, t = shares[r, 0], shares[r, 1], shares[r, 2], shares[r, 3]
                for i in range(TILE):
                    total[i] = c[r, i] - (p * f[0, i] + q * f[1, i] + s * f[2, i] + t * f[3, i])
                for k in range(4, padded, 4):
                    p, q, s, t = shares[r, k], shares[r, k + 1], shares[r, k + 2], shares[r, k + 3]
                    for i in range(TILE):
                        total[i] -= (
                            p * f[k, i] + q * f[k + 1, i] + s * f[k + 2, i] + t * f[k + 3, i]
                        )
                for i in range(TILE):
                    value = total[i]
                    f[r, i] = value if value > zero else zero
        for r in range(R):
            for i in range(width):
                F[r, first + i] = f[r, i]


@numba.njit(cache=True, nogil=True, forceinline=True)
def _room(F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What :func:`_descend` works in for F (…, R, n), with components of zeros up to fours."""
    R = F.shape[-2]
    padded = (R + 3) // 4 * 4
    return np.zeros((2 * padded + 1, TILE), F.dtype), np.zeros((R, padded), F.dtype)


@numba.njit(cache=True, nogil=True)
def sweep(F: np.ndarray, C: np.ndarray, G: np.ndarray, sweeps: int) -> None:
    """Coordinate descent on ½ Σ f G f − c f over f ≥ 0, in place, for every column of F.

    Parameters
    ----------
    F, C : (m, R, n) factor and linear term. G : (m, R, R) Gram matrices of the other factor.
    A component whose Gram diagonal is zero (below 1e-300) cannot be improved and stays as it is.
    """
    room, shares = _room(F)
    for p in range(F.shape[0]):
        _descend(F[p], C[p], G[p], sweeps, room, shares)


@numba.njit(cache=True, nogil=True, fastmath=True)
def sweep_each(F: np.ndarray, C: np.ndarray, G: np.ndarray, sweeps: int) -> None:
    """:func:`sweep` with a Gram matrix of its own for every column of F: G (m, R, R, n)."""
    m, R, n = F.shape
    total = np.empty(TILE)
    for p in range(m):
        for first in range(0, n, TILE):
            width = min(TILE, n - first)
            for _ in range(sweeps):
                for r in range(R):
                    for i in range(width):
                        total[i] = C[p, r, first + i]
                    for k in range(R):
                        if k != r:
                            for i in range(width):
                                total[i] -= G[p, k, r, first + i] * F[p, k, first + i]
                    for i in range(width):
                        diagonal = G[p, r, r, first + i]
                        if diagonal > EMPTY:
                            F[p, r, first + i] = max(total[i] / diagonal, 0.0)


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


@numba.njit(cache=True, nogil=True, fastmath=True, forceinline=True)
def _gram(F: np.ndarray, G: np.ndarray) -> None:
    """F Fᵀ of F (R, n), by blocks of two rows: a product that is made for large R is slow here."""
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
def _inner_products(F: np.ndarray, V: np.ndarray, G: np.ndarray) -> None:
    """F Vᵀ of long rows, F (R, n) and V (K, n), by blocks of two by four rows."""
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
def _combined(  # noqa: PLR0912 (one loop nest, unrolled)
    G: np.ndarray, V: np.ndarray, C: np.ndarray
) -> None:
    """C = G V of long rows, G (R, K) and V (K, n), by blocks of two by four rows.

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
    room, shares = _room(A)
    inner, gram, gram_new = (
        np.empty((R, K), A.dtype),
        np.empty((R, R), A.dtype),
        np.empty((R, R), A.dtype),
    )
    linear_A, linear_W = np.empty((R, D), A.dtype), np.empty((R, N), A.dtype)
    far_A, far_W = np.empty((R, D), A.dtype), np.empty((R, N), A.dtype)
    new_A, new_W = np.empty((R, D), A.dtype), np.empty((R, N), A.dtype)
    rows_U, rows_V = np.ascontiguousarray(U.T), np.ascontiguousarray(V.T)
    errors = np.empty(m)
    for p in range(m):
        error = np.inf
        far_A[:], far_W[:] = A[p], W[p]
        for _ in range(iterations):
            _inner_products(far_W, rows_V, inner)
            _combined(inner, rows_U, linear_A)
            _gram(far_W, gram)
            for r in range(R):
                if held[r]:
                    gram[r, r] = 0.0
            new_A[:] = far_A
            _descend(new_A, linear_A, gram, sweeps, room, shares)
            _extrapolate(new_A, A[p], step[p], far_A)
            _inner_products(far_A, rows_U, inner)
            _combined(inner, rows_V, linear_W)
            _gram(far_A, gram)
            new_W[:] = far_W
            _descend(new_W, linear_W, gram, sweeps, room, shares)
            _gram(new_W, gram_new)
            # The error at (far_A, new_W), from products that are already there.
            now = squared_norm - 2 * _inner_product(new_W, linear_W)
            now += _inner_product(gram, gram_new)
            if now > error + NOISE * squared_norm:
                far_A[:], far_W[:] = A[p], W[p]
                limit[p] = step[p]
                step[p] = max(step[p] / SHRINKAGE, SMALLEST_STEP)
            else:
                _extrapolate(new_W, W[p], step[p], far_W)
                A[p], W[p] = far_A, new_W
                step[p] = min(limit[p], GROWTH * step[p])
                limit[p] = min(1.0, LIMIT_GROWTH * limit[p])
                error = min(error, now)
        errors[p] = max(error, 0.0)
    return errors


@numba.njit(cache=True, nogil=True, forceinline=True)
def _apply(G: np.ndarray, F: np.ndarray, result: np.ndarray) -> None:
    """G F, with one G (R, R) for all columns of F (R, n), or one for each, (R, R, n)."""
    if G.ndim == 2:
        np.dot(G, F, result)
    else:
        R, n = F.shape
        result[:] = 0.0
        for r in range(R):
            for k in range(R):
                for i in range(n):
                    result[r, i] += G[r, k, i] * F[k, i]


@numba.njit(cache=True, nogil=True)
def projected_gradient(  # noqa: PLR0912 (one line search)
    F: np.ndarray, C: np.ndarray, G: np.ndarray, step: np.ndarray, iterations: int
) -> None:
    """Projected gradient steps on ½ ⟨F, G F⟩ − ⟨C, F⟩ over F ≥ 0, in place, per particle.

    Lin (2007), algorithm 4: the step is the largest power of 1/10, from the last one on, that
    gives sufficient decrease; for a quadratic that is (1 − σ)⟨∇, d⟩ + ½⟨d, G d⟩ ≤ 0.

    Parameters
    ----------
    F, C : (m, R, n). G : (m, R, R), or (m, R, R, n) with one matrix for each column of F.
    step : (m,) last step of each particle, updated.
    """
    m, R, n = F.shape
    gradient, move, moved = np.empty((R, n)), np.empty((R, n)), np.empty((R, n))
    for p in range(m):
        for _ in range(iterations):
            _apply(G[p], F[p], gradient)
            gradient -= C[p]
            growing = accepted = False
            for trial in range(30):
                for r in range(R):
                    for i in range(n):
                        value = F[p, r, i] - step[p] * gradient[r, i]
                        move[r, i] = (value if value > 0.0 else 0.0) - F[p, r, i]
                _apply(G[p], move, moved)
                slope, curvature = _inner_product(gradient, move), _inner_product(move, moved)
                enough = (1.0 - SUFFICIENT) * slope + 0.5 * curvature <= 0.0
                if trial == 0:
                    growing = accepted = enough
                if growing and enough and trial < 10 and slope < 0.0:
                    step[p] *= 10.0
                elif growing:
                    step[p] /= 10.0
                    break
                elif enough:
                    accepted = True
                    break
                else:
                    step[p] /= 10.0
            if not accepted:  # no step was short enough yet; the next call goes on from here
                break
            for r in range(R):
                for i in range(n):
                    value = F[p, r, i] - step[p] * gradient[r, i]
                    F[p, r, i] = value if value > 0.0 else 0.0
