"""Compiled loops of the solver. All in one file: Numba's cache on disk sees only its own file."""

from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from bnmf_core.solvers.registers import REGISTER, Rows, compiled_with

compiled_with(1)

# Registers that a group of columns may fill, and the highest rank with instructions of its own.
REGISTERS, UNROLLED = 14, 16
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


@numba.njit(cache=True, nogil=True)
def _side_by_side(R: int) -> int:
    """Registers of columns that are worked on together: none has to wait for another's result."""
    return max(1, min(4, REGISTERS // (R + 1)))


def _descent(rows: Rows, R: int, sweeps: Any) -> Any:
    """Instructions of coordinate descent at rank R; how many columns they have done."""
    builder, lanes = rows.builder, rows.lanes
    beside = _side_by_side.py_func(R)
    whole = sweeps.type(beside * lanes)
    done = builder.mul(builder.udiv(rows.size(0, 1), whole), whole)
    with cgutils.for_range_slice(builder, done.type(0), done, whole) as (first, _):
        places = [builder.add(first, done.type(k * lanes)) for k in range(beside)]
        share = [[rows.load(2, k * R + r, done.type(0)) for r in range(R)] for k in range(R + 2)]
        start = [[rows.load(0, r, i) for i in places] for r in range(R)]
        linear = [
            [
                rows.plus(rows.times(f, share[R + 1][r]), rows.load(1, r, i), share[R][r])
                for i, f in zip(places, start[r], strict=True)
            ]
            for r in range(R)
        ]
        before = builder.block
        again, after = (builder.append_basic_block(name) for name in ("sweep", "swept"))
        builder.branch(again)
        builder.position_at_end(again)
        left = builder.phi(sweeps.type)
        factor = [[builder.phi(rows.register) for _ in row] for row in start]
        now = [list(row) for row in factor]
        for r in range(R):
            total = list(linear[r])
            # The component that was last renewed comes last: the others need not wait for it.
            for k in [(r + 1 + j) % R for j in range(R - 1)]:
                total = [rows.plus(t, share[k][r], f) for t, f in zip(total, now[k], strict=True)]
            now[r] = [rows.positive(t) for t in total]
        fewer = builder.sub(left, left.type(1))
        left.add_incoming(sweeps, before)
        left.add_incoming(fewer, again)
        for old, begun, renewed in zip(factor, start, now, strict=True):
            for phi, value, next_value in zip(old, begun, renewed, strict=True):
                phi.add_incoming(value, before)
                phi.add_incoming(next_value, again)
        builder.cbranch(builder.icmp_signed(">", fewer, left.type(0)), again, after)
        builder.position_at_end(after)
        for r in range(R):
            for i, f in zip(places, now[r], strict=True):
                rows.store(f, 3, r, i)
    return done


def _of_each_rank(typing: Any, F: Any, C: Any, shares: Any, result: Any, sweeps: Any) -> Any:
    """Coordinate descent from F (R, n) on, in whole registers; how many columns that were."""

    def instructions(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        rows = Rows(context, builder, values[:4], signature.args[:4])
        sweeps = values[4]
        done = cgutils.alloca_once_value(builder, sweeps.type(0))
        end = builder.append_basic_block("end")
        chosen = builder.switch(rows.size(0, 0), end)
        for R in range(1, UNROLLED + 1):
            block = builder.append_basic_block(f"rank_{R}")
            chosen.add_case(sweeps.type(R), block)
            builder.position_at_end(block)
            builder.store(_descent(rows, R, sweeps), done)
            builder.branch(end)
        builder.position_at_end(end)
        return builder.load(done)

    return types.intp(F, C, shares, result, types.intp), instructions


_descended: Any = intrinsic(_of_each_rank)


@numba.njit(cache=True, nogil=True, forceinline=True)
def _room(F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What :func:`_descend` works in for F (…, R, n): columns, and shares of groups of components.

    A rank beyond UNROLLED is split into groups of much the same size.
    """
    R, lanes = F.shape[-2], REGISTER // F.itemsize
    groups = (R + UNROLLED - 1) // UNROLLED
    most = (R + groups - 1) // groups
    return np.zeros((3, most, TILE), F.dtype), np.zeros((groups, (most + 2) * most, lanes), F.dtype)


@numba.njit(cache=True, nogil=True, fastmath=True, forceinline=True)
def _share(G: np.ndarray, first: int, R: int, shares: np.ndarray) -> None:
    """What descent over R components from the first one on takes, each number in a whole register.

    f_r = max(0, c_r/G_rr − Σ_k≠r G_kr/G_rr f_k): divided once instead of for every column. Row
    k R + r becomes −G_kr/G_rr (0 for k = r), row R² + r 1/G_rr, and row R² + R + r 0, but 1 where
    there is no curvature and the others are 0, so that f_r stays as it is.
    """
    zero, one = shares.dtype.type(0.0), shares.dtype.type(1.0)
    for r in range(R):
        own = G[first + r, first + r]
        inverse = one / own if own > EMPTY else zero
        for k in range(R):
            shares[k * R + r] = zero if k == r else -G[first + k, first + r] * inverse
        shares[R * R + r] = inverse
        shares[R * R + R + r] = zero if own > EMPTY else one


@numba.njit(cache=True, nogil=True, fastmath=True, forceinline=True)
def _descend_group(
    F: np.ndarray,
    C: np.ndarray,
    shares: np.ndarray,
    sweeps: int,
    room: np.ndarray,
    result: np.ndarray,
) -> None:
    """Descent over a group of components, F (R, n); columns that fill no registers apart."""
    R, n = F.shape
    done = _descended(F, C, shares, result, sweeps)
    if done == n:
        return
    width = _side_by_side(R) * shares.shape[1]
    for r in range(R):
        for i in range(n - done):
            room[0, r, i], room[1, r, i] = F[r, done + i], C[r, done + i]
    last = room[0, :R, :width]
    _descended(last, room[1, :R, :width], shares, last, sweeps)
    for r in range(R):
        for i in range(n - done):
            result[r, done + i] = last[r, i]


@numba.njit(cache=True, nogil=True, fastmath=True, forceinline=True)
def _descend(
    F: np.ndarray,
    C: np.ndarray,
    G: np.ndarray,
    sweeps: int,
    room: np.ndarray,
    shares: np.ndarray,
    result: np.ndarray,
) -> None:
    """Coordinate descent from F on, as :func:`sweep` says; room and shares of :func:`_room`."""
    R, n = F.shape
    groups, most = shares.shape[0], room.shape[1]
    for g in range(groups):
        _share(G, g * most, min(most, R - g * most), shares[g])
    if groups == 1:
        _descend_group(F, C, shares[0], sweeps, room, result)
        return
    for r in range(R):
        result[r] = F[r]
    for start in range(0, n, TILE):
        end = min(start + TILE, n)
        for _ in range(sweeps):
            for g in range(groups):
                # What the other groups leave for this one to explain.
                first, last = g * most, min(g * most + most, R)
                linear = room[2, : last - first, : end - start]
                for r in range(first, last):
                    for i in range(end - start):
                        linear[r - first, i] = C[r, start + i]
                    for k in range(R):
                        if first <= k < last:
                            continue
                        a = G[k, r]
                        for i in range(end - start):
                            linear[r - first, i] -= a * result[k, start + i]
                part = result[first:last, start:end]
                _descend_group(part, linear, shares[g], 1, room, part)


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
        _descend(F[p], C[p], G[p], sweeps, room, shares, F[p])


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
            _descend(far_A, linear_A, gram, sweeps, room, shares, new_A)
            _extrapolate(new_A, A[p], step[p], far_A)
            _inner_products(far_A, rows_U, inner)
            _combined(inner, rows_V, linear_W)
            _gram(far_A, gram)
            _descend(far_W, linear_W, gram, sweeps, room, shares, new_W)
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
