"""Compiled conjugate gradients for a Newton step of an NMF, in the space X was compressed to."""

from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from bnmf_core.solvers import products, registers
from bnmf_core.solvers.products import combined, inner_products, zeros
from bnmf_core.solvers.registers import REGISTER, UNROLLED, Rows, side_by_side

assert (products.REVISION, registers.REVISION) == (3, 2)

# Entries of a factor that are worked on together; R × TILE numbers stay in the first-level cache.
TILE = 256
# A diagonal entry of a Gram matrix below this part of the largest one stands for an empty
# component, which has no direction to improve in.
EMPTY = 1e-12
# A curvature below this part of that of the preconditioner counts as none or negative.
FLAT = 1e-6


def _sweeps(rows: Rows, R: int, kind: Any) -> Any:
    """Instructions of :func:`_precondition` at rank R; how many columns they have done."""
    builder, lanes, beside = rows.builder, rows.lanes, side_by_side.py_func(R)
    whole = kind(beside * lanes)
    done = builder.mul(builder.udiv(rows.size(0, 1), whole), whole)
    with cgutils.for_range_slice(builder, kind(0), done, whole) as (first, _):
        places = [builder.add(first, kind(k * lanes)) for k in range(beside)]
        share = [[rows.load(2, k * R + j, kind(0)) for j in range(R)] for k in range(R + 1)]
        free = [[rows.load(1, k, i) for i in places] for k in range(R)]
        z: list[list[Any]] = []
        for k in range(R):
            total = [rows.times(rows.load(0, k, i), share[R][k]) for i in places]
            for j in range(k):
                total = [rows.plus(t, share[k][j], y) for t, y in zip(total, z[j], strict=True)]
            z.append([rows.times(t, f) for t, f in zip(total, free[k], strict=True)])
        for k in reversed(range(R - 1)):
            total = [rows.zero] * beside
            # The component that was last renewed comes last: the others need not wait for it.
            for j in reversed(range(k + 1, R)):
                total = [rows.plus(t, share[k][j], y) for t, y in zip(total, z[j], strict=True)]
            z[k] = [rows.plus(y, t, f) for y, t, f in zip(z[k], total, free[k], strict=True)]
        for k in range(R):
            for i, y in zip(places, z[k], strict=True):
                rows.store(y, 3, k, i)
    return done


