"""Coordinate steps on the Kullback–Leibler divergence, line by line, compiled.

For one line of X, a column say, and its weights w, with y = A w at the entries x > 0 and s the
column sums of A, the divergence is s·w − Σ x log y and what no w changes. By one weight w_r it has
the slope s_r − b with b = Σ x a_r/y, which falls with w_r about as a fraction α/(w_r + β) does. The
one with b's value and its slope −h, h = Σ x a_r²/y², meets s_r at

    w_r + (b − s_r)/h · b/s_r,

Newton's step (Hsieh & Dhillon 2011) times b/s_r. As 1/b is concave in w_r, the step never passes a
minimum that lies above; near it, it is Newton's.
"""

import numba
import numpy as np

from bnmf_core.numerics.count_lines import Side

# Entries of short lines whose steps are made in turn, so that none waits for another's result, and
# entries that a line is filled up to a multiple of: a register.
GROUP, LANES = 512, 16
# The momentum after a rise, and after a fall of the divergence (Ang & Gillis 2019).
SHRINKAGE, GROWTH, LIMIT_GROWTH, SMALLEST_STEP = 1.5, 1.05, 1.01, 1e-3
# A rise by this part of Σ x is rounding.
NOISE = 1e-8
# √½ as the bits of a number in single precision.
ROOT_HALF = 0x3F3504F3
# A curvature below this is none.
LEAST = 1e-30


@numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy", forceinline=True)
def _logarithms(x: np.ndarray, y: np.ndarray, exponent: np.ndarray, part: np.ndarray) -> float:
    """Σ x log y, to about 1e-7 of Σ x: y = 2^k m with m in [√½, √2), log m by its series."""
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
        total += x[e] * (
            exponent[e] * number(np.log(2.0)) + number(2.0) * t * (number(1.0) + u * series)
        )
    return total


@numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy", forceinline=True)
def _descend(
    x: np.ndarray,
    y: np.ndarray,
    B: np.ndarray,
    ends: np.ndarray,
    shared: bool,
    w: np.ndarray,
    s: np.ndarray,
    fixed: np.ndarray,
    sweeps: int,
    step: np.ndarray,
    last: np.ndarray,
) -> None:
    """Steps of every weight of each line in turn; weights w (lines, R), y = B w kept."""
    number = x.dtype.type
    lines, R = w.shape
    for k in range(lines):
        step[k] = number(0.0)
        last[k] = 0
    for sweep in range(sweeps):
        for r in range(R):
            if fixed[r]:
                continue
            for k in range(lines):
                if sweep and w[k, r] == number(0.0):
                    continue  # what has just been found to stay at 0
                low, high = ends[k], ends[k + 1]
                first = 0 if shared else low
                a, before = B[r, first : first + high - low], B[last[k], first : first + high - low]
                its_x, its_y, moved = x[low:high], y[low:high], step[k]
                b = h = number(0.0)
                for e in range(high - low):
                    now = its_y[e] + moved * before[e]
                    its_y[e] = now
                    t = a[e] / now
                    u = its_x[e] * t
                    b += u
                    h += u * t
                old, cost = w[k, r], s[k, r]
                change = -old
                if h > number(LEAST) and cost > number(0.0):
                    change = max((b - cost) * b / (h * cost), -old)
                w[k, r] = old + change
                step[k] = change
                last[k] = r
    for k in range(lines):
        low, high = ends[k], ends[k + 1]
        first = 0 if shared else low
        before, its_y, moved = B[last[k], first : first + high - low], y[low:high], step[k]
        for e in range(high - low):
            its_y[e] += moved * before[e]


@numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy", forceinline=True)
def _add_products(places: np.ndarray, F: np.ndarray, g: np.ndarray, y: np.ndarray) -> None:
    """Add to y the products of g with the rows of F at these places, four at a time."""
    zero = F.dtype.type(0.0)
    e = 0
    while e + 4 <= y.size:
        a, b, c, d = F[places[e]], F[places[e + 1]], F[places[e + 2]], F[places[e + 3]]
        s = t = u = v = zero
        for r in range(g.size):
            s += a[r] * g[r]
            t += b[r] * g[r]
            u += c[r] * g[r]
            v += d[r] * g[r]
        y[e] += s
        y[e + 1] += t
        y[e + 2] += u
        y[e + 3] += v
        e += 4
    while e < y.size:
        a = F[places[e]]
        s = zero
        for r in range(g.size):
            s += a[r] * g[r]
        y[e] += s
        e += 1


