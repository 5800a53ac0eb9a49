"""Estimates of the number of modes that no restart has found.

Independent restarts draw modes as a biologist draws species: each mode k with its own unknown
probability, the size of its basin. What was found once or twice tells of what was not found:

- Good–Turing (Good 1953): the next restart finds a new mode with probability f₁/n, where f₁ modes
  were found exactly once in n restarts.
- Chao1 (Chao 1984, bias-corrected: Chao 2005): at least (n − 1)/n · f₁(f₁ − 1)/(2(f₂ + 1)) modes
  were not found, where f₂ were found exactly twice.
- The discovery curve: modes among the first m restarts, on average over their order (Hurlbert
  1971), and beyond n by the estimate of Chao, Gotelli, Hsieh and others (2014).

Resampling the restarts themselves would never find what they did not. The bootstrap therefore
draws from the estimated population of Chao, Wang & Jost (2013, appendix): modes that were found,
their probabilities shrunk, and as many unseen ones as are estimated.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import gammaln

from bnmf_core.core.errors import DataError, SettingsError
from bnmf_core.lazy import lazy

stats = lazy("scipy.stats")

CURVE_POINTS = 50
# Beyond twice the restarts an extrapolation depends on little but its assumptions.
EXTRAPOLATED_TO = 2.0
# More unseen modes than this are drawn as this many; the estimate itself is not bounded.
MOST_UNSEEN_DRAWN = 10_000


@dataclass(frozen=True, eq=False)
class Unseen:
    """Estimates of the modes that restarts have not found.

    Attributes
    ----------
    restarts : n, how many count. found : modes among them.
    once, twice : how many modes were found exactly once, exactly twice.
    new_probability : that the next restart finds a new mode, with its interval (lower, upper).
    number : estimated number of modes, found ones included, with its interval. On average a lower
        bound: many modes that are rarer than those found once look the same as none.
    level : of both intervals, such as 0.95.
    curve : columns ``restarts``, ``modes``, ``lower``, ``upper`` and ``extrapolated``.
    """

    restarts: int
    found: int
    once: int
    twice: int
    new_probability: float
    new_probability_interval: tuple[float, float]
    number: float
    number_interval: tuple[float, float]
    level: float
    curve: pd.DataFrame


def unseen_modes(
    labels: ArrayLike,
    counted: ArrayLike | None = None,
    level: float = 0.95,
    replicates: int = 1000,
    rng: np.random.Generator | None = None,
) -> Unseen:
    """Estimate how many modes there are, and whether the next restart finds a new one.

    Only independent restarts may count: draws of a chain repeat the mode they are in. Restarts that
    have not converged look like modes of their own, so leave them out by ``counted``.

    The interval of the probability is that of the error of Good–Turing in the bootstrap, where the
    truth is known; its upper end is at least 1 − (1 − level)^(1/n), the probability of a mode that
    n restarts would miss that seldom (for 95 % about 3/n). The interval of the number is
    log-normal (Chao 1987) with the standard error of the bootstrap.

    Parameters
    ----------
    labels : (M,) the mode of each restart, as ``find_modes(…).labels``.
    counted : (M,) bool, which restarts count; all when left out.
    level : of the intervals, between 0 and 1. replicates : of the bootstrap, at least 10.
    rng : of the bootstrap; None is ``np.random.default_rng(0)``.

    Raises
    ------
    DataError
        When no restart counts or the shapes do not fit.
    SettingsError
        For a level outside (0, 1) or fewer than 10 replicates.

    Examples
    --------
    >>> from bnmf_core import unseen_modes
    >>> unseen = unseen_modes([0, 0, 0, 0, 0, 1, 1, 2, 3, 4])
    >>> unseen.found, unseen.new_probability, round(unseen.number, 2)
    (5, 0.3, 6.35)
    """
    if not 0 < level < 1:
        raise SettingsError(f"The level of an interval was {level}; it lies between 0 and 1.")
    if replicates < 10:
        raise SettingsError(f"A bootstrap of {replicates} tells nothing; choose 10 or more.")
    counts = _counts(labels, counted)
    n, found = int(counts.sum()), counts.size
    once, twice = int((counts == 1).sum()), int((counts == 2).sum())
    unseen = chao1(counts) - found
    population = _population(counts)
    rng = np.random.default_rng(0) if rng is None else rng
    drawn = rng.multinomial(n, population, size=replicates)
    within = np.linspace(1, n, min(n, CURVE_POINTS)).round().astype(int)
    beyond = np.linspace(n, int(EXTRAPOLATED_TO * n), min(n, CURVE_POINTS) + 1).round().astype(int)
    grid = np.unique(np.concatenate([within, beyond]))
    curves = np.array([_discovery(row[row > 0], grid) for row in drawn])
    deviation = curves.std(axis=0)
    modes = _discovery(counts, grid)
    reach = float(stats.norm.ppf(0.5 + 0.5 * level))
    curve = pd.DataFrame(
        {
            "restarts": grid,
            "modes": modes,
            # As the curve itself, its lower end cannot fall.
            "lower": np.maximum.accumulate(np.maximum(modes - reach * deviation, 1.0)),
            "upper": modes + reach * deviation,
            "extrapolated": grid > n,
        }
    )
    return Unseen(
        restarts=n,
        found=found,
        once=once,
        twice=twice,
        new_probability=once / n,
        new_probability_interval=_probability_interval(once / n, drawn, population, level),
        number=found + unseen,
        number_interval=_number_interval(found, unseen, drawn, reach),
        level=level,
        curve=curve,
    )


def chao1(counts: np.ndarray) -> float:
    """Bias-corrected Chao1 number of modes, of how often each found one was found (K,)."""
    n, once, twice = counts.sum(), (counts == 1).sum(), (counts == 2).sum()
    return float(counts.size + (n - 1) / n * once * (once - 1) / (2 * (twice + 1)))


def _counts(labels: ArrayLike, counted: ArrayLike | None) -> np.ndarray:
    labels = np.asarray(labels)
    mask = np.ones(labels.shape, bool) if counted is None else np.asarray(counted, bool)
    if labels.ndim != 1 or mask.shape != labels.shape:
        raise DataError(
            f"Modes {labels.shape} and which restarts count {mask.shape} have to be one value for "
            "each restart."
        )
    if not mask.any():
        raise DataError(
            "No restart counts: none of them has converged. Let them run for longer, then count."
        )
    return np.unique(labels[mask], return_counts=True)[1]


def _population(counts: np.ndarray) -> np.ndarray:
    """Probabilities of the found modes, in order, then of the unseen ones: they sum to 1.

    Chao, Wang & Jost (2013): the found ones keep 1 − Ĉ less, each shrunk by its chance of having
    been missed. A single mode found once tells of one unseen mode at least.
    """
    n, once = counts.sum(), (counts == 1).sum()
    share = counts / n
    if not once:
        return share
    unseen = max(chao1(counts) - counts.size, 1.0)
    missing = once / n * (n * unseen / (n * unseen + once))
    missed = share * (1 - share) ** n
    # One restart, or one mode for all: (1 − p)ⁿ is 0, and the mode is shrunk as a whole.
    shrunk = share * (1 - missing) if not missed.any() else share - missing * missed / missed.sum()
    number = min(int(np.ceil(unseen)), MOST_UNSEEN_DRAWN)
    population = np.concatenate([np.maximum(shrunk, 0.0), np.full(number, missing / number)])
    return population / population.sum()


def _probability_interval(
    estimate: float, drawn: np.ndarray, population: np.ndarray, level: float
) -> tuple[float, float]:
    """Interval of the probability of all that was not found; drawn (B, modes), of n each."""
    n = drawn[0].sum()
    errors = (drawn == 1).sum(axis=1) / n - (drawn == 0) @ population
    low, high = np.quantile(errors, [0.5 - 0.5 * level, 0.5 + 0.5 * level])
    smallest = 1 - (1 - level) ** (1 / n)
    lower, upper = max(estimate - max(high, 0.0), 0.0), max(estimate - min(low, 0.0), smallest)
    return float(lower), float(min(upper, 1.0))


def _number_interval(
    found: int, unseen: float, drawn: np.ndarray, reach: float
) -> tuple[float, float]:
    """Log-normal interval of the number of modes (Chao 1987), never below those found."""
    estimates = np.array([chao1(row[row > 0]) for row in drawn])
    error = float(estimates.std())
    if unseen <= 0:
        # Nothing is estimated to be unseen, and a ratio has no meaning.
        return float(found), found + reach * error
    ratio = float(np.exp(reach * np.sqrt(np.log1p((error / unseen) ** 2))))
    # Modes are whole: without the floor, no lower end would allow that all were found.
    return float(np.floor(found + unseen / ratio)), found + unseen * ratio


def _discovery(counts: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Expected number of modes in as many restarts as the grid says, (G,).

    Up to n, exactly: each mode is missed by m of the n restarts with the hypergeometric probability
    C(n − n_k, m)/C(n, m). Beyond: found + f̂₀(1 − (1 − f₁/(n f̂₀ + f₁))^(m − n)).
    """
    n, once = int(counts.sum()), int((counts == 1).sum())
    unseen = chao1(counts) - counts.size
    m = np.minimum(grid, n)[:, None]
    rest = n - counts[None, :]
    possible = rest >= m
    log_missed = (
        gammaln(rest + 1)
        - gammaln(np.where(possible, rest - m, 0) + 1)
        - gammaln(n + 1)
        + gammaln(n - m + 1)
    )
    modes: np.ndarray = counts.size - np.where(possible, np.exp(log_missed), 0.0).sum(axis=1)
    if unseen > 0:
        beyond = np.maximum(grid - n, 0)
        modes = modes + unseen * (1 - (1 - once / (n * unseen + once)) ** beyond)
    return modes
