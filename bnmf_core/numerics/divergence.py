"""Sums over the stored entries of a sparse X, for the Kullback–Leibler divergence of X from Y = AW.

With x' = x + c and y' = y + c at an entry x > 0, c a small floor, its part of the divergence is
x' log(x'/y') − x + y, and at an entry of 0 it is y. So all that is not the sum of Y, which is
ΣA·ΣW, comes from the stored entries: their values, the quotients x'/y' of the gradients and x'/y'²
of the Hessian.

Factors are F (D, P) and G (N, P), one row for each row and column of X; P is filled up with zeros
to whole registers. ``starts``, ``places`` and ``values`` are those of X by columns.
"""

import numba
import numpy as np

from bnmf_core.numerics.matrix import Sparse

# Numbers in a register: rows of factors are filled up to whole ones.
LANES = 8

# √½ as the bits of a number in double precision; 1.5·2⁵², as bits and as a number: an integer that
# is added to the bits is added to the number.
ROOT_HALF, BITS, LARGE = 0x3FE6A09E667F3BCD, 0x4338000000000000, 1.5 * 2.0**52

Lines = tuple[np.ndarray, np.ndarray, np.ndarray]


def lines(X: Sparse) -> Lines:
    """Starts, places and values of the stored entries of X by columns, places as uint32."""
    # An unsigned place needs no check for a negative one.
    indices = X.indices
    places = indices.view(np.uint32) if indices.dtype == np.int32 else indices.astype(np.uint32)
    return X.indptr.astype(np.int64), places, X.data