@numba.njit(cache=True, nogil=True, fastmath=True, forceinline=True)
def _add_multiple(weight: float, a: np.ndarray, y: np.ndarray) -> None:
    """Add weight · a to y, as far as y goes."""
    for e in range(y.size):
        y[e] += weight * a[e]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def improve(
    side: Side,
    F: np.ndarray,
    G: np.ndarray,
    fixed: np.ndarray,
    sweeps: int,
    floor: float,
    measured: bool,
) -> float:
    """Improve the weights G (lines, R) given the other factor F (entries of a line, R), in place.

    ``fixed`` (R,) : components whose weights stay. Returns Σ y − Σ x log y, with G as it is then,
    where it is to be ``measured``.
    """
    R, dense, lines = F.shape[1], side.table.size > 0, G.shape[0]
    room = max(GROUP, _longest(side)) + LANES
    most = GROUP // LANES
    B, x, y = np.zeros((R, room), F.dtype), np.zeros(room, F.dtype), np.ones(room, F.dtype)
    exponent, part = np.empty(room, F.dtype), np.empty(room, F.dtype)
    ends, step = np.zeros(most + 1, np.int64), np.zeros(most, F.dtype)
    last, s = np.zeros(most, np.int64), np.zeros((most, R), F.dtype)
    sums = _sums(F)
    if dense:
        B[:, : F.shape[0]] = F.T
    found, j = 0.0, 0
    while j < lines:
        count, end = 0, 0
        while j + count < lines and count < most:
            own = _length(side, j + count)
            whole = (own + LANES - 1) // LANES * LANES
            if count and end + whole > room - LANES:
                break
            part_x, part_y = x[end : end + whole], y[end : end + whole]
            part_x[own:], part_y[:] = 0.0, floor
            s[count] = sums
            if dense:
                _whole_line(side.table[j + count], B, G[j + count], part_x, part_y, s[count])
            else:
                part_B = B[:, end : end + whole]
                _stored_line(side, j + count, F, G[j + count], part_B, part_x, part_y)
            end += whole
            count += 1
            ends[count] = end
        w = G[j : j + count]
        _descend(x, y, B, ends, dense, w, s, fixed, sweeps, step, last)
        if measured:
            for k in range(count):
                for r in range(R):
                    found += s[k, r] * w[k, r]
            found -= _logarithms(x[:end], y[:end], exponent, part)
        j += count
    return found


@numba.njit(cache=True, nogil=True)
def _length(side: Side, line: int) -> int:
    """Entries of a line."""
    if side.table.size > 0:
        return side.table.shape[1]
    return side.starts[line + 1] - side.starts[line]


@numba.njit(cache=True, nogil=True)
def _longest(side: Side) -> int:
    """Entries of the longest line."""
    longest = side.table.shape[1]
    for line in range(side.starts.size - 1):
        longest = max(longest, side.starts[line + 1] - side.starts[line])
    return longest


@numba.njit(cache=True, nogil=True)
def _sums(F: np.ndarray) -> np.ndarray:
    """Sums of the columns of F, in double precision."""
    sums = np.zeros(F.shape[1])
    for i in range(F.shape[0]):
        for r in range(F.shape[1]):
            sums[r] += F[i, r]
    return sums


@numba.njit(cache=True, nogil=True)
def _stored_line(
    side: Side,
    line: int,
    F: np.ndarray,
    w: np.ndarray,
    B: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
) -> None:
    """Put the stored entries of a line into x, and the rows of F there into columns of B."""
    start, own, R = side.starts[line], _length(side, line), F.shape[1]
    places = side.places[start : start + own]
    for e in range(own):
        x[e] = side.values[start + e]
        a = F[places[e]]
        for r in range(R):
            B[r, e] = a[r]
    B[:, own:] = 0.0
    _add_products(places, F, w, y[:own])


@numba.njit(cache=True, nogil=True)
def _whole_line(
    entries: np.ndarray, B: np.ndarray, w: np.ndarray, x: np.ndarray, y: np.ndarray, s: np.ndarray
) -> None:
    """Put all entries of a line into x; where some were not seen, sums over the others into s."""
    gaps = False
    for e in range(entries.size):
        gaps |= entries[e] < 0.0
        x[e] = max(entries[e], x.dtype.type(0.0))
    for r in range(w.size):
        if w[r] != 0.0:
            _add_multiple(w[r], B[r], y)
        if gaps:
            total = 0.0
            for e in range(entries.size):
                if entries[e] >= 0.0:
                    total += B[r, e]
            s[r] = total


@numba.njit(cache=True, nogil=True, fastmath=True, error_model="numpy", forceinline=True)
def _extrapolate(
    new: np.ndarray, old: np.ndarray, step: float, far: np.ndarray, held: np.ndarray
) -> None:
    """Put new + step · (new − old), cut at 0, into ``far``, but for held components."""
    number = new.dtype.type
    size = number(step)
    for i in range(new.shape[0]):
        for r in range(new.shape[1]):
            moved = max(new[i, r] + size * (new[i, r] - old[i, r]), number(0.0))
            far[i, r] = far[i, r] if held[r] else moved


@numba.njit(cache=True, nogil=True)
def accelerated_round(
    rows: Side,
    columns: Side,
    A: np.ndarray,
    W: np.ndarray,
    held: np.ndarray,
    step: float,
    limit: float,
    iterations: int,
    sweeps: int,
    floor: float,
    noise: float,
) -> tuple[float, float]:
    """Extrapolated coordinate steps on one factorization, A (D, R) and W (N, R), in place.

    After each update a factor moves on in the same direction, by a step that grows while the
    divergence falls and shrinks when it rises; a rise by more than ``noise`` is undone (Ang &
    Gillis 2019, algorithm 3). ``held`` (R,) : components whose columns of A stay.

    Returns
    -------
    The state of the extrapolation, ``step`` and ``limit``.
    """
    best, now = np.inf, np.inf
    sides, held_of = (rows, columns), (held, np.zeros_like(held))
    kept, far, new = (A, W), (A.copy(), W.copy()), (np.empty_like(A), np.empty_like(W))
    for _ in range(iterations):
        for k in range(2):
            new[k][:] = far[k]
            if not held_of[k].all():
                now = improve(sides[k], far[1 - k], new[k], held_of[k], sweeps, floor, k == 1)
            if k == 0:
                _extrapolate(new[0], A, step, far[0], held)
        if now > best + noise:
            far[0][:], far[1][:] = A, W
            limit = step
            step = max(step / SHRINKAGE, SMALLEST_STEP)
        else:
            _extrapolate(new[1], W, step, far[1], held_of[1])
            kept[0][:], kept[1][:] = far[0], new[1]
            step = min(limit, GROWTH * step)
            limit = min(1.0, LIMIT_GROWTH * limit)
            best = min(best, now)
    return step, limit
