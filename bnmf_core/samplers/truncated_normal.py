"""Exact draws from a normal distribution truncated to x ≥ 0, however far below zero its mean is.

Draws truncated to 0 ≤ x ≤ b come from the same draw, with u between S(a + b/sd)/S(a)
and 1; where the mean lies beyond b/2, b − x is drawn, so that u keeps its digits.

With a = −mean/sd and S the survival function of a standard normal, the value with survival
probability u is sd·(z − a), S(z) = u·S(a). Both S and its inverse are polynomials here, exact
to about 1e-13, without a branch, so that the compiler makes several draws at a time.
"""

import math
from collections.abc import Callable

import numba
import numpy as np
from numpy.polynomial import chebyshev
from scipy import special

# Beyond this many standard deviations z − a loses digits; the tail is then solved directly.
TAIL = 30.0
# In an interval of fewer standard deviations than this a normal is an exponential to 1e-8.
NARROW = 1e-4
# −log of what is too little to add to a probability.
FAR = 41.0
ROOT_OF_HALF = math.sqrt(0.5)
# How many draws pass through each stage together: what they need stays in the first cache.
TILE = 256
# Of floating point, only fused products and reciprocals are left to the compiler.
VECTOR = {"contract", "arcp", "nnan", "ninf"}

LOG_TWO = math.log(2.0)
# log 2 in two parts: a whole number times the first is exact.
LOG_TWO_HIGH, LOG_TWO_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
SQUARE_ROOT_OF_HALF = 0x3FE6A09E667F3BCD  # its bits
# Both polynomials are in s = 1/(1 + CURVE x) for x from 0 to far out, brought to −1 … 1.
CURVE = 0.3
# −log of the smallest probability that comes up, S(TAIL) times the smallest uniform.
LARGEST_LOG = 500.0
SMALLEST_LOG = 0.98 * LOG_TWO


def _polynomial(
    function: Callable[[np.ndarray], np.ndarray], low: float, high: float, degree: int
) -> np.ndarray:
    """Coefficients, highest first, of the Chebyshev interpolant of ``function`` on [low, high]."""
    # numpy says that the function gives one number; it gives one for each point.
    found: np.ndarray = chebyshev.chebinterpolate(
        lambda x: function(0.5 * ((high - low) * x + high + low)), degree
    )
    return chebyshev.cheb2poly(found)[::-1].copy()


def _log_scaled_survival(s: np.ndarray) -> np.ndarray:
    # log(S(x)·exp(x²/2)/s)
    x = (1 / s - 1) / CURVE
    return np.log(special.erfcx(x / np.sqrt(2)) / (2 * s))


def _quantile_over_root(s: np.ndarray) -> np.ndarray:
    # z/x where −log S(z) = x²/2
    x = (1 / s - 1) / CURVE
    return -special.ndtri_exp(-0.5 * x * x) / x


SURVIVAL_LOW, SURVIVAL_HIGH = 1 / (1 + CURVE * TAIL), 1.0
QUANTILE_LOW = 1 / (1 + CURVE * math.sqrt(2 * LARGEST_LOG))
QUANTILE_HIGH = 1 / (1 + CURVE * math.sqrt(2 * SMALLEST_LOG))
SURVIVAL = _polynomial(_log_scaled_survival, SURVIVAL_LOW, SURVIVAL_HIGH, 19)
QUANTILE = _polynomial(_quantile_over_root, QUANTILE_LOW, QUANTILE_HIGH, 27)
EXPONENTIAL = np.array([1 / math.factorial(i) for i in range(13, -1, -1)])
LOGARITHM = np.array([2.0 / (2 * i + 1) for i in range(9, -1, -1)])


@numba.njit(cache=True, inline="always")
def _evaluate(coefficients: np.ndarray, count: int, x: float) -> float:
    # ``count`` (even) is written out by whoever calls, so that loops unroll.
    # Even and odd powers apart: two short chains of products instead of a long one.
    square = x * x
    odd, even = 0.0, 0.0
    for i in range(0, count, 2):
        odd = odd * square + coefficients[i]
        even = even * square + coefficients[i + 1]
    return odd * x + even


@numba.njit(cache=True, inline="always")
def _to_unit_interval(s: float, low: float, high: float) -> float:
    return (2.0 * s - (high + low)) / (high - low)


