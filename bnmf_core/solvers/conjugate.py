"""Compiled conjugate gradients for a Newton step of an NMF, in the space X was compressed to."""

import numba
import numpy as np

from bnmf_core.solvers import products
from bnmf_core.solvers.products import combined, copy, inner_products, pair, take_sparse

assert products.REVISION == 5

# Entries of a factor that are worked on together; R × TILE numbers stay in the first-level cache.
TILE = 256
# A diagonal entry of a Gram matrix below this part of the largest one stands for an empty
# component, which has no direction to improve in.
EMPTY = 1e-12
# A curvature below this part of that of the preconditioner counts as none or negative.
FLAT = 1e-6


@numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy", forceinline=True)
def _precondition(  # noqa: PLR0912 (one loop nest, unrolled)
    r: np.ndarray,
    free: np.ndarray,
    G: np.ndarray,
    inverse: np.ndarray,
    z: np.ndarray,
) -> None:
    """z = (D + Lᵀ)⁻¹ D (D + L)⁻¹ r on the free entries: one sweep there and one back."""
    R, n = r.shape
    total, zero = np.empty(TILE, dtype=r.dtype), r.dtype.type(0.0)
    for first in range(0, n, TILE):
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
) -> float:
    """Which entries are free, what is left to solve for, and where the others go: to 0.

    Returns by how much these lower the error, by their slopes.
    """
    lowered = 0.0
    for k in range(F.shape[0]):
        for i in range(F.shape[1]):
            held = F[k, i] <= gradient[k, i] * inverse[k] or inverse[k] == 0.0
            free[k, i] = 0.0 if held else 1.0
            r[k, i] = 0.0 if held else -gradient[k, i]
            x[k, i] = -F[k, i] if held and inverse[k] > 0.0 else 0.0
            lowered -= np.float64(gradient[k, i] * x[k, i])
    return lowered


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
    row: int,
    odds: float,
) -> tuple[np.ndarray, float]:
    """Correction of the preconditioner for the curvature of a tied entry.

    The others of its row move it all together: κ u uᵀ, u = 1 on those that are free and κ = odds²
    times the row's curvature. With P⁻¹ without it, (P + κ u uᵀ)⁻¹ = P⁻¹ − c P⁻¹u uᵀP⁻¹; P⁻¹u, c.
    """
    u, answer = pair(free.shape[0], free.shape[1], free.shape[1], free)
    for i in range(free.shape[1]):
        u[row, i] = free[row, i]
    _precondition(u, free, G, inverse, answer)
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
def _halve(inner: np.ndarray, left: np.ndarray) -> None:
    """Coefficients of one half of a product with H for the rows of a stack: left (R, 2 R + K).

    ``inner`` (R, R + K) : of the other factor's direction with that factor and with X. The first
    columns of ``left``, that factor's Gram matrix, are there already.
    """
    R, K = inner.shape[0], inner.shape[1] - inner.shape[0]
    for r in range(R):
        for s in range(R):
            left[r, R + s] = inner[r, s] + inner[s, r]
        for k in range(K):
            left[r, 2 * R + k] = -inner[r, R + k]


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
    change = np.dot(p_A.T, W)
    _add(change, 1.0, np.dot(A.T, p_W))
    for d in range(change.shape[0]):
        for n in range(change.shape[1]):
            change[d, n] *= seen[d, n]
    np.dot(W, change.T, h_A)
    np.dot(A, change, h_W)
    _add(h_A, 1.0, np.dot(p_W, residual.T))
    _add(h_W, 1.0, np.dot(p_A, residual))


