"""What the weights say of classes of observations, and of periods: mean shares of components."""

from dataclasses import dataclass

import numpy as np

from bnmf_core.core.dates import PERIODS

# Periods that a chart has room for, and observations that one needs on average.
MOST_PERIODS, FEWEST = 40, 5


@dataclass(frozen=True, eq=False)
class ClassShares:
    """Mean shares of R components in C classes.

    Attributes
    ----------
    classes : C values of a label, the most frequent first. counts : (C,) their observations.
    mean : (…, R, C) mean share in each class. outside : (…, R, C) in all other classes together.
    """

    classes: tuple[str, ...]
    counts: np.ndarray
    mean: np.ndarray
    outside: np.ndarray

    def most_typical(self) -> tuple[int, int]:
        """Component and class where mean (R, C) is farthest above that of other classes."""
        r, c = np.unravel_index(np.argmax(self.mean - self.outside), self.mean.shape)
        return int(r), int(c)


def class_shares(shares: np.ndarray, labels: np.ndarray) -> ClassShares:
    """Mean share of each component in each class of a label.

    Parameters
    ----------
    shares : (…, R, N), see :func:`~bnmf_core.compare.samples.sample_shares`. labels : (N,) strings;
        "" has no class. Observations without shares, all 0, count nowhere.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core.compare.classes import class_shares
    >>> shares = np.array([[0.75, 0.25, 0.0], [0.25, 0.75, 1.0]])
    >>> found = class_shares(shares, np.array(["sport", "sport", "politics"]))
    >>> found.classes, found.mean.tolist()
    (('sport', 'politics'), [[0.5, 0.0], [0.5, 1.0]])
    """
    held = (labels != "") & (shares.sum(axis=-2) > 0).reshape(-1, labels.size).all(axis=0)
    names, place, counts = np.unique(labels[held], return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    member = (place[:, None] == order).astype(float)
    sums, counts = shares[..., held] @ member, counts[order]
    others = np.maximum(counts.sum() - counts, 1)
    outside = (sums.sum(axis=-1, keepdims=True) - sums) / others
    return ClassShares(tuple(names[order].tolist()), counts, sums / counts, outside)


@dataclass(frozen=True, eq=False)
class PeriodShares:
    """Mean shares of R components over P periods, in their order.

    Attributes
    ----------
    periods : (P,) where each begins. unit : "day", "month", "year", "decade" or "century".
    counts : (P,) their observations. mean, error : (R, P) mean share and its standard error, which
        is NaN for one observation.
    """

    periods: np.ndarray
    unit: str
    counts: np.ndarray
    mean: np.ndarray
    error: np.ndarray


def period_shares(shares: np.ndarray, dates: np.ndarray) -> PeriodShares:
    """Mean share of each component in each period, with its standard error.

    The periods are the shortest of which there are at most 40, with 5 observations or more on
    average.

    Parameters
    ----------
    shares : (R, N). dates : (N,) datetime64; NaT has no period. Observations without shares, all 0,
        count nowhere.
    """
    held = ~np.isnat(dates) & (shares.sum(axis=0) > 0)
    shares, dates = shares[:, held], dates[held]
    units = list(PERIODS)
    # Years are no days: a unit is left out where the next one says the same.
    while len(units) > 1 and (dates.astype(f"datetime64[{PERIODS[units[1]]}]") == dates).all():
        units = units[1:]
    for unit in units:
        begins = dates.astype(f"datetime64[{PERIODS[unit]}]")
        periods, place, counts = np.unique(begins, return_inverse=True, return_counts=True)
        if periods.size <= min(MOST_PERIODS, dates.size / FEWEST):
            break
    member = (place[:, None] == np.arange(periods.size)).astype(float)
    mean = shares @ member / counts
    squares = (shares - mean[:, place]) ** 2 @ member
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.sqrt(squares / (counts - 1) / counts)
    error[:, counts == 1] = np.nan
    return PeriodShares(periods.astype("datetime64[D]"), unit, counts, mean, error)