@numba.njit(cache=True, inline="always")
def _log(x: float) -> float:
    bits = np.float64(x).view(np.int64)
    exponent = (bits - SQUARE_ROOT_OF_HALF) >> 52
    m = np.int64(bits - (exponent << 52)).view(np.float64)  # between √½ and √2
    s = (m - 1.0) / (m + 1.0)
    return np.float64(exponent) * LOG_TWO + s * _evaluate(LOGARITHM, 10, s * s)


@numba.njit(cache=True, inline="always")
def _exp(x: float) -> float:  # for −700 < x < 700
    k = np.floor(x / LOG_TWO + 0.5)
    rest = (x - k * LOG_TWO_HIGH) - k * LOG_TWO_LOW
    power = np.int64((np.int64(k) + 1023) << 52).view(np.float64)
    return _evaluate(EXPONENTIAL, 14, rest) * power


@numba.njit(cache=True, error_model="numpy", fastmath=VECTOR, forceinline=True)
def _survival(a: np.ndarray, scale: np.ndarray, log_rest: np.ndarray) -> int:
    """Take S(|a|) apart: S = scale·exp(log_rest); how many are beyond TAIL."""
    beyond = 0
    for i in range(a.shape[0]):
        beyond += 1 if a[i] > TAIL else 0
        x = min(abs(a[i]), TAIL)
        s = 1.0 / (1.0 + CURVE * x)
        scale[i] = s
        log_rest[i] = (
            _evaluate(SURVIVAL, 20, _to_unit_interval(s, SURVIVAL_LOW, SURVIVAL_HIGH)) - 0.5 * x * x
        )
    return beyond


@numba.njit(cache=True, error_model="numpy", fastmath=VECTOR, forceinline=True)
def _smaller_tail(
    a: np.ndarray,
    u: np.ndarray,
    scale: np.ndarray,
    log_rest: np.ndarray,
    minus_log: np.ndarray,
    sign: np.ndarray,
) -> None:
    """−log of the smaller of S(z) and 1 − S(z), and the sign of z."""
    for i in range(a.shape[0]):
        beyond = scale[i] * _exp(log_rest[i])  # S(|a|)
        # Where a < 0 the two probabilities are formed without a difference of near ones.
        below = (1.0 - u[i]) + u[i] * beyond
        lower, negative = below <= 0.5, a[i] < 0.0
        smaller = below if lower else u[i] * (1.0 - beyond)
        value = -_log(smaller if negative else scale[i] * u[i])
        minus_log[i] = value if negative else value - log_rest[i]
        sign[i] = -1.0 if (negative and lower) else 1.0


@numba.njit(cache=True, error_model="numpy", fastmath=VECTOR, forceinline=True)
def _excess(a: np.ndarray, minus_log: np.ndarray, sign: np.ndarray, result: np.ndarray) -> None:
    """z − a, at least 0."""
    for i in range(a.shape[0]):
        x = np.sqrt(2.0 * minus_log[i])
        s = 1.0 / (1.0 + CURVE * x)
        ratio = _evaluate(QUANTILE, 28, _to_unit_interval(s, QUANTILE_LOW, QUANTILE_HIGH))
        result[i] = max(sign[i] * x * ratio - a[i], 0.0)


@numba.njit(cache=True)
def _series(x: float) -> float:
    y = 1.0 / (x * x)
    return math.log1p(y * (-1.0 + y * (3.0 - 15.0 * y)))


@numba.njit(cache=True)
def tail_excess(a: float, log_u: float) -> float:
    """t with S(a + t)/S(a) = u for a > 30, by Newton steps on the asymptotic expansion.

    log S(x) = −x²/2 − log x + log(1 − x⁻² + 3x⁻⁴ − 15x⁻⁶) + constant (Abramowitz & Stegun
    26.2.12); differences are formed without subtracting large numbers.
    """
    t = -log_u / a
    for _ in range(4):
        x = a + t
        value = -t * (a + 0.5 * t) - math.log1p(t / a) + _series(x) - _series(a) - log_u
        t += value / (x + 1.0 / x - 2.0 / (x * x * x))
    return t