@numba.njit(cache=True, nogil=True)
def newton_direction(  # noqa: PLR0912, PLR0915 (one iteration)
    Ut: np.ndarray,
    Vt: np.ndarray,
    starts: np.ndarray,
    places: np.ndarray,
    values: np.ndarray,
    whole: np.ndarray,
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
) -> tuple[np.ndarray, np.ndarray, int, float, float, bool]:
    """Solve H d = −∇ on the free entries by conjugate gradients, to a part of ∇'s length.

    H is the Hessian of ½‖X − A W‖², with U Vᵀ in place of X, or, where X has gaps, of the sum
    over its seen entries. An entry is free unless its own minimiser, the others held, is 0; such
    a one goes to 0. The preconditioner M is symmetric Gauss–Seidel within each factor, so that
    lengths know no units. The direction ends at the border of the region that is trusted, and
    where the curvature is not positive (Steihaug 1983).

    Parameters
    ----------
    Ut : (K, D), Vt : (K, N), fastest where D and N are whole lines of the cache.
    starts, places, values, whole : in place of these rows X itself, sparse by its columns, or
        dense (D, N); or empty.
    seen, residual : S and S ∘ (AW) − X, (D, N); (0, 0) without gaps.
    A : (R, D), W : (R, N), and their gradients. G_A, G_W : (R, R), A Aᵀ and W Wᵀ, or their
        likeness with gaps: what the preconditioner is made of.
    accuracy : part of the gradient's length that may be left. most : products with H at most.
    radius : of the region that is trusted, in the length that M measures.
    row, entry, odds : the entry of A that follows the others of its row, see ``ties``; −1: none.

    Returns
    -------
    direction of A (R, D) and of W (R, N), how many products with H it took, its length in M, by how
    much the quadratic falls along it, and whether it is the solution: short of the border, and as
    accurate as requested.
    """
    R, K, kind = A.shape[0], Ut.shape[0], A.dtype
    # Of A and of W. A direction above its factor and the rows of X: what the direction comes to
    # with each of these is one product, and so is half of a product with H.
    D, N = A.shape[1], W.shape[1]
    stack = pair(2 * R + K, D, N, A)
    p = (stack[0][:R], stack[1][:R])
    free, r, x = pair(R, D, N, A), pair(R, D, N, A), pair(R, D, N, A)
    z, h = pair(R, D, N, A), pair(R, D, N, A)
    G = (G_W, G_A)
    inverse = (_inverses(G_W), _inverses(G_A))
    left = (np.empty((R, 2 * R + K), kind), np.empty((R, 2 * R + K), kind))
    copy(G_W, left[0])
    copy(G_A, left[1])
    inner = np.empty((R, R + K), kind)
    copy(A, stack[0][R:])
    copy(W, stack[1][R:])
    copy(Ut, stack[0][2 * R :])
    copy(Vt, stack[1][2 * R :])
    promised = _begin(A, gradient_A, inverse[0], free[0], r[0], x[0])
    promised += _begin(W, gradient_W, inverse[1], free[1], r[1], x[1])
    answer, part = z[0], 0.0
    if row >= 0:
        _begin_tied(A, gradient_A, inverse[0], free[0], r[0], x[0], row, entry, odds)
        answer, part = _answer(free[0], G_W, inverse[0], row, odds)
    used, step, size, enough = 0, 0.0, 0.0, 0.0
    # Squared length of the direction, of p, and their inner product, all in the preconditioner.
    length2, along, p2 = 0.0, 0.0, 0.0
    while True:
        now = 0.0
        for s in range(2):
            _precondition(r[s], free[s], G[s], inverse[s], z[s])
            if s == 0 and row >= 0:
                _take_off(z[0], free[0], row, answer, part)
            now += _inner_product(r[s], z[s])
        growth = now / size if used else 0.0
        along, p2, size = growth * (along + step * p2), now + growth**2 * p2, now
        enough = enough if used else accuracy**2 * size
        if used >= most or size <= enough:
            break
        used += 1
        for s in range(2):
            _onward(p[s], growth, z[s])
        if row >= 0:
            _tie(p[0], row, entry, odds)
        if seen.size:
            _seen_product(p[0], p[1], A, W, seen, residual, h[0], h[1])
        else:
            for s in range(2):
                inner_products(p[s], stack[s][R:], inner)
                _halve(inner, left[1 - s])
            for s in range(2):
                combined(left[s], stack[s], h[s])
        if starts.size:
            take_sparse(starts, places, values, p, h)
        if whole.size:
            _add(h[0], -1.0, np.dot(p[1], whole.T))
            _add(h[1], -1.0, np.dot(p[0], whole))
        if row >= 0:
            tied = kind.type(odds) * h[0][row, entry]
            for i in range(D):
                h[0][row, i] += tied
        curvature, flat = 0.0, 0.0
        for s in range(2):
            true, without = _curvatures(p[s], h[s], free[s], G[s])
            curvature += true
            flat += without
        beyond = curvature <= FLAT * flat
        step = 0.0 if beyond else size / curvature
        if beyond or length2 + step * (2.0 * along + step * p2) >= radius**2:
            if np.isfinite(radius):  # on to the border of the region that is trusted
                step = (np.sqrt(along**2 + p2 * (radius**2 - length2)) - along) / p2
                length2 = radius**2
            else:
                step = 1.0 if used == 1 else 0.0
                length2 += step**2 * p2
            promised += step * (size - 0.5 * step * curvature)
            for s in range(2):
                _add(x[s], step, p[s])
            break
        promised += 0.5 * step * size
        for s in range(2):
            _step(x[s], r[s], step, p[s], h[s])
        length2 += step * (2.0 * along + step * p2)
    return x[0], x[1], used, np.sqrt(length2), promised, size <= enough