def _of_each_rank(typing: Any, r: Any, free: Any, shares: Any, z: Any) -> Any:
    """:func:`_precondition` in whole registers, as far as they go; how many columns that were."""

    def instructions(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        rows = Rows(context, builder, values, signature.args)
        kind = context.get_value_type(types.intp)
        return rows.each_rank(0, kind, lambda R: _sweeps(rows, R, kind))

    return types.intp(r, free, shares, z), instructions


_preconditioned: Any = intrinsic(_of_each_rank)


@numba.njit(cache=True, nogil=True, forceinline=True)
def _shared(G: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """What :func:`_preconditioned` takes, each number in a whole register.

    Row k R + j is −G_kj inverse_k, row R² + k inverse_k.
    """
    R = G.shape[0]
    shares = np.zeros(((R + 1) * R if R <= UNROLLED else 0, REGISTER // G.itemsize), G.dtype)
    if R <= UNROLLED:
        for k in range(R):
            for j in range(R):
                shares[k * R + j] = -G[k, j] * inverse[k]
            shares[R * R + k] = inverse[k]
    return shares


@numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy", forceinline=True)
def _precondition(  # noqa: PLR0912 (one loop nest, unrolled)
    r: np.ndarray,
    free: np.ndarray,
    G: np.ndarray,
    inverse: np.ndarray,
    shares: np.ndarray,
    z: np.ndarray,
) -> None:
    """z = (D + Lᵀ)⁻¹ D (D + L)⁻¹ r on the free entries: one sweep there and one back."""
    R, n = r.shape
    done = _preconditioned(r, free, shares, z)
    total, zero = np.empty(TILE, dtype=r.dtype), r.dtype.type(0.0)
    for first in range(done, n, TILE):
        start, width = np.uint64(first), np.uint64(min(TILE, n - first))
        for k in range(R):
            for i in range(width):
                total[i] = r[k, start + i]
            # Four components at a time: fewer passes over the tile.
            fours = k // 4 * 4
            for j in range(0, fours, 4):
                a, b, c, d = G[k, j], G[k, j + 1], G[k, j + 2], G[k, j + 3]
                for i in range(width):
                    at = start + i
                    total[i] -= (
                        a * z[j, at] + b * z[j + 1, at] + c * z[j + 2, at] + d * z[j + 3, at]
                    )
            for j in range(fours, k):
                a = G[k, j]
                for i in range(width):
                    total[i] -= a * z[j, start + i]
            for i in range(width):
                z[k, start + i] = total[i] * inverse[k] * free[k, start + i]
        for k in range(R - 2, -1, -1):
            for i in range(width):
                total[i] = zero
            fours = R - (R - k - 1) % 4
            for j in range(k + 1, fours, 4):
                a, b, c, d = G[k, j], G[k, j + 1], G[k, j + 2], G[k, j + 3]
                for i in range(width):
                    at = start + i
                    total[i] += (
                        a * z[j, at] + b * z[j + 1, at] + c * z[j + 2, at] + d * z[j + 3, at]
                    )
            for j in range(fours, R):
                a = G[k, j]
                for i in range(width):
                    total[i] += a * z[j, start + i]
            for i in range(width):
                z[k, start + i] -= total[i] * inverse[k] * free[k, start + i]


@numba.njit(cache=True, nogil=True, fastmath=True, forceinline=True)
def _inner_product(a: np.ndarray, b: np.ndarray) -> float:
    total = 0.0
    for r in range(a.shape[0]):
        part = a.dtype.type(0.0)
        for i in range(a.shape[1]):
            part += a[r, i] * b[r, i]
        total += np.float64(part)
    return total


@numba.njit(cache=True, nogil=True, fastmath=True, forceinline=True)
def _add(x: np.ndarray, size: float, y: np.ndarray) -> None:
    """x + size · y in place."""
    factor = x.dtype.type(size)
    for r in range(x.shape[0]):
        for i in range(x.shape[1]):
            x[r, i] += factor * y[r, i]


@numba.njit(cache=True, nogil=True, fastmath=True, forceinline=True)
def _onward(p: np.ndarray, size: float, z: np.ndarray) -> None:
    """z + size · p in place of p."""
    factor = p.dtype.type(size)
    for r in range(p.shape[0]):
        for i in range(p.shape[1]):
            p[r, i] = z[r, i] + factor * p[r, i]


@numba.njit(cache=True, nogil=True, forceinline=True)
def _inverses(G: np.ndarray) -> np.ndarray:
    R = G.shape[0]
    largest = 0.0
    for r in range(R):
        largest = max(largest, G[r, r])
    inverse = np.zeros(R, dtype=G.dtype)
    for r in range(R):
        if G[r, r] > EMPTY * largest:
            inverse[r] = G.dtype.type(1.0) / G[r, r]
    return inverse


@numba.njit(cache=True, nogil=True, fastmath=True, forceinline=True)
def _curvatures(
    p: np.ndarray, h: np.ndarray, free: np.ndarray, G: np.ndarray
) -> tuple[float, float]:
    """⟨p, h⟩, h being cut to the free entries in place, and Σ_r G_rr ‖p_r‖²."""
    true, flat = 0.0, 0.0
    for r in range(p.shape[0]):
        one, other = p.dtype.type(0.0), p.dtype.type(0.0)
        for i in range(p.shape[1]):
            value = h[r, i] * free[r, i]
            h[r, i] = value
            one += p[r, i] * value
            other += p[r, i] * p[r, i]
        true += np.float64(one)
        flat += np.float64(G[r, r]) * np.float64(other)
    return true, flat


@numba.njit(cache=True, nogil=True, fastmath=True, forceinline=True)
def _step(x: np.ndarray, r: np.ndarray, size: float, p: np.ndarray, h: np.ndarray) -> None:
    """x + size · p and r − size · h in place."""
    factor = x.dtype.type(size)
    for k in range(x.shape[0]):
        for i in range(x.shape[1]):
            x[k, i] += factor * p[k, i]
            r[k, i] -= factor * h[k, i]


@numba.njit(cache=True, nogil=True, forceinline=True)
def _begin(
    F: np.ndarray,
    gradient: np.ndarray,
    inverse: np.ndarray,
    free: np.ndarray,
    r: np.ndarray,
    x: np.ndarray,
) -> None:
    """Which entries are free, what is left to solve for, and where the others go: to 0."""
    for k in range(F.shape[0]):
        for i in range(F.shape[1]):
            held = F[k, i] <= gradient[k, i] * inverse[k] or inverse[k] == 0.0
            free[k, i] = 0.0 if held else 1.0
            r[k, i] = 0.0 if held else -gradient[k, i]
            x[k, i] = -F[k, i] if held and inverse[k] > 0.0 else 0.0


@numba.njit(cache=True, nogil=True, forceinline=True)
def _tie(p: np.ndarray, row: int, entry: int, odds: float) -> None:
    """Set a tied entry of p (R, n) to odds times the sum of the others of its row."""
    total = 0.0
    for i in range(p.shape[1]):
        if i != entry:
            total += np.float64(p[row, i])
    p[row, entry] = odds * total


@numba.njit(cache=True, nogil=True, forceinline=True)
def _begin_tied(
    F: np.ndarray,
    gradient: np.ndarray,
    inverse: np.ndarray,
    free: np.ndarray,
    r: np.ndarray,
    x: np.ndarray,
    row: int,
    entry: int,
    odds: float,
) -> None:
    """:func:`_begin` of the row with a tied entry, whose slope the others carry already."""
    for i in range(F.shape[1]):
        # Each of the others moves the tied one along, and has that much more curvature.
        bound = gradient[row, i] * inverse[row] / (1.0 + odds * odds)
        held = i == entry or F[row, i] <= bound or inverse[row] == 0.0
        free[row, i] = 0.0 if held else 1.0
        r[row, i] = 0.0 if held else -gradient[row, i]
        x[row, i] = -F[row, i] if held and inverse[row] > 0.0 else 0.0
    _tie(x, row, entry, odds)


@numba.njit(cache=True, nogil=True, forceinline=True)
def _answer(
    free: np.ndarray,
    G: np.ndarray,
    inverse: np.ndarray,
    shares: np.ndarray,
    row: int,
    odds: float,
) -> tuple[np.ndarray, float]:
    """What the preconditioner answers to the curvature that a tied entry adds.

    The others of its row move it all together: κ u uᵀ, u = 1 on those that are free and κ = odds²
    times the row's curvature. With P⁻¹ without it, (P + κ u uᵀ)⁻¹ = P⁻¹ − c P⁻¹u uᵀP⁻¹; P⁻¹u, c.
    """
    u, answer = np.zeros(free.shape, free.dtype), np.zeros(free.shape, free.dtype)
    u[row] = free[row]
    _precondition(u, free, G, inverse, shares, answer)
    strength = odds * odds * np.float64(G[row, row])
    return answer, strength / (1.0 + strength * _inner_product(u, answer))


@numba.njit(cache=True, nogil=True, forceinline=True)
def _take_off(z: np.ndarray, free: np.ndarray, row: int, answer: np.ndarray, part: float) -> None:
    """z − part · answer ⟨u, z⟩ in place, see :func:`_answer`."""
    total = 0.0
    for i in range(z.shape[1]):
        total += np.float64(z[row, i]) * np.float64(free[row, i])
    _add(z, -part * total, answer)


@numba.njit(cache=True, nogil=True, forceinline=True)
def _seen_product(
    p_A: np.ndarray,
    p_W: np.ndarray,
    A: np.ndarray,
    W: np.ndarray,
    seen: np.ndarray,
    residual: np.ndarray,
    h_A: np.ndarray,
    h_W: np.ndarray,
) -> None:
    """H p over the seen entries of X, the residual being S ∘ (AW) − X."""
    change = (np.dot(p_A.T, W) + np.dot(A.T, p_W)) * seen
    np.dot(W, change.T, h_A)
    np.dot(A, change, h_W)
    h_A += np.dot(p_W, residual.T)
    h_W += np.dot(p_A, residual)


@numba.njit(cache=True, nogil=True)
def newton_direction(  # noqa: PLR0915 (one iteration)
    Ut: np.ndarray,
    Vt: np.ndarray,
    seen: np.ndarray,
    residual: np.ndarray,
    A: np.ndarray,
    W: np.ndarray,
    G_A: np.ndarray,
    G_W: np.ndarray,
    gradient_A: np.ndarray,
    gradient_W: np.ndarray,
    accuracy: float,
    most: int,
    radius: float,
    row: int,
    entry: int,
    odds: float,
) -> tuple[np.ndarray, np.ndarray, int, float, bool]:
    """Solve H d = −∇ on the free entries by conjugate gradients, to a part of ∇'s length.

    H is the Hessian of ½‖X − A W‖², with U Vᵀ in place of X, or, where X has gaps, of the sum
    over its seen entries. An entry is free unless its own minimiser, the others held, is 0; such
    a one goes to 0. The preconditioner M is symmetric Gauss–Seidel within each factor, so that
    lengths know no units. The direction ends at the border of the region that is trusted, and
    where the curvature is not positive (Steihaug 1983).

    Parameters
    ----------
    Ut : (K, D), Vt : (K, N), fastest where D and N are whole lines of the cache.
    seen, residual : S and S ∘ (AW) − X, (D, N); (0, 0) without gaps.
    A : (R, D), W : (R, N), and their gradients. G_A, G_W : (R, R), A Aᵀ and W Wᵀ, or their
        likeness with gaps: what the preconditioner is made of.
    accuracy : part of the gradient's length that may be left. most : products with H at most.
    radius : of the region that is trusted, in the length that M measures.
    row, entry, odds : the entry of A that follows the others of its row, see ``ties``; −1: none.

    Returns
    -------
    direction of A (R, D) and of W (R, N), how many products with H it took, its length in M, and
    whether it is the solution: short of the border, and as accurate as was asked for.
    """
    R, D = A.shape
    N = W.shape[1]
    K = Ut.shape[0]
    kind = A.dtype
    # A factor and its direction one below the other: half of a product with H is one of both.
    stack_A, stack_W = zeros(2 * R, D, A), zeros(2 * R, N, A)
    stack_A[:R], stack_W[:R] = A, W
    p_A, p_W = stack_A[R:], stack_W[R:]
    free_A, free_W = zeros(R, D, A), zeros(R, N, A)
    inverse_A, inverse_W = _inverses(G_W), _inverses(G_A)
    r_A, r_W = zeros(R, D, A), zeros(R, N, A)
    x_A, x_W = zeros(R, D, A), zeros(R, N, A)
    shares_A, shares_W = _shared(G_W, inverse_A), _shared(G_A, inverse_W)
    _begin(A, gradient_A, inverse_A, free_A, r_A, x_A)
    _begin(W, gradient_W, inverse_W, free_W, r_W, x_W)
    if row >= 0:
        _begin_tied(A, gradient_A, inverse_A, free_A, r_A, x_A, row, entry, odds)
    z_A, z_W = zeros(R, D, A), zeros(R, N, A)
    h_A, h_W = zeros(R, D, A), zeros(R, N, A)
    along_A, along_W = np.empty((R, K), kind), np.empty((R, K), kind)
    inner_A, inner_W = np.empty((R, R), kind), np.empty((R, R), kind)
    left_A, left_W = np.empty((R, 2 * R), kind), np.empty((R, 2 * R), kind)
    left_A[:, R:], left_W[:, R:] = G_W, G_A
    _precondition(r_A, free_A, G_W, inverse_A, shares_A, z_A)
    _precondition(r_W, free_W, G_A, inverse_W, shares_W, z_W)
    answer, part = z_A, 0.0
    if row >= 0:
        answer, part = _answer(free_A, G_W, inverse_A, shares_A, row, odds)
        _take_off(z_A, free_A, row, answer, part)
    p_A[:], p_W[:] = z_A, z_W
    size = _inner_product(r_A, z_A) + _inner_product(r_W, z_W)
    enough = accuracy**2 * size
    used = 0
    # Squared length of the direction, of p, and their inner product, all in the preconditioner.
    length2, along, p2 = 0.0, 0.0, size
    while used < most and size > enough:
        used += 1
        if row >= 0:
            _tie(p_A, row, entry, odds)
        if seen.size:
            _seen_product(p_A, p_W, A, W, seen, residual, h_A, h_W)
        else:
            inner_products(p_W, Vt, along_W)
            inner_products(p_A, Ut, along_A)
            inner_products(p_W, stack_W[:R], inner_W)
            inner_products(p_A, stack_A[:R], inner_A)
            left_A[:, :R], left_W[:, :R] = inner_W + inner_W.T, inner_A + inner_A.T
            combined(left_A, stack_A, h_A)
            combined(left_W, stack_W, h_W)
            combined(-along_W, Ut, h_A, True)
            combined(-along_A, Vt, h_W, True)
        if row >= 0:
            h_A[row] += A.dtype.type(odds) * h_A[row, entry]
        curvature, flat = _curvatures(p_A, h_A, free_A, G_W)
        curvature_W, flat_W = _curvatures(p_W, h_W, free_W, G_A)
        curvature += curvature_W
        beyond = curvature <= FLAT * (flat + flat_W)
        step = 0.0 if beyond else size / curvature
        if beyond or length2 + step * (2.0 * along + step * p2) >= radius**2:
            if np.isfinite(radius):  # on to the border of the region that is trusted
                step = (np.sqrt(along**2 + p2 * (radius**2 - length2)) - along) / p2
                length2 = radius**2
            else:
                step = 1.0 if used == 1 else 0.0
                length2 += step**2 * p2
            _add(x_A, step, p_A)
            _add(x_W, step, p_W)
            break
        _step(x_A, r_A, step, p_A, h_A)
        _step(x_W, r_W, step, p_W, h_W)
        length2 += step * (2.0 * along + step * p2)
        _precondition(r_A, free_A, G_W, inverse_A, shares_A, z_A)
        _precondition(r_W, free_W, G_A, inverse_W, shares_W, z_W)
        if row >= 0:
            _take_off(z_A, free_A, row, answer, part)
        now = _inner_product(r_A, z_A) + _inner_product(r_W, z_W)
        _onward(p_A, now / size, z_A)
        _onward(p_W, now / size, z_W)
        along = now / size * (along + step * p2)
        p2 = now + (now / size) ** 2 * p2
        size = now
    return x_A, x_W, used, np.sqrt(length2), size <= enough