@numba.njit(cache=True, forceinline=True)
def _draw(a: np.ndarray, u: np.ndarray, excess: np.ndarray, work: np.ndarray) -> None:
    """excess (n,) with S(a + excess) = u·S(a); work (4, n) is overwritten."""
    n = a.shape[0]
    scale, log_rest, minus_log, sign = work[0, :n], work[1, :n], work[2, :n], work[3, :n]
    beyond = _survival(a, scale, log_rest)
    _smaller_tail(a, u, scale, log_rest, minus_log, sign)
    _excess(a, minus_log, sign, excess)
    for i in range(n if beyond else 0):
        if a[i] > TAIL:
            excess[i] = tail_excess(a[i], math.log(u[i]))


@numba.njit(cache=True, error_model="numpy", fastmath=VECTOR, forceinline=True)
def _add_others(total: np.ndarray, F: np.ndarray, G: np.ndarray, r: int, first: int) -> None:
    """total (m,) + Σ_k≠r F_k G_kr in place, of the columns of F (R, n) from ``first`` on."""
    R, m = F.shape[0], total.shape[0]
    # Each row is a slice of its own: so the compiler knows that its entries are neighbours.
    for k in range(0, R - 1, 2):
        one, other = F[k, first : first + m], F[k + 1, first : first + m]
        g, h = 0.0 if k == r else G[k, r], 0.0 if k + 1 == r else G[k + 1, r]
        for i in range(m):
            total[i] += one[i] * g + other[i] * h
    if R % 2 and r != R - 1:
        last, g = F[R - 1, first : first + m], G[R - 1, r]
        for i in range(m):
            total[i] += last[i] * g


@numba.njit(cache=True, error_model="numpy", fastmath=VECTOR, forceinline=True)
def _standardised(
    F: np.ndarray,
    c: np.ndarray,
    G: np.ndarray,
    r: int,
    first: int,
    shift: float,
    scale: float,
    a: np.ndarray,
) -> None:
    """a ← (shift − c + Σ_{k≠r} f_k G_kr)/scale: how far zero lies above the mean, in sd."""
    for i in range(a.shape[0]):
        a[i] = shift - c[i]
    _add_others(a, F, G, r, first)
    for i in range(a.shape[0]):
        a[i] /= scale


@numba.njit(cache=True, error_model="numpy", fastmath=VECTOR, forceinline=True)
def _scaled(excess: np.ndarray, sd: float, f: np.ndarray) -> None:
    for i in range(f.shape[0]):
        f[i] = sd * excess[i]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def draw_factors(
    F: np.ndarray,
    C: np.ndarray,
    G: np.ndarray,
    noise_variance: float,
    rate: float,
    uniform: np.ndarray,
) -> None:
    """Redraw every entry of F (c, R, n) in place, from uniforms (c, R, n) in (0, 1].

    Entry (r, i) of a chain is normal with precision G_rr/σ² and mean
    (C_ri − Σ_{k≠r} F_ki G_kr − λσ²)/G_rr, truncated to ≥ 0; with G_rr = 0 it is Exp(λ). Columns
    i are independent given the other factor, so going through them in groups is the same
    kernel as drawing whole rows. C (c, R, n), G (c, R, R).

    It stands here because Numba's cache on disk sees a change of this file only: a compiled
    function elsewhere would go on with an old copy of the draw.
    """
    chains, R, n = F.shape
    width = min(TILE, n)
    a, excess, work = np.empty(width), np.empty(width), np.empty((4, width))
    for chain in range(chains):
        for first in range(0, n, TILE):
            m = min(TILE, n - first)
            part = slice(first, first + m)
            for r in range(R):
                f, u, diagonal = F[chain, r, part], uniform[chain, r, part], G[chain, r, r]
                if diagonal <= 0.0:  # the other factor's component is empty: only the prior is left
                    for i in range(m):
                        f[i] = -math.log(u[i]) / rate
                    continue
                sd = math.sqrt(noise_variance / diagonal)
                shift, scale, c = rate * noise_variance, diagonal * sd, C[chain, r, part]
                _standardised(F[chain], c, G[chain], r, first, shift, scale, a[:m])
                _draw(a[:m], u, excess[:m], work)
                _scaled(excess[:m], sd, f)


