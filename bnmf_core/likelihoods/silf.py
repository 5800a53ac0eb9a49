"""Threshold likelihood, scale-fixing prior (paper 3, §5.2, eq. 5).

p(X | A, W) = exp(−C·SILF(f))/Z with f an objective of X and AW, and SILF the soft insensitive
loss of Chu, Keerthi & Ong (2004): 0 for every f that is good enough, then rising with slope 1.
Every column of A ~ Dirichlet(1, …, 1), every entry of W ~ Exp(λ), as in ``gaussian_simplex``.

Z is a normaliser over all real X. For ‖X − AW‖² it does not depend on A and W and is a
one-dimensional integral, which is computed. For a divergence, Z would depend on A and W; as in
the paper it is taken for a constant (the result is a generalised posterior ∝ exp(−C·SILF(f))
p(A, W)) and left out: the log joint is then known up to a constant that depends on X and the
settings only.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.loss import Loss
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.core.threshold import Threshold
from bnmf_core.lazy import lazy
from bnmf_core.likelihoods import composed, itakura_saito, kullback_leibler, priors
from bnmf_core.likelihoods.reference import reference_values

optimize = lazy("scipy.optimize")

# Paper 3, §6.1: ε = 1.2 × the largest f of 50 NMFs.
REFERENCES, MARGIN = 50, 1.2
# An exact factorization has f = 0; a smaller threshold than this part of the data's own size
# would be rounding noise.
SMALLEST_RELATIVE_EPSILON = 1e-6
OBJECTIVES: dict[str, Loss] = {
    loss.key: loss for loss in (SQUARED_ERROR, kullback_leibler.LOSS, itakura_saito.LOSS)
}
# Maximum number of cached references, by data, rank and objective.
MOST_KNOWN = 64
_known: dict[tuple[str, int, str], float] = {}
# The integral for Z leaves out what is below exp(−60) of its largest value.
NEGLIGIBLE, NODES = 60.0, 200


@dataclass(frozen=True)
class Tolerance:
    """Tolerance of a good enough fit, and the decay of the likelihood beyond."""

    objective: str = setting(
        SQUARED_ERROR.key,
        "Objective f",
        "Objective f: squared Frobenius error, generalised Kullback–Leibler divergence or "
        "Itakura–Saito divergence of X from AW.",
        choices=tuple(OBJECTIVES),
    )
    epsilon: float | None = setting(
        None,
        "Threshold ε",
        "Factorizations with f well below ε are all equally likely. Empty: 1.2 times the largest "
        "f of 50 NMFs from random starts.",
        minimum=1e-200,
    )
    beta: float = setting(
        0.1,
        "Smoothness β",
        "The loss begins at (1 − β)ε and has its full slope from (1 + β)ε on.",
        minimum=1e-6,
        maximum=1.0,
    )
    C: float = setting(
        2.0, "Steepness C", "How fast the log-likelihood falls beyond the threshold.", minimum=1e-12
    )


@dataclass(frozen=True)
class Settings(priors.RateOfWeights, Tolerance):
    """Settings of the silf model."""


def loss(settings: Tolerance) -> Loss:
    """The objective f."""
    return OBJECTIVES[settings.objective]


def silf(y: ArrayLike, epsilon: float, beta: float) -> np.ndarray:
    """Soft insensitive loss of y ≥ 0, entry by entry (paper 3, §5.2).

    0 up to (1 − β)ε, (y − (1 − β)ε)²/(4βε) up to (1 + β)ε, y − ε beyond.
    """
    y = np.asarray(y, dtype=np.float64)
    bend = np.clip(y - (1 - beta) * epsilon, 0.0, 2 * beta * epsilon)
    straight = np.maximum(y - (1 + beta) * epsilon, 0.0)
    return bend * (bend / (4 * beta * epsilon)) + straight


def silf_slope(y: ArrayLike, epsilon: float, beta: float) -> np.ndarray:
    """The derivative of :func:`silf`: from 0 at (1 − β)ε to 1 at (1 + β)ε in a straight line."""
    y = np.asarray(y, dtype=np.float64)
    return np.clip((y - (1 - beta) * epsilon) / (2 * beta * epsilon), 0.0, 1.0)


def silf_bend(y: ArrayLike, epsilon: float, beta: float) -> np.ndarray:
    """The derivative of :func:`silf_slope`; at a joint, where there is none, 0."""
    slope = silf_slope(y, epsilon, beta)
    return np.where((slope > 0) & (slope < 1), 1 / (2 * beta * epsilon), 0.0)


def resolve(dataset: Dataset, rank: int, settings: Settings) -> Settings:
    """Take an open ε from the data: paper 3, §6.1."""
    if settings.epsilon is not None:
        return settings
    largest = _largest_reference(dataset, rank, settings.objective)
    smallest = SMALLEST_RELATIVE_EPSILON * loss(settings).size(dataset)
    return replace(settings, epsilon=float(max(MARGIN * largest, smallest)))


def _largest_reference(dataset: Dataset, rank: int, objective: str) -> float:
    # Several runs of the same data begin side by side, and 50 NMFs can take a minute.
    key = (dataset.hash, rank, objective)
    largest = _known.get(key)
    if largest is None:
        largest = float(reference_values(dataset, rank, REFERENCES, OBJECTIVES[objective]).max())
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        _known[key] = largest
    return largest


def objective(problem: Problem, A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """f of each particle, (M,): A (M, D, R), W (M, R, N)."""
    return loss(problem.model_settings).values(problem, A, W)


def log_normaliser(problem: Problem) -> float:
    """log Z for the squared Frobenius error, over all real X; 0, in its place, for the others."""
    chosen, data = problem.model_settings, problem.dataset
    if chosen.objective != SQUARED_ERROR.key:
        return 0.0
    entries = data.D * data.N - data.missing
    return _log_radial_integral(entries, chosen.epsilon, chosen.beta, chosen.C)


@lru_cache(maxsize=256)
def _log_radial_integral(entries: int, epsilon: float, beta: float, C: float) -> float:
    """log ∫ exp(−C·SILF(‖E‖²)) dE over E in n = ``entries`` dimensions.

    The sphere's area leaves π^(n/2)/Γ(n/2) ∫ exp(h(s)) ds, h(s) = (n/2)s − C·SILF(eˢ) with
    s = log ‖E‖². h is concave and analytic between the joints: Gauss–Legendre on each piece.
    """
    half = 0.5 * entries
    joints = [np.log(y) for y in ((1 - beta) * epsilon, (1 + beta) * epsilon) if y > 0]

    def height(s: np.ndarray) -> np.ndarray:
        return half * s - C * silf(np.exp(s), epsilon, beta)

    def slope(s: np.ndarray) -> np.ndarray:
        y = np.exp(s)
        return half - C * y * silf_slope(y, epsilon, beta)

    # Beyond (1 + β)ε the slope is n/2 − C·y, so it is below zero at the upper end.
    upper = np.log(max((1 + beta) * epsilon, half / C)) + 1e-3
    lower = upper - 1.0
    while slope(lower) <= 0:
        lower -= 1.0
    peak = optimize.brentq(slope, lower, upper, xtol=1e-14)
    top = height(peak)
    ends = []
    for direction in (-1.0, 1.0):
        reach = 1.0 / half
        while height(peak + direction * reach) > top - NEGLIGIBLE:
            reach *= 1.5
        ends.append(peak + direction * reach)
    inside = [s for s in joints if ends[0] < s < ends[1]]
    edges = np.sort([*ends, peak, *inside])
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    widths = 0.5 * np.diff(edges)[:, None]
    at = edges[:-1, None] + widths * (nodes + 1.0)
    integral = float((np.exp(height(at) - top) * weights * widths).sum())
    return half * np.log(np.pi) - float(gammaln(half)) + float(top) + np.log(integral)


def _relative_error(settings: Settings, squared_norm: float) -> float | None:
    if settings.objective != SQUARED_ERROR.key or settings.epsilon is None:
        return None
    return float(np.sqrt(settings.epsilon / squared_norm))


THRESHOLD = Threshold(
    values=objective,
    epsilon=lambda settings: settings.epsilon,
    label=lambda settings: f"objective f ({settings.objective.replace('_', ' ')})",
    likelihood=lambda settings, f: np.exp(-settings.C * silf(f, settings.epsilon, settings.beta)),
    softness=lambda settings: settings.beta,
    relative_error=_relative_error,
    help="Left of the threshold every factorization is equally likely; how fast it falls beyond is "
    "set by C and β.",
)


def unnormalised(dataset: Dataset, settings: Tolerance) -> str:
    """Why Z is not known: it would depend on A and W; "" for the squared error."""
    if settings.objective == SQUARED_ERROR.key:
        return ""
    return (
        f"With the {loss(settings).label} as its objective the threshold likelihood has no known "
        "normaliser."
    )


def _times_C(h: Callable[[ArrayLike, float, float], np.ndarray]) -> composed.Curve:
    def curve(problem: Problem, f: np.ndarray) -> np.ndarray:
        chosen = problem.model_settings
        return chosen.C * h(f, chosen.epsilon, chosen.beta)

    return curve


LIKELIHOOD = composed.Likelihood(
    loss=loss,
    resolve=resolve,
    curve=(_times_C(silf), _times_C(silf_slope), _times_C(silf_bend)),
    constant=lambda problem: -log_normaliser(problem),
    unnormalised=unnormalised,
    extras={"threshold": THRESHOLD},
)
MODEL = composed.model(
    LIKELIHOOD,
    priors.SIMPLEX,
    Settings,
    key="silf",
    label="Soft ε-threshold (SILF), columns of A sum to one",
    summary="Every factorization that fits well enough is equally probable; beyond the "
    "threshold the probability falls. Every column of A is a distribution over the features, "
    "so the scale is in W alone.",
    reference="paper 3, §5.2; Chu, Keerthi & Ong 2004 for the loss",
)
