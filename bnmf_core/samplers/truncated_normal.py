"""Exact draws from a normal distribution kept to x ≥ 0, however far below zero its mean is."""

import math

import numba
import numpy as np

# Beyond this many standard deviations z − a loses digits; the tail is then solved directly.
TAIL = 30.0

# Rational approximations of the normal quantile, relative error about 1e-16 (M. J. Wichura,
# Algorithm AS 241, Applied Statistics 37, 1988): centre, near tail, far tail; numerators first.
CENTRE = (
    (3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
     1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
     3.3430575583588128105e4, 2.5090809287301226727e3),
    (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
     2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
     5.2264952788528545610e3),
)  # fmt: skip
NEAR = (
    (1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
     3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
     2.27238449892691845833e-2, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
     1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
     1.05075007164441684324e-9),
)  # fmt: skip
FAR = (
    (6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
     2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
     2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
     7.868691311456132591e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
     2.04426310338993978564e-15),
)  # fmt: skip


@numba.njit(cache=True, inline="always")
def _ratio(coefficients: tuple, x: float) -> float:
    top, bottom = coefficients[0][7], coefficients[1][7]
    for i in range(6, -1, -1):
        top = top * x + coefficients[0][i]
        bottom = bottom * x + coefficients[1][i]
    return top / bottom


@numba.njit(cache=True)
def upper_quantile(p: float) -> float:
    """z with P(Z > z) = p for a standard normal Z and 0 < p < 1."""
    q = 0.5 - p
    if abs(q) <= 0.425:
        return q * _ratio(CENTRE, 0.180625 - q * q)
    r = math.sqrt(-math.log(p if q > 0 else 1.0 - p))
    size = _ratio(NEAR, r - 1.6) if r <= 5.0 else _ratio(FAR, r - 5.0)
    return size if q > 0 else -size


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


@numba.njit(cache=True)
def truncated_draw(mean: float, sd: float, u: float) -> float:
    """The value with survival probability u in (0, 1] under N(mean, sd²) given x ≥ 0.

    Inverse-survival sampling: with a = −mean/sd, S(z) = u·S(a) and x = sd·(z − a).
    """
    a = -mean / sd
    if a > TAIL:
        return sd * tail_excess(a, math.log(u))
    p = u * 0.5 * math.erfc(a * 0.7071067811865476)
    if p >= 1.0:  # a so far below zero that nothing is cut off
        return 0.0
    return max(sd * (upper_quantile(p) - a), 0.0)


@numba.njit(cache=True, nogil=True)
def draw_rows(
    F: np.ndarray,
    C: np.ndarray,
    G: np.ndarray,
    noise_variance: float,
    rate: float,
    uniform: np.ndarray,
) -> None:
    """Redraw every entry of F (n, R) in place, row by row, from uniforms (n, R) in (0, 1].

    Entry (d, r) is normal with precision G_rr/σ² and mean (C_dr − Σ_{k≠r} F_dk G_kr − λσ²)/G_rr,
    truncated to ≥ 0; with G_rr = 0 it is Exp(λ). Rows are independent given the other factor,
    so going through them one after the other is the same kernel as drawing whole columns.

    It stands here because Numba's cache on disk sees a change of this file only: a compiled
    function elsewhere would go on with an old copy of :func:`truncated_draw`.
    """
    n, R = F.shape
    sd = np.empty(R)
    for r in range(R):
        sd[r] = math.sqrt(noise_variance / G[r, r]) if G[r, r] > 0.0 else 0.0
    for d in range(n):
        for r in range(R):
            diagonal = G[r, r]
            if diagonal <= 0.0:  # the other factor's component is empty: only the prior is left
                F[d, r] = -math.log(uniform[d, r]) / rate
                continue
            rest = 0.0
            for k in range(R):
                if k != r:
                    rest += F[d, k] * G[k, r]
            mean = (C[d, r] - rest - rate * noise_variance) / diagonal
            F[d, r] = truncated_draw(mean, sd[r], uniform[d, r])
