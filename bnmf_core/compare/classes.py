"""Mean shares of components by class of observations and by period."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bnmf_core.core.dates import PERIODS
from bnmf_core.core.names import listed, percent
from bnmf_core.lazy import lazy

stats = lazy("scipy.stats")

# Periods that a chart has room for, and observations that one needs on average; so many a class
# needs, too.
MOST_PERIODS, FEWEST = 40, 5
# Number of classes that a sentence lists.
MOST_LISTED = 3
# p-value above which a difference between classes is not significant.
LEVEL = 0.05


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

    def most_typical(self) -> tuple[int, int] | None:
        """Component and class where mean (R, C) is farthest above that of other classes.

        Of classes with ``FEWEST`` observations; None where there are none.
        """
        enough = self.counts >= FEWEST
        if not enough.any():
            return None
        above = np.where(enough, self.mean - self.outside, -np.inf)
        r, c = np.unravel_index(np.argmax(above), above.shape)
        return int(r), int(c)


def class_labels(labels: Mapping[str, np.ndarray]) -> list[str]:
    """Names of labels, those first that sort observations into classes of a few at least.

    labels : name → (N,) strings, "" for none. Names or dates of observations come last.

    >>> import numpy as np
    >>> class_labels({"date": np.array(list("abcdef")), "party": np.array(list("xxxyyy"))})
    ['party', 'date']
    """

    def few(name: str) -> bool:
        held = labels[name][labels[name] != ""]
        return 2 <= np.unique(held).size <= held.size / 3

    return sorted(labels, key=lambda name: not few(name))


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


def class_chances(shares: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(R,) p by which a component's shares differ between classes by chance alone.

    Tests of Kruskal & Wallis (1952), each p multiplied by R (Bonferroni), over classes of
    ``FEWEST`` observations; 1 where fewer than two have so many. The shares are taken as known.

    shares : (R, N). labels : (N,) strings, "" for no class.
    """
    names, counts = np.unique(labels[labels != ""], return_counts=True)
    groups = [shares[:, labels == name] for name in names[counts >= FEWEST]]
    chances = np.ones(len(shares))
    for r in range(len(shares)) if len(groups) > 1 else ():
        if np.ptp(np.concatenate([of[r] for of in groups])) > 0:
            chances[r] = stats.kruskal(*(of[r] for of in groups)).pvalue
    return np.minimum(chances * len(shares), 1.0)


def describe_typical(found: ClassShares, chances: np.ndarray, called: Sequence[str]) -> str:
    """Sentence on the component most typical of a class, if by more than chance.

    found : of one factorization, (R, C). chances : of :func:`class_chances`. called : R names.
    """
    chosen = found.most_typical()
    if chosen is None:
        return f"No class has {FEWEST} observations, so that no component is called typical of one."
    r, c = chosen
    if chances.min() > LEVEL:
        return (
            "No component differs between the classes by more than chance leaves "
            f"(Kruskal–Wallis tests, the smallest p is {chances.min():.2g})."
        )
    return (
        f"Component {called[r]} is most typical of {found.classes[c]}: its mean share is "
        f"{percent(found.mean[r, c])} in these {found.counts[c]:,} observations and "
        f"{percent(found.outside[r, c])} elsewhere."
    )


def describe_usage(
    means: Mapping[str, np.ndarray], component: int, modes: Sequence[str], chance: float = 0.0
) -> str:
    """In which class a component is largest, and whether that depends on the mode; a sentence.

    means : class → (K, R) mean shares in K modes with matched components. chance : see
    :func:`class_chances`.
    """
    names, table = list(means), np.array([of[:, component] for of in means.values()])
    order = np.argsort(-table[:, 0], kind="stable")
    shares = [f"{names[c]} ({percent(float(table[c, 0]))})" for c in order]
    more = ["less in others"] * (len(shares) > MOST_LISTED)
    shown = listed([*shares[:MOST_LISTED], *more])
    text = f"Mean share in {modes[0]}, by class: {shown}."
    largest = table.argmax(axis=0)
    if chance > LEVEL:
        return (
            f"{text} Chance alone leaves such differences (Kruskal–Wallis test, p = {chance:.2g})."
        )
    if len(modes) == 1:
        return text
    if (largest == largest[0]).all():
        return f"{text} It is largest for {names[largest[0]]} in all {len(modes)} modes."
    k = int(np.flatnonzero(largest != largest[0])[0])
    return (
        f"{text} The class with the largest depends on the mode: {names[largest[k]]} "
        f"({percent(float(table[largest[k], k]))}) in {modes[k]}."
    )


@dataclass(frozen=True, eq=False)
class PeriodShares:
    """Mean shares of R components over P periods, in their order.

    Attributes
    ----------
    periods : (P,) where each begins. unit : "day", "month", "year", "decade" or "century".
    counts : (P,) their observations. mean, error : (R, P) mean share and its standard error, which
        is NaN for one observation. chances : (R,) of :func:`class_chances`, of the periods.
    """

    periods: np.ndarray
    unit: str
    counts: np.ndarray
    mean: np.ndarray
    error: np.ndarray
    chances: np.ndarray


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
    chances = class_chances(shares, begins.astype(str))
    return PeriodShares(periods.astype("datetime64[D]"), unit, counts, mean, error, chances)
