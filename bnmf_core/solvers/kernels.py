"""Compiled loops of the solver: coordinate descent, and the approach."""

from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from bnmf_core.solvers import products, registers
from bnmf_core.solvers.products import combined, gram_matrix, inner_products, whole_lines, zeros
from bnmf_core.solvers.registers import REGISTER, UNROLLED, Rows, side_by_side

assert (products.REVISION, registers.REVISION) == (3, 2)

# Columns of a factor that are worked on together: a few R × TILE numbers stay in the nearest cache.
TILE = 128
# A Gram diagonal below this stands for an empty component.
EMPTY = 1e-300
# Extrapolation (Ang & Gillis 2019): how its step grows, how fast its limit grows, how it shrinks.
GROWTH, LIMIT_GROWTH, SHRINKAGE, SMALLEST_STEP = 1.1, 1.05, 1.5, 0.1
# Single-precision products carry about this error relative to ‖X‖²; a rise below it is noise.
NOISE = 4e-9


def _descent(rows: Rows, R: int, sweeps: Any) -> Any:
    """Instructions of coordinate descent at rank R; how many columns they have done."""
    builder, lanes = rows.builder, rows.lanes
    beside = side_by_side.py_func(R)
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
        return rows.each_rank(0, values[4].type, lambda R: _descent(rows, R, values[4]))

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
    width = side_by_side(R) * shares.shape[1]
    for r in range(R):
        for i in range(n - done):
            room[0, r, i], room[1, r, i] = F[r, done + i], C[r, done + i]
    last = room[0, :R, :width]
    _descended(last, room[1, :R, :width], shares, last, sweeps)
    for r in range(R):
        for i in range(n - done):
            result[r, done + i] = last[r, i]


@numba.njit(cache=True, nogil=True, forceinline=True)
def _of_other(G: np.ndarray, r: int, k: int, first: int, last: int) -> float:
    """G_kr, 0 where component k is of the group or there is none."""
    return G.dtype.type(0.0) if k >= G.shape[0] or first <= k < last else G[k, r]


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
                # What the other groups leave for this one to explain, four components at a time.
                first, last = g * most, min(g * most + most, R)
                for r in range(first, last):
                    own = r - first
                    for i in range(end - start):
                        room[2, own, i] = C[r, start + i]
                    for k in range(0, R, 4):
                        if first <= k and k + 4 <= last:
                            continue
                        t, u, v = min(k + 1, R - 1), min(k + 2, R - 1), min(k + 3, R - 1)
                        a = _of_other(G, r, k, first, last)
                        b = _of_other(G, r, k + 1, first, last)
                        c = _of_other(G, r, k + 2, first, last)
                        d = _of_other(G, r, k + 3, first, last)
                        for i in range(end - start):
                            at = start + i
                            room[2, own, i] -= (
                                a * result[k, at]
                                + b * result[t, at]
                                + c * result[u, at]
                                + d * result[v, at]
                            )
                part = result[first:last, start:end]
                linear = room[2, : last - first, : end - start]
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
    # Columns of zeros at the end stay what they are.
    d, n = whole_lines(D, A), whole_lines(N, A)
    linear_A, linear_W = zeros(R, d, A), zeros(R, n, A)
    old_A, old_W = zeros(R, d, A), zeros(R, n, A)
    far_A, far_W = zeros(R, d, A), zeros(R, n, A)
    new_A, new_W = zeros(R, d, A), zeros(R, n, A)
    rows_U, rows_V = zeros(K, d, A), zeros(K, n, A)
    rows_U[:, :D], rows_V[:, :N] = U.T, V.T
    errors = np.empty(m)
    for p in range(m):
        error = np.inf
        old_A[:, :D], old_W[:, :N] = A[p], W[p]
        far_A[:], far_W[:] = old_A, old_W
        for _ in range(iterations):
            inner_products(far_W, rows_V, inner)
            combined(inner, rows_U, linear_A)
            gram_matrix(far_W, gram)
            for r in range(R):
                if held[r]:
                    gram[r, r] = 0.0
            _descend(far_A, linear_A, gram, sweeps, room, shares, new_A)
            _extrapolate(new_A, old_A, step[p], far_A)
            inner_products(far_A, rows_U, inner)
            combined(inner, rows_V, linear_W)
            gram_matrix(far_A, gram)
            _descend(far_W, linear_W, gram, sweeps, room, shares, new_W)
            gram_matrix(new_W, gram_new)
            # The error at (far_A, new_W), from products that are already there.
            now = squared_norm - 2 * _inner_product(new_W, linear_W)
            now += _inner_product(gram, gram_new)
            if now > error + NOISE * squared_norm:
                far_A[:], far_W[:] = old_A, old_W
                limit[p] = step[p]
                step[p] = max(step[p] / SHRINKAGE, SMALLEST_STEP)
            else:
                _extrapolate(new_W, old_W, step[p], far_W)
                old_A[:], old_W[:] = far_A, new_W
                step[p] = min(limit[p], GROWTH * step[p])
                limit[p] = min(1.0, LIMIT_GROWTH * limit[p])
                error = min(error, now)
        A[p], W[p] = old_A[:, :D], old_W[:, :N]
        errors[p] = max(error, 0.0)
    return errors
