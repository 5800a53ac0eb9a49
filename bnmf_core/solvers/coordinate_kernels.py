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
from bnmf_core.solvers.coordinates_abreast import (
    GROUP,
    LEAST,
    add_multiple,
    improve_abreast,
    logarithms,
    seen_sum,
    sums_of_columns,
)

# A line is filled up to a multiple of so many entries, and short lines with as many entries as a
# group take their steps in turn, so that none waits for another's result.
LANES = 16
# At least so many lines of a dense X with no more entries than that go abreast.
SHORT = 64
# The momentum after a rise, and after a fall of the divergence (Ang & Gillis 2019).
SHRINKAGE, GROWTH, LIMIT_GROWTH, SMALLEST_STEP = 1.5, 1.05, 1.01, 1e-3
# A rise by this part of Σ x is rounding.
NOISE = 1e-8


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
    """Steps of every weight of each line in turn; weights w (lines, R), y = B w updated."""
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
    if 0 < side.table.shape[1] <= SHORT <= G.shape[0]:
        return improve_abreast(side.across, side.gaps, F, G, fixed, sweeps, floor, measured)
    R, dense, lines = F.shape[1], side.table.size > 0, G.shape[0]
    room = max(GROUP, _longest(side)) + LANES
    most = GROUP // LANES
    B, x, y = np.zeros((R, room), F.dtype), np.zeros(room, F.dtype), np.ones(room, F.dtype)
    exponent, part = np.empty(room, F.dtype), np.empty(room, F.dtype)
    ends, step = np.zeros(most + 1, np.int64), np.zeros(most, F.dtype)
    last, s = np.zeros(most, np.int64), np.zeros((most, R), F.dtype)
    sums = sums_of_columns(F)
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
                entries, own_s = side.table[j + count], s[count]
                _whole_line(entries, side.gaps, B, G[j + count], part_x, part_y, own_s)
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
            found -= logarithms(x[:end], y[:end], exponent, part)
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
    entries: np.ndarray,
    gaps: bool,
    B: np.ndarray,
    w: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    s: np.ndarray,
) -> None:
    """Put all entries of a line into x; where some were not seen, sums over the others into s."""
    for e in range(entries.size):
        x[e] = max(entries[e], x.dtype.type(0.0))
    for r in range(w.size):
        if w[r] != 0.0:
            add_multiple(w[r], B[r], y)
        if gaps:
            s[r] = seen_sum(entries, B[r])


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
def accelerated_rounds(
    rows: Side,
    columns: Side,
    A: np.ndarray,
    W: np.ndarray,
    held: np.ndarray,
    steps: np.ndarray,
    limits: np.ndarray,
    iterations: np.ndarray,
    sweeps: int,
    floor: float,
    noise: float,
) -> None:
    """Extrapolated coordinate steps on factorizations, A (m, D, R) and W (m, N, R), in place.

    After each update a factor moves on in the same direction, by a step that grows while the
    divergence falls and shrinks when it rises; a rise by more than ``noise`` is undone (Ang &
    Gillis 2019, algorithm 3). ``held`` (R,) : components whose columns of A stay. ``steps``,
    ``limits`` (m,) : the state of the extrapolation of each, changed as well. ``iterations`` (m,) :
    how many each makes.
    """
    sides, held_of = (rows, columns), (held, np.zeros_like(held))
    for p in range(A.shape[0]):
        place, step, limit = (A[p], W[p]), steps[p], limits[p]
        far, new = (A[p].copy(), W[p].copy()), (np.empty_like(A[p]), np.empty_like(W[p]))
        best, now = np.inf, np.inf
        for _ in range(iterations[p]):
            for k in range(2):
                new[k][:] = far[k]
                if not held_of[k].all():
                    now = improve(sides[k], far[1 - k], new[k], held_of[k], sweeps, floor, k == 1)
                if k == 0:
                    _extrapolate(new[0], A[p], step, far[0], held)
            if now > best + noise:
                far[0][:], far[1][:] = A[p], W[p]
                limit = step
                step = max(step / SHRINKAGE, SMALLEST_STEP)
            else:
                _extrapolate(new[1], W[p], step, far[1], held_of[1])
                place[0][:], place[1][:] = far[0], new[1]
                step = min(limit, GROWTH * step)
                limit = min(1.0, LIMIT_GROWTH * limit)
                best = min(best, now)
        steps[p], limits[p] = step, limit
