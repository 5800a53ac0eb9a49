"""Does the choice of factorization change a conclusion? The differences between areas under the ROC
curve, with intervals that hold for all tasks at once.

The observations are drawn again, with replacement, many times; each time the areas of all
factorizations are computed on the same draw. The range of the areas (largest less smallest) is a
seminorm, so the range of the true areas differs from the one that is seen by at most the range of
the errors. What that reaches at most, over all tasks in units of each task's own mean, in 95 % of
the draws is what every interval adds and takes away: all of them hold together with 95 %
(simultaneous intervals by the bootstrap of a maximum: Romano & Wolf 2005).
"""

import numpy as np
import pandas as pd

from bnmf_core.core.errors import DataError, SettingsError
from bnmf_core.lazy import lazy

stats = lazy("scipy.stats")

# Areas that differ by less than this lead to the same conclusion.
MARGIN = 0.02
DRAWS = 500
# Simultaneous level of all intervals.
LEVEL = 0.95
# Verdicts on a task: the choice matters, does not, or the observations are too few.
MATTERS, SAME, OPEN = "matters", "does not matter", "open"


def conclusions(
    scores: np.ndarray,
    members: np.ndarray,
    rng: np.random.Generator,
    margin: float = MARGIN,
    draws: int = DRAWS,
) -> pd.DataFrame:
    """Dependence of the area under the ROC curve of every task on the factorization.

    Parameters
    ----------
    scores : (S, n, K) how strongly each of S factorizations says that an observation belongs to
        each class. members : (n, K) bool, which do.
    margin : a difference of areas that is too small to matter. draws : of the observations.

    Returns
    -------
    A row per task: ``areas``, of every factorization; ``reach``, what errors add or take away at
    most, for all tasks together with 95 %; and the columns of :func:`judged`. Of two classes, each
    other's complement, the first one.

    Raises
    ------
    SettingsError
        For fewer than 20 draws or a margin below 0.
    DataError
        When a class has no members or nothing but members, or shapes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core import conclusions
    >>> rng = np.random.default_rng(0)
    >>> members = np.arange(400)[:, None] % 2 == [0, 1]
    >>> good = members + 0.4 * rng.standard_normal((400, 2))
    >>> poor = members + 4.0 * rng.standard_normal((400, 2))
    >>> conclusions(np.stack([good, poor]), members, rng)["verdict"].tolist()
    ['matters']
    """
    if draws < 20 or margin < 0:
        raise SettingsError(
            f"{draws} draws and a margin of {margin:g} were asked for; at least 20 draws are "
            "needed, and the margin must be ≥ 0."
        )
    S, n, K = scores.shape
    if members.shape != (n, K):
        raise DataError(f"{n}×{K} scores of each factorization do not fit members {members.shape}.")
    counts = members.sum(axis=0)
    if (counts == 0).any() or (counts == n).any():
        raise DataError("Every class needs an observation that is in it and one that is not.")
    if K == 2:
        scores, members = scores[:, :, :1], members[:, :1]
    times = rng.multinomial(n, np.full(n, 1 / n), size=draws).astype(float)
    times = np.vstack([np.ones(n), times])  # the observations as they are come first
    areas = np.stack(
        [
            [
                areas_under_curve(scores[s, :, k], members[:, k], times)
                for k in range(len(members.T))
            ]
            for s in range(S)
        ]
    )
    seen = areas[:, :, 0]
    errors = np.ptp(areas[:, :, 1:] - seen[:, :, None], axis=0)  # (K, draws)
    own = np.maximum(np.nanmean(errors, axis=1), np.finfo(float).tiny)
    # A draw without members of a class says nothing of that class.
    worst = np.fmax.reduce(errors / own[:, None], axis=0)
    reach = own * np.nanquantile(worst, LEVEL)
    return judged(pd.DataFrame({"areas": seen.T.tolist(), "reach": reach}), margin=margin)


def judged(
    table: pd.DataFrame, chosen: np.ndarray | None = None, margin: float = MARGIN
) -> pd.DataFrame:
    """How much areas depend on the choice among some of the factorizations.

    Parameters
    ----------
    table : columns ``areas`` and ``reach`` of :func:`conclusions`; fewer factorizations differ by
        no more than all, so that the reach holds for them too. chosen : (S,) bool; None: all.

    Returns
    -------
    The table with the ``lowest`` and ``highest`` area, their ``difference``, ``low`` and ``high``,
    between which the true one lies, and ``verdict``: "matters" where low is above 0 and the
    difference above the margin, "does not matter" where high is below the margin, else "open".
    """
    areas = np.array(table["areas"].tolist())
    areas = areas if chosen is None else areas[:, chosen]
    difference = np.ptp(areas, axis=1)
    # One by itself differs from none.
    reach = table["reach"].to_numpy() * (areas.shape[1] > 1)
    low, high = np.maximum(difference - reach, 0.0), np.minimum(difference + reach, 1.0)
    verdict = np.where((low > 0) & (difference > margin), MATTERS, OPEN)
    return table.assign(
        lowest=areas.min(axis=1),
        highest=areas.max(axis=1),
        difference=difference,
        low=low,
        high=high,
        verdict=np.where(high < margin, SAME, verdict),
    )


def areas_under_curve(scores: np.ndarray, members: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Area under the ROC curve where observation i counts ``times[b, i]`` times: (B,).

    scores (n,), members (n,) bool, times (B, n). Ties count half. NaN where a draw holds no member
    or nothing but members.
    """
    place = stats.rankdata(scores, method="dense").astype(np.int64) - 1
    shape = times.shape[0], int(place.max()) + 1
    weight = np.zeros((2, *shape))
    for which, chosen in enumerate((members, ~members)):
        order = np.flatnonzero(chosen)
        order = order[np.argsort(place[order], kind="stable")]
        steps = np.flatnonzero(np.diff(place[order], prepend=-1))
        weight[which][:, place[order[steps]]] = np.add.reduceat(times[:, order], steps, axis=1)
    inside, outside = weight
    below = np.cumsum(outside, axis=1) - 0.5 * outside
    pairs = inside.sum(axis=1) * outside.sum(axis=1)
    won = np.einsum("bp,bp->b", inside, below)
    return np.divide(won, pairs, out=np.full(shape[0], np.nan), where=pairs > 0)
