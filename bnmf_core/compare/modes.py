"""Modes: groups of factorizations that tell the same story.

Complete linkage cut at a threshold: any two members of a mode are at most the threshold
apart, so the threshold has a meaning in the distance's own unit.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bnmf_core.compare.coverage import checked_distances
from bnmf_core.nouns.errors import DataError, SettingsError

# Distances below this are rounding, in degrees as in ℓ1 units.
NEGLIGIBLE = 1e-6
# A gap between merge heights counts as clear from this part of the largest height on.
CLEAR_GAP = 0.3


@dataclass(frozen=True, eq=False)
class Modes:
    """K modes of M factorizations, the largest share first.

    Attributes
    ----------
    labels : (M,) mode of each factorization, 0-based.
    share : (K,) probability of each mode, summing to 1. size : (K,) number of members.
    representative : (K,) index of the member closest, on weighted average, to its mode.
    spread_mean, spread_max : (K,) weighted mean and largest distance to the representative.
    separation : (K, K) distances between representatives.
    threshold : any two members of a mode are at most this far apart.
    """

    labels: np.ndarray
    share: np.ndarray
    size: np.ndarray
    representative: np.ndarray
    spread_mean: np.ndarray
    spread_max: np.ndarray
    separation: np.ndarray
    threshold: float

    @property
    def count(self) -> int:
        """Number of modes, K."""
        return self.share.size

    def members(self, mode: int) -> np.ndarray:
        """Indices of the factorizations in a mode."""
        return np.flatnonzero(self.labels == mode)

    def table(self) -> pd.DataFrame:
        """One row per mode; ``nearest`` is the distance to the closest other representative."""
        others = self.separation + np.diag(np.full(self.count, np.inf))
        nearest = others.min(axis=1)
        return pd.DataFrame(
            {
                "mode": np.arange(self.count),
                "share": self.share,
                "size": self.size,
                "representative": self.representative,
                "spread_mean": self.spread_mean,
                "spread_max": self.spread_max,
                "nearest": np.where(np.isfinite(nearest), nearest, np.nan),
            }
        )


def linkage(distances: np.ndarray) -> np.ndarray:
    """Complete-linkage merge tree of (M, M) distances, in SciPy's format (M − 1, 4).

    Computed once, it gives the modes at every threshold.
    """
    return _complete_linkage(checked_distances(distances))


def find_modes(
    distances: np.ndarray,
    threshold: float,
    weights: np.ndarray | None = None,
    linkage: np.ndarray | None = None,
) -> Modes:
    """Group factorizations so that any two of a group are at most ``threshold`` apart.

    Parameters
    ----------
    distances : (M, M) symmetric distances.
    threshold : ≥ 0, in the distances' unit.
    weights : (M,) probabilities, uniform when left out; scaled to sum to 1.
    linkage : what :func:`linkage` returned for these distances, to save its time.

    Raises
    ------
    SettingsError
        For a negative threshold.
    DataError
        When the distances are not distances, or the weights do not fit them.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core import find_modes
    >>> apart = np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 9.0], [9.0, 9.0, 0.0]])
    >>> modes = find_modes(apart, threshold=2.0)
    >>> modes.count, modes.labels, modes.share.round(2)
    (2, array([0, 0, 1]), array([0.67, 0.33]))
    """
    from scipy.cluster import hierarchy  # noqa: PLC0415  (slow to import)

    distances = checked_distances(distances)
    M = distances.shape[0]
    if not threshold >= 0:
        raise SettingsError(f"The threshold between modes was {threshold}; it must be ≥ 0.")
    weights = _checked_weights(weights, M)
    tree = _complete_linkage(distances) if linkage is None else linkage
    if tree.shape != (M - 1, 4):
        raise DataError(f"A merge tree of {M} factorizations is {M - 1}×4, not {tree.shape}.")
    found = np.zeros(1, int) if M == 1 else hierarchy.fcluster(tree, threshold, "distance")
    _, first, labels, size = np.unique(
        found, return_index=True, return_inverse=True, return_counts=True
    )
    share = np.bincount(labels, weights=weights)
    # Largest share first; of equal ones, the one whose first member comes first.
    order = np.lexsort((first, -np.round(share, 12)))
    position = np.argsort(order)
    labels = position[labels]
    share, size = share[order], size[order]
    medoids = [_medoid(distances, np.flatnonzero(labels == k), weights) for k in range(share.size)]
    representative = np.array([medoid[0] for medoid in medoids])
    return Modes(
        labels=labels,
        share=share,
        size=size,
        representative=representative,
        spread_mean=np.array([medoid[1] for medoid in medoids]),
        spread_max=np.array([medoid[2] for medoid in medoids]),
        separation=distances[np.ix_(representative, representative)],
        threshold=float(threshold),
    )


def suggest_threshold(linkage_or_distances: np.ndarray) -> float:
    """A threshold to start looking from: the middle of the largest gap between merge heights.

    Groups that are far apart for their size merge late, and leave a gap in the heights. A gap
    counts when it is at least 30 % of the largest height. Without such a gap, half the largest
    height is returned: no grouping stands out, and the value only starts the search. When all
    distances are rounding, the value puts everything into one mode. A heuristic: look at
    neighbouring thresholds too.

    Parameters
    ----------
    linkage_or_distances : (M − 1, 4) from :func:`linkage`, or (M, M) distances.
    """
    given = np.asarray(linkage_or_distances)
    # The last merge of a tree holds all M = (number of merges + 1) factorizations; a 4×4
    # matrix of distances has a zero there.
    is_tree = given.ndim == 2 and given.shape[1] == 4
    is_tree = is_tree and (len(given) == 0 or given[-1, 3] == len(given) + 1)
    heights = (given if is_tree else linkage(given))[:, 2]
    largest = float(heights.max(initial=0.0))
    if largest <= NEGLIGIBLE:
        return NEGLIGIBLE
    heights = np.sort(heights)
    gaps = np.diff(heights)
    if not gaps.size or gaps.max() < CLEAR_GAP * largest:
        return largest / 2.0
    widest = int(np.argmax(gaps))
    return float((heights[widest] + heights[widest + 1]) / 2.0)


def _complete_linkage(distances: np.ndarray) -> np.ndarray:
    if distances.shape[0] == 1:
        return np.empty((0, 4))
    from scipy.cluster import hierarchy  # noqa: PLC0415  (slow to import)
    from scipy.spatial.distance import squareform  # noqa: PLC0415  (slow to import)

    return hierarchy.linkage(squareform(distances, checks=False), "complete")


def _checked_weights(weights: np.ndarray | None, M: int) -> np.ndarray:
    if weights is None:
        return np.full(M, 1.0 / M)
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != (M,) or not np.isfinite(weights).all():
        raise DataError(f"{M} factorizations need {M} finite weights; got {weights.shape}.")
    if weights.min() < 0 or weights.sum() <= 0:
        raise DataError("The weights of factorizations must be ≥ 0 and not all zero.")
    return weights / weights.sum()


def _medoid(
    distances: np.ndarray, members: np.ndarray, weights: np.ndarray
) -> tuple[int, float, float]:
    inside = distances[np.ix_(members, members)]
    mass = weights[members]
    if mass.sum() <= 0:
        mass = np.ones(members.size)
    average = inside @ (mass / mass.sum())
    best = int(np.argmin(average))
    return int(members[best]), float(average[best]), float(inside[best].max())
