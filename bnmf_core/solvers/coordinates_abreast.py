"""Coordinate steps on many short lines of a dense X at once, compiled.

As ``coordinate_kernels`` makes them line by line, but with one line in each place of a register:
a line that is shorter than a few registers would leave most of them idle.
"""

import numba
import numpy as np

# Lines that go abreast.
GROUP = 512
# √½ as the bits of a number in single precision.
ROOT_HALF = 0x3F3504F3
# A curvature below this is none.
LEAST = 1e-30


@numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy", forceinline=True)
def logarithms(x: np.ndarray, y: np.ndarray, exponent: np.ndarray, part: np.ndarray) -> float:
    """Σ x log y over x > 0, to about 1e-7 of Σ x, by the series of log m, y = 2^k m."""
    number = x.dtype.type
    bits, bits_of_part = y.view(np.int32), part.view(np.int32)
    for e in range(x.size):
        k = (bits[e] - ROOT_HALF) >> 23
        bits_of_part[e] = bits[e] - (k << 23)
        exponent[e] = k
    total = number(0.0)
    for e in range(x.size):
        t = (part[e] - number(1.0)) / (part[e] + number(1.0))
        u = t * t
        series = number(1 / 7) + u * number(1 / 9)
        series = number(1 / 3) + u * (number(1 / 5) + u * series)
        total += max(x[e], number(0.0)) * (
            exponent[e] * number(np.log(2.0)) + number(2.0) * t * (number(1.0) + u * series)
        )
    return total


@numba.njit(cache=True, nogil=True)
def sums_of_columns(F: np.ndarray) -> np.ndarray:
    """Sums of the columns of F, in double precision."""
    sums = np.zeros(F.shape[1])
    for i in range(F.shape[0]):
        for r in range(F.shape[1]):
            sums[r] += F[i, r]
    return sums


@numba.njit(cache=True, nogil=True, fastmath=True, forceinline=True)
def add_multiple(weight: float, a: np.ndarray, y: np.ndarray) -> None:
    """Add weight · a to y, as far as y goes."""
    for e in range(y.size):
        y[e] += weight * a[e]


@numba.njit(cache=True, nogil=True, fastmath=True, forceinline=True)
def seen_sum(entries: np.ndarray, a: np.ndarray) -> float:
    """Sum of a where a line's entries were seen."""
    total, zero = 0.0, a.dtype.type(0.0)
    for e in range(entries.size):
        total += a[e] if entries[e] >= zero else zero
    return total


@numba.njit(cache=True, nogil=True)
def _add_where_seen(entries: np.ndarray, a: float, sums: np.ndarray) -> None:
    """Add a to the sums of lines whose entry was seen."""
    zero = sums.dtype.type(0.0)
    for k in range(entries.size):
        sums[k] += a if entries[k] >= zero else zero


@numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy", forceinline=True)
def _add_entry(
    x: np.ndarray,
    y: np.ndarray,
    step: np.ndarray,
    before: float,
    a: float,
    b: np.ndarray,
    h: np.ndarray,
) -> None:
    """Move y at one entry of many lines by the last step, and add to their b and h."""
    zero = x.dtype.type(0.0)
    for k in range(x.size):
        now = y[k] + step[k] * before
        y[k] = now
        t = a / now
        u = max(x[k], zero) * t
        b[k] += u
        h[k] += u * t


@numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy", forceinline=True)
def _step(
    w: np.ndarray, s: np.ndarray, b: np.ndarray, h: np.ndarray, again: bool, step: np.ndarray
) -> None:
    """Step one weight of many lines, ``again`` : not those at 0."""
    zero, least = w.dtype.type(0.0), w.dtype.type(LEAST)
    for k in range(w.size):
        change = max((b[k] - s[k]) * b[k] / (h[k] * s[k]), -w[k])
        if not (h[k] > least and s[k] > zero):
            change = -w[k]
        if again and w[k] == zero:
            change = zero
        w[k] += change
        step[k] = change


@numba.njit(cache=True, nogil=True, error_model="numpy")
def improve_abreast(
    across: np.ndarray,
    gaps: bool,
    F: np.ndarray,
    G: np.ndarray,
    fixed: np.ndarray,
    sweeps: int,
    floor: float,
    measured: bool,
) -> float:
    """Like :func:`improve`, for many short lines that are the columns of ``across``."""
    (n, R), number, found = F.shape, F.dtype.type, 0.0
    B, sums = np.ascontiguousarray(F.T), sums_of_columns(F)
    exponent, part = np.empty(GROUP, F.dtype), np.empty(GROUP, F.dtype)
    for j in range(0, G.shape[0], GROUP):
        lines = min(GROUP, G.shape[0] - j)
        w = np.ascontiguousarray(G[j : j + GROUP].T)
        y = np.dot(F, w) + number(floor)
        s, b, h = np.empty_like(w), np.empty(lines, F.dtype), np.empty(lines, F.dtype)
        step, last = np.zeros(lines, F.dtype), 0
        for r in range(R):
            s[r] = number(sums[r])
            if gaps:
                s[r] = number(0.0)
                for e in range(n):
                    _add_where_seen(across[e][j : j + lines], B[r, e], s[r])
        for sweep in range(sweeps):
            for r in range(R):
                if fixed[r]:
                    continue
                b[:], h[:] = number(0.0), number(0.0)
                for e in range(n):
                    x = across[e][j : j + lines]
                    _add_entry(x, y[e], step, B[last, e], B[r, e], b, h)
                _step(w[r], s[r], b, h, sweep > 0, step)
                last = r
        G[j : j + GROUP] = w.T
        if measured:
            for r in range(R):
                for k in range(lines):
                    found += s[r, k] * w[r, k]
            for e in range(n):
                add_multiple(B[last, e], step, y[e])
                x = across[e][j : j + lines]
                found -= logarithms(x, y[e], exponent[:lines], part[:lines])
    return found