@numba.njit(cache=True, error_model="numpy", fastmath=VECTOR, forceinline=True)
def _pulled(
    F: np.ndarray,
    c: np.ndarray,
    G: np.ndarray,
    r: int,
    first: int,
    heat: float,
    linear: np.ndarray,
    precision: np.ndarray,
    a: np.ndarray,
    sd: np.ndarray,
) -> None:
    """sd, and a = −mean/sd, where every entry has a prior of its own."""
    for i in range(a.shape[0]):
        a[i] = -c[i]
    _add_others(a, F, G, r, first)
    for i in range(a.shape[0]):
        sd[i] = 1.0 / np.sqrt(heat * G[r, r] + precision[i])
        a[i] = (heat * a[i] - linear[i]) * sd[i]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def draw_factors_between(
    F: np.ndarray,
    C: np.ndarray,
    G: np.ndarray,
    heat: float,
    linear: np.ndarray,
    precision: np.ndarray,
    uniform: np.ndarray,
) -> None:
    """:func:`draw_factors` where the likelihood has a power and every entry a prior of its own.

    The density of F given the other factor is ∝ exp(heat·(⟨C, F⟩ − ½⟨F, G F⟩) + ⟨linear, F⟩ −
    ½⟨precision, F²⟩) on F ≥ 0. ``heat`` is the power over σ²; linear, precision (c, R, n), or
    (1, R, n) where they are the same for all c chains; precision > 0.
    """
    chains, R, n = F.shape
    width = min(TILE, n)
    a, sd = np.empty(width), np.empty(width)
    excess, work = np.empty(width), np.empty((4, width))
    for chain in range(chains):
        its = chain % linear.shape[0]
        for first in range(0, n, TILE):
            m = min(TILE, n - first)
            part = slice(first, first + m)
            for r in range(R):
                own = linear[its, r, part], precision[its, r, part]
                c, f = C[chain, r, part], F[chain, r, part]
                _pulled(F[chain], c, G[chain], r, first, heat, own[0], own[1], a[:m], sd[:m])
                _draw(a[:m], uniform[chain, r, part], excess[:m], work)
                for i in range(m):
                    f[i] = sd[i] * excess[i]


@numba.njit(cache=True)
def _part_beyond(a: float, width: float) -> float:
    """S(a + width)/S(a), for a > −width/2."""
    if a <= TAIL:
        return math.erfc((a + width) * ROOT_OF_HALF) / math.erfc(a * ROOT_OF_HALF)
    log_part = -width * (a + 0.5 * width) - math.log1p(width / a)
    return math.exp(log_part + _series(a + width) - _series(a))


@numba.njit(cache=True)
def _exponential_part(t: float, u: float) -> float:
    """y in [0, 1] of density ∝ exp(−t y), below which lies the part u (t ≥ 0) or 1 − u (t < 0)."""
    if t == 0.0:
        return u
    y = -math.log1p(u * math.expm1(-abs(t))) / abs(t)
    return min(y, 1.0) if t > 0.0 else max(1.0 - y, 0.0)


@numba.njit(cache=True, error_model="numpy")
def _set_out(pull: float, sd: float, largest: float, u: float) -> tuple[float, float]:
    """Arguments of :func:`_draw` for a density ∝ exp(−pull·x − ½x²/sd²) on 0 ≤ x ≤ largest."""
    reach = largest / sd
    if sd == np.inf or reach < NARROW:
        return 0.0, 1.0
    place = pull * sd
    if reach == np.inf:
        return place, u
    a = place if place >= -0.5 * reach else -reach - place
    # What lies beyond is then less than the last digit of u.
    if reach * (a + 0.5 * reach) > FAR if a >= 0.0 else (a + reach) ** 2 > 2.0 * FAR:
        return a, u
    beyond = _part_beyond(a, reach)
    return a, beyond + (1.0 - beyond) * u


@numba.njit(cache=True, error_model="numpy")
def _arrive(pull: float, sd: float, largest: float, u: float, drawn: float) -> float:
    """The value of that density from what was drawn, or from u where it is an exponential."""
    if sd == np.inf and largest == np.inf:
        return -math.log(u) / pull
    if sd == np.inf or largest / sd < NARROW:
        return largest * _exponential_part(largest * pull, u)
    x = min(drawn, largest)
    return largest - x if pull * sd < -0.5 * largest / sd else x