def filled(F: np.ndarray) -> np.ndarray:
    """F (n, R) with columns of zeros after its own, up to whole registers."""
    n, R = F.shape
    whole = np.zeros((n, -(-R // LANES) * LANES))
    whole[:, :R] = F
    return whole


@numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy", forceinline=True)
def _products(
    places: np.ndarray, first: int, count: int, F: np.ndarray, g: np.ndarray, y: np.ndarray
) -> None:
    """Products of g with the rows of F at consecutive places, four at a time."""
    P = g.size
    e = 0
    while e + 4 <= count:
        p = first + e
        a, b, c, d = F[places[p]], F[places[p + 1]], F[places[p + 2]], F[places[p + 3]]
        s = t = u = v = 0.0
        for r in range(P):
            s += a[r] * g[r]
            t += b[r] * g[r]
            u += c[r] * g[r]
            v += d[r] * g[r]
        y[e], y[e + 1], y[e + 2], y[e + 3] = s, t, u, v
        e += 4
    while e < count:
        a = F[places[first + e]]
        s = 0.0
        for r in range(P):
            s += a[r] * g[r]
        y[e] = s
        e += 1


@numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy", forceinline=True)
def _spread(
    places: np.ndarray,
    first: int,
    count: int,
    weights: np.ndarray,
    F: np.ndarray,
    g: np.ndarray,
    of_F: np.ndarray,
    of_g: np.ndarray,
) -> None:
    """Add each weight times a row of F to ``of_g``, and times g to that row of ``of_F``."""
    P = g.size
    e = 0
    while e + 4 <= count:
        p = first + e
        i, j, k, n = places[p], places[p + 1], places[p + 2], places[p + 3]
        a, b, c, d = F[i], F[j], F[k], F[n]
        s, t, u, v = weights[e], weights[e + 1], weights[e + 2], weights[e + 3]
        for r in range(P):
            of_g[r] += (s * a[r] + t * b[r]) + (u * c[r] + v * d[r])
        a, b, c, d = of_F[i], of_F[j], of_F[k], of_F[n]
        for r in range(P):
            own = g[r]
            a[r] += s * own
            b[r] += t * own
            c[r] += u * own
            d[r] += v * own
        e += 4
    while e < count:
        i = places[first + e]
        a, b = F[i], of_F[i]
        s = weights[e]
        for r in range(P):
            of_g[r] += s * a[r]
            b[r] += s * g[r]
        e += 1


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _split(q: np.ndarray, exponent: np.ndarray) -> None:
    """q = 2^k m with m in [√½, √2): m in the place of q, and k."""
    bits, bits_of_k = q.view(np.int64), exponent.view(np.int64)
    for e in range(q.size):
        k = (bits[e] - ROOT_HALF) >> 52
        bits[e] -= k << 52
        bits_of_k[e] = k + BITS
    for e in range(q.size):
        exponent[e] -= LARGE


@numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy", forceinline=True)
def logarithms(q: np.ndarray, exponent: np.ndarray) -> None:
    """Put log q in the place of q > 0, both (n,), to rounding; ``exponent`` (n,) is overwritten.

    log m = 2 artanh t, t = (m − 1)/(m + 1), by its series: six times as fast as np.log, as loops
    without branches are done in whole registers.
    """
    _split(q, exponent)
    for e in range(q.size):
        t = (q[e] - 1.0) / (q[e] + 1.0)
        u = t * t
        series = 1 / 17 + u * (1 / 19 + u * (1 / 21))
        series = 1 / 11 + u * (1 / 13 + u * (1 / 15 + u * series))
        series = 1 / 5 + u * (1 / 7 + u * (1 / 9 + u * series))
        series = 1.0 + u * (1 / 3 + u * series)
        q[e] = exponent[e] * np.log(2.0) + 2.0 * t * series


@numba.njit(cache=True, nogil=True)
def longest(starts: np.ndarray) -> int:
    """Most entries of a line."""
    most = 0
    for j in range(starts.size - 1):
        most = max(most, starts[j + 1] - starts[j])
    return most


@numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def values(
    starts: np.ndarray,
    places: np.ndarray,
    data: np.ndarray,
    F: np.ndarray,
    G: np.ndarray,
    floor: float,
    found: np.ndarray,
) -> None:
    """Σ x' log(x'/y') − x of each column of X, put in ``found`` (N,)."""
    y, exponent = np.empty(longest(starts)), np.empty(longest(starts))
    for j in range(starts.size - 1):
        first, count = starts[j], starts[j + 1] - starts[j]
        _products(places, first, count, F, G[j], y)
        for e in range(count):
            x = data[first + e]
            y[e] = (x + floor) / (y[e] + floor) if x > 0.0 else 1.0
        logarithms(y[:count], exponent[:count])
        total = 0.0
        for e in range(count):
            total += (data[first + e] + floor) * y[e] - data[first + e]
        found[j] = total


@numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def whole_values(
    X: np.ndarray, Y: np.ndarray, seen: np.ndarray, floor: float, found: np.ndarray
) -> None:
    """Σ x' log(x'/y') − x + y of each column of a dense X, Y (D, N), added to ``found`` (N,).

    ``seen`` : 1 where an entry counts, 0 elsewhere; of size 0 where all do.
    """
    quotient, exponent = np.empty(X.shape[1]), np.empty(X.shape[1])
    for d in range(X.shape[0]):
        x, y = X[d], Y[d]
        for n in range(x.size):
            quotient[n] = (x[n] + floor) / (y[n] + floor) if x[n] > 0.0 else 1.0
        logarithms(quotient, exponent)
        for n in range(x.size):
            part = (x[n] + floor) * quotient[n] - x[n] + y[n]
            found[n] += part * seen[d, n] if seen.size else part


@numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def slopes(
    starts: np.ndarray,
    places: np.ndarray,
    data: np.ndarray,
    F: np.ndarray,
    G: np.ndarray,
    floor: float,
    by_F: np.ndarray,
    by_G: np.ndarray,
) -> float:
    """Σ x' log(x'/y') − x, and its gradients added to ``by_F`` and ``by_G``: −x'/y' times G, F."""
    most = longest(starts)
    y, logs, exponent, total = np.empty(most), np.empty(most), np.empty(most), 0.0
    for j in range(starts.size - 1):
        first, count = starts[j], starts[j + 1] - starts[j]
        _products(places, first, count, F, G[j], y)
        for e in range(count):
            x = data[first + e]
            logs[e] = (x + floor) / (y[e] + floor) if x > 0.0 else 1.0
            y[e] = -logs[e] if x > 0.0 else 0.0
        logarithms(logs[:count], exponent[:count])
        for e in range(count):
            total += (data[first + e] + floor) * logs[e] - data[first + e]
        _spread(places, first, count, y, F, G[j], by_F, by_G[j])
    return total


@numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def slopes_along(
    starts: np.ndarray,
    places: np.ndarray,
    data: np.ndarray,
    F: np.ndarray,
    G: np.ndarray,
    moved_F: np.ndarray,
    moved_G: np.ndarray,
    floor: float,
    along_F: np.ndarray,
    along_G: np.ndarray,
) -> None:
    """How those gradients change along a direction, added to ``along_F`` and ``along_G``.

    By x'/y'² ẏ times G and F, ẏ = Ḟ G + F Ġ, and by −x'/y' times Ġ and Ḟ.
    """
    most = longest(starts)
    y, change, part = np.empty(most), np.empty(most), np.empty(most)
    for j in range(starts.size - 1):
        first, count = starts[j], starts[j + 1] - starts[j]
        _products(places, first, count, F, G[j], y)
        _products(places, first, count, moved_F, G[j], change)
        _products(places, first, count, F, moved_G[j], part)
        for e in range(count):
            x = data[first + e]
            near = 1.0 / (y[e] + floor)
            q = (x + floor) * near if x > 0.0 else 0.0
            change[e] = q * near * (change[e] + part[e])
            y[e] = -q
        _spread(places, first, count, change, F, G[j], along_F, along_G[j])
        _spread(places, first, count, y, moved_F, moved_G[j], along_F, along_G[j])


@numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def bends(
    starts: np.ndarray,
    places: np.ndarray,
    data: np.ndarray,
    F: np.ndarray,
    G: np.ndarray,
    square_F: np.ndarray,
    square_G: np.ndarray,
    floor: float,
    of_F: np.ndarray,
    of_G: np.ndarray,
) -> None:
    """x'/y'² times the squares of G and of F, added to ``of_F`` and ``of_G``."""
    y = np.empty(longest(starts))
    for j in range(starts.size - 1):
        first, count = starts[j], starts[j + 1] - starts[j]
        _products(places, first, count, F, G[j], y)
        for e in range(count):
            x = data[first + e]
            y[e] = (x + floor) / (y[e] + floor) ** 2 if x > 0.0 else 0.0
        _spread(places, first, count, y, square_F, square_G[j], of_F, of_G[j])
