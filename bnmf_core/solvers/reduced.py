"""Compiled parts of variable projection: what one factor answers, and a bounded quadratic."""

import numba
import numpy as np

from bnmf_core.solvers.nnls import extend

# A curvature below this part of the largest stands for an entry that nothing depends on.
EMPTY = 1e-12
# Sets of zeros that are tried for one quadratic, at most.
TRIALS = 30


@numba.njit(cache=True, nogil=True)
def normal_equations(
    F: np.ndarray, X: np.ndarray, seen: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Normal equations for H: F with rows of length 1, Gram matrices and F X.

    Parameters
    ----------
    F : (R, s). X : (s, n), 0 where not seen. seen : S (s, n), or (0, 0) where all is seen.

    Returns
    -------
    F (R, s); (1, R, R), or one for each column of X where there are gaps, (n, R, R); (n, R).
    """
    R, s = F.shape
    n = X.shape[1]
    unit = np.zeros((R, s))
    for r in range(R):
        length = np.sqrt((F[r] ** 2).sum())
        if length > 0.0:
            unit[r] = F[r] / length
    gram = np.zeros((n if seen.size else 1, R, R))
    target = np.zeros((n, R))
    for i in range(s):
        for j in range(n):
            for r in range(R):
                target[j, r] += unit[r, i] * X[i, j]
        for j in range(gram.shape[0]):
            if seen.size and seen[i, j] == 0.0:
                continue
            for r in range(R):
                for k in range(R):
                    gram[j, r, k] += unit[r, i] * unit[k, i]
    return unit, gram, target


@numba.njit(cache=True, nogil=True)
def residuals(
    F: np.ndarray, H: np.ndarray, X: np.ndarray, seen: np.ndarray
) -> tuple[np.ndarray, float]:
    """S ∘ (FᵀH) − X (s, n) and its squared length; parameters as in :func:`normal_equations`."""
    s, n = X.shape
    result, squared, row = np.empty((s, n)), 0.0, np.empty(n)
    for i in range(s):
        row[:] = 0.0
        for r in range(F.shape[0]):
            for j in range(n):
                row[j] += F[r, i] * H[r, j]
        for j in range(n):
            if seen.size:
                row[j] *= seen[i, j]
            result[i, j] = row[j] - X[i, j]
            squared += result[i, j] ** 2
    return result, squared


@numba.njit(cache=True, nogil=True)
def answers(
    F: np.ndarray, H: np.ndarray, residual: np.ndarray, gram: np.ndarray, seen: np.ndarray
) -> np.ndarray:
    """Response of H to a change of F: Y, where Σ Y Yᵀ is subtracted from the Hessian, by rows.

    With F_ri and H_kj, ½‖X − FᵀH‖² over the seen entries has the mixed derivatives
    C = S_ij H_rj F_ki + δ_rk E_ij, E = S ∘ (FᵀH) − X; those by H are one matrix
    Σ_i S_ij f_i f_iᵀ = L Lᵀ for each column j. The rows are L⁻¹ Cᵀ, zeros of H left out, so that
    YᵀY is what the Schur complement takes off.

    Parameters
    ----------
    F : (R, s). H : (R, n), the minimiser. residual : E (s, n). gram : (1 or n, R, R), of each
        column j. seen : S (s, n), or (0, 0) where all is seen.

    Returns
    -------
    Y (entries of H above 0, R s).
    """
    R, s = F.shape
    n = H.shape[1]
    whole = seen.size == 0
    rows = np.empty((R * n, R * s))
    factor, support = np.empty((R, R)), np.empty(R, np.int64)
    filled = 0
    for j in range(n):
        G = gram[j] if gram.shape[0] > 1 else gram[0]
        count = 0
        for k in range(R):
            if H[k, j] <= 0.0 or not extend(G, factor, support, count, k):
                continue
            row = rows[filled + count]
            for r in range(R):
                for i in range(s):
                    row[r * s + i] = H[r, j] * F[k, i]
            if not whole:
                for r in range(R):
                    for i in range(s):
                        row[r * s + i] *= seen[i, j]
            for i in range(s):
                row[k * s + i] += residual[i, j]
            for a in range(count):
                part, other = factor[count, a], rows[filled + a]
                for q in range(R * s):
                    row[q] -= part * other[q]
            inverse = 1.0 / factor[count, count]
            for q in range(R * s):
                row[q] *= inverse
            count += 1
        filled += count
    return rows[:filled]


@numba.njit(cache=True, nogil=True)
def finish(  # noqa: PLR0912 (one loop nest)
    second: np.ndarray, F: np.ndarray, H: np.ndarray, residual: np.ndarray, seen: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """YᵀY made into the second derivatives of φ by F, in place; parameters as in :func:`answers`.

    Along F_r itself, where only lengths change, a curvature is put in place of none.

    Returns
    -------
    gradient of φ, and second derivatives of the error by each entry of F, H held: (R s,) each.
    """
    R, s = F.shape
    n = H.shape[1]
    for p in range(R * s):
        for q in range(R * s):
            second[p, q] = -second[p, q]
    gradient, curvature = np.zeros(R * s), np.zeros(R * s)
    for r in range(R):
        for i in range(s):
            for j in range(n):
                gradient[r * s + i] += H[r, j] * residual[i, j]
        for k in range(R):
            total = 0.0
            for i in range(s):
                if seen.size or i == 0:  # without gaps the same for every row of X
                    total = 0.0
                    for j in range(n):
                        if not seen.size or seen[i, j] > 0.0:
                            total += H[r, j] * H[k, j]
                second[r * s + i, k * s + i] += total
                if r == k:
                    curvature[r * s + i] = total
    for r in range(R):
        size = (F[r] ** 2).sum()
        if size > 0.0:
            mean = curvature[r * s : (r + 1) * s].mean() / size
            for i in range(s):
                for k in range(s):
                    second[r * s + i, r * s + k] += mean * F[r, i] * F[r, k]
    return gradient, curvature


@numba.njit(cache=True, nogil=True, fastmath=True, forceinline=True)
def _cholesky(M: np.ndarray, n: int, least: np.ndarray) -> bool:
    """L with M = LLᵀ in place of M's lower triangle; False when a pivot is not above ``least``."""
    for i in range(n):
        for j in range(i):
            total = M[i, j]
            for k in range(j):
                total -= M[i, k] * M[j, k]
            M[i, j] = total / M[j, j]
        total = M[i, i]
        for k in range(i):
            total -= M[i, k] * M[i, k]
        if not total > least[i]:
            return False
        M[i, i] = np.sqrt(total)
    return True


@numba.njit(cache=True, nogil=True, fastmath=True, forceinline=True)
def _substitute(L: np.ndarray, n: int, x: np.ndarray) -> None:
    """(LLᵀ)⁻¹x in place."""
    for i in range(n):
        total = x[i]
        for k in range(i):
            total -= L[i, k] * x[k]
        x[i] = total / L[i, i]
    for i in range(n - 1, -1, -1):
        x[i] /= L[i, i]
        for k in range(i):
            x[k] -= L[i, k] * x[i]


@numba.njit(cache=True, nogil=True, fastmath=True, forceinline=True)
def _times(M: np.ndarray, x: np.ndarray, result: np.ndarray) -> None:
    """M x of a symmetric M; many a row is left out where x is 0."""
    result[:] = 0.0
    for q in range(x.size):
        if x[q] != 0.0:
            part = x[q]
            for k in range(x.size):
                result[k] += part * M[q, k]


@numba.njit(cache=True, nogil=True)
def bounded_minimum(  # noqa: PLR0912 (one loop)
    second: np.ndarray, gradient: np.ndarray, curvature: np.ndarray, F: np.ndarray, damping: float
) -> tuple[np.ndarray, float, bool]:
    """Minimise ⟨∇, d⟩ + ½⟨d, (∇² + damping · diag(curvature)) d⟩ over F + d ≥ 0.

    Primal-dual active sets (Hintermüller, Ito & Kunisch 2002): entries that would be negative are
    held at 0, those held whose slope is negative are let go, all at once, until none change.

    Parameters
    ----------
    second : ∇² (R s, R s). gradient : ∇ (R s,). curvature : of the error by each entry of F, H
        held (R s,). F : (R, s).

    Returns
    -------
    F + d (R, s), by how much the quadratic falls there, and whether the quadratic has a minimum.
    """
    size = F.size
    x = F.ravel()
    least = EMPTY * curvature.max()
    held = np.empty(size, np.bool_)
    for q in range(size):
        held[q] = x[q] * curvature[q] <= gradient[q]
    d, slope = np.zeros(size), np.empty(size)
    index, right, pivots = np.empty(size, np.int64), np.empty(size), np.empty(size)
    matrix = np.empty((size, size))
    for _ in range(TRIALS):
        count = 0
        for q in range(size):
            d[q] = -x[q] if held[q] else 0.0
            if curvature[q] <= least:
                d[q] = 0.0
            elif not held[q]:
                index[count] = q
                count += 1
        _times(second, d, slope)
        for a in range(count):
            q = index[a]
            right[a] = -gradient[q] - slope[q]
            for b in range(a):
                matrix[a, b] = second[q, index[b]]
            matrix[a, a] = second[q, q] + damping * curvature[q]
            pivots[a] = 1e-9 * curvature[q]
        if not _cholesky(matrix, count, pivots):
            return F.copy(), 0.0, False
        _substitute(matrix, count, right)
        for a in range(count):
            d[index[a]] = right[a]
        _times(second, d, slope)
        changed = False
        for q in range(size):
            slope[q] += gradient[q] + damping * curvature[q] * d[q]
            if curvature[q] <= least:
                continue
            now = slope[q] > 0.0 if held[q] else x[q] + d[q] < 0.0
            changed = changed or now != held[q]
            held[q] = now
        if not changed:
            break
    result = np.empty(size)
    for q in range(size):
        result[q] = max(x[q] + d[q], 0.0)
        d[q] = result[q] - x[q]
    _times(second, d, slope)
    promised = 0.0
    for q in range(size):
        promised -= d[q] * (gradient[q] + 0.5 * slope[q])
    return result.reshape(F.shape), promised, True


@numba.njit(cache=True, nogil=True)
def inverses(G: np.ndarray, sets: np.ndarray, least: float) -> np.ndarray:
    """Inverses of G (R, R) on each set of components, 0 elsewhere; where none is, pseudoinverses.

    Parameters
    ----------
    sets : (k, R) bool. least : eigenvalues below this part of the largest count as 0.

    Returns
    -------
    (k, R, R).
    """
    count, R = sets.shape
    result = np.zeros((count, R, R))
    for i in range(count):
        some = np.flatnonzero(sets[i])
        n = some.size
        if n == 0:
            continue
        part = np.empty((n, n))
        for a in range(n):
            for b in range(n):
                part[a, b] = G[some[a], some[b]]
        values, vectors = np.linalg.eigh(part)
        smallest = least * max(abs(values[0]), abs(values[-1]))
        for e in range(n):
            if abs(values[e]) <= smallest:
                continue
            for a in range(n):
                share = vectors[a, e] / values[e]
                for b in range(n):
                    result[i, some[a], some[b]] += share * vectors[b, e]
    return result


@numba.njit(cache=True, nogil=True)
def moments(B: np.ndarray, kind: np.ndarray, kinds: int) -> np.ndarray:
    """Σ b_i b_iᵀ over the columns of B (J, s) of each kind: kind (s,), result (kinds, J, J)."""
    J, s = B.shape
    result = np.zeros((kinds, J, J))
    for i in range(s):
        total = result[kind[i]]
        for a in range(J):
            part = B[a, i]
            for b in range(J):
                total[a, b] += part * B[b, i]
    return result


@numba.njit(cache=True, nogil=True)
def largest_angle(before: np.ndarray, after: np.ndarray) -> float:
    """Largest angle in radians between a row of one and of the other, (R, n); 90° at an empty one.

    By the chord, which keeps small angles exact.
    """
    largest = 0.0
    for r in range(before.shape[0]):
        sizes = np.sqrt((before[r] ** 2).sum()), np.sqrt((after[r] ** 2).sum())
        if sizes[0] == 0.0 or sizes[1] == 0.0:
            if sizes[0] != sizes[1]:
                largest = max(largest, np.pi / 2)
            continue
        chord = np.sqrt(((before[r] / sizes[0] - after[r] / sizes[1]) ** 2).sum())
        largest = max(largest, 2.0 * np.arcsin(min(chord / 2.0, 1.0)))
    return largest