@numba.njit(cache=True, error_model="numpy", fastmath=VECTOR, forceinline=True)
def _add_products(total: np.ndarray, row: np.ndarray, factors: np.ndarray) -> None:
    for i in range(total.shape[0]):
        total[i] += row[i] * factors[i]


@numba.njit(cache=True, error_model="numpy", fastmath=VECTOR, forceinline=True)
def _set_out_far(
    pull: np.ndarray,
    sd: np.ndarray,
    heat: float,
    line: np.ndarray,
    diagonal: float,
    own: np.ndarray,
    largest: float,
    a: np.ndarray,
) -> int:
    """:func:`_set_out` of all, u left as it is; how many there are for which it may not be."""
    near = 0
    for i in range(a.shape[0]):
        pull[i] = heat * pull[i] - line[i]
        sd[i] = 1.0 / np.sqrt(heat * diagonal + own[i])
        reach, place = largest / sd[i], pull[i] * sd[i]
        nearer = place if place >= -0.5 * reach else -reach - place
        a[i] = nearer
        left = reach * (nearer + 0.5 * reach) if nearer >= 0.0 else 0.5 * (nearer + reach) ** 2
        near += 0 if left > FAR else 1
    return near


@numba.njit(cache=True, error_model="numpy", fastmath=VECTOR, forceinline=True)
def _arrive_far(
    pull: np.ndarray, sd: np.ndarray, largest: float, excess: np.ndarray, f: np.ndarray
) -> None:
    """:func:`_arrive` of all that :func:`_set_out_far` has let go."""
    for i in range(f.shape[0]):
        x = min(sd[i] * excess[i], largest)
        f[i] = largest - x if pull[i] * sd[i] < -0.5 * largest / sd[i] else x


@numba.njit(cache=True, nogil=True, error_model="numpy")
def draw_factors_within(
    F: np.ndarray,
    C: np.ndarray,
    G: np.ndarray,
    heat: float,
    linear: np.ndarray,
    precision: np.ndarray,
    largest: float,
    uniform: np.ndarray,
) -> None:
    """:func:`draw_factors_between` of one chain, with a G for every column, on 0 ≤ F ≤ largest.

    F, C, linear, precision, uniform : (R, n). G : (R, R, n), or (R, R, 1) for all columns. The
    largest value may be infinite, and a precision may be 0: where no seen entry uses a component,
    its prior exp(linear·x) is left.
    """
    R, n = F.shape
    width = min(TILE, n)
    a, sd, u, excess = np.empty(width), np.empty(width), np.empty(width), np.empty(width)
    pull, raised, work = np.empty(width), np.empty(width), np.empty((4, width))
    shared = G.shape[2] == 1
    for first in range(0, n, TILE):
        m = min(TILE, n - first)
        part = slice(first, first + m)
        for r in range(R):
            f = F[r, part]
            c, line, own, raw = C[r, part], linear[r, part], precision[r, part], uniform[r, part]
            for i in range(m):
                pull[i] = -c[i]
            if shared:
                _add_others(pull[:m], F, G[:, :, 0], r, first)
            for k in range(0 if shared else R):
                if k != r:
                    _add_products(pull[:m], F[k, part], G[k, r, part])
            if shared and heat * G[r, r, 0] > 0.0 and largest < np.inf:
                for i in range(m):
                    raised[i] = pull[i]
                diagonal = G[r, r, 0]
                if not _set_out_far(raised[:m], sd[:m], heat, line, diagonal, own, largest, a[:m]):
                    _draw(a[:m], raw, excess[:m], work)
                    _arrive_far(raised[:m], sd[:m], largest, excess[:m], f)
                    continue
            for i in range(m):
                pull[i] = heat * pull[i] - line[i]
                diagonal = G[r, r, 0] if shared else G[r, r, first + i]
                narrowness = heat * diagonal + own[i]
                sd[i] = math.sqrt(1.0 / narrowness) if narrowness > 0.0 else np.inf
                a[i], u[i] = _set_out(pull[i], sd[i], largest, raw[i])
            _draw(a[:m], u[:m], excess[:m], work)
            for i in range(m):
                f[i] = _arrive(pull[i], sd[i], largest, raw[i], sd[i] * excess[i])
