"""Modes: groups of factorizations that agree.

Complete linkage cut at a threshold: any two members of a mode are at most the threshold
apart, so the threshold has a meaning in the distance's own unit. Where converged optima are among
them, modes are groups of those; draws and unfinished ones count to the nearest.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bnmf_core.compare.coverage import checked_distances
from bnmf_core.core.errors import DataError, SettingsError
from bnmf_core.lazy import lazy

hierarchy = lazy("scipy.cluster.hierarchy")
distance = lazy("scipy.spatial.distance")

# Optima that are at most so far apart are one mode, degrees of the largest angle.
SAME_MODE = 15.0
# Distances below this are rounding, in degrees as in ℓ1 units.
NEGLIGIBLE = 1e-6
# From the lower to the upper end of a clear gap, at least this factor.
CLEAR_GAP = 3.0
# A threshold inside a gap is at most this part of its upper end.
MARGIN = 0.8
# The finest gap considered, as a fraction of the resolution; the number of steps of the search.
FINEST, STEPS = 0.1, 200


@dataclass(frozen=True, eq=False)
class Modes:
    """K modes of M factorizations, first the one with most of those that make the groups.

    Attributes
    ----------
    labels : (M,) mode of each factorization, 0-based.
    share : (K,) share of the weights in each mode, summing to 1. size : (K,) number of members.
    representative : (K,) index of the member closest, on weighted average, to its mode.
    spread_mean, spread_max : (K,) weighted mean and largest distance to the representative, over
        the members that make the group.
    separation : (K, K) distances between representatives.
    threshold : any two members that make a mode are at most this far apart.
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
    optima: np.ndarray | None = None,
    ends: np.ndarray | None = None,
) -> Modes:
    """Group factorizations so that any two of a group are at most ``threshold`` apart.

    Where optima are among them, these make the groups. Each of the others, a draw or one that has
    not converged, belongs to the mode of the optimum in ``ends``, or of the nearest one.

    Parameters
    ----------
    distances : (M, M) symmetric distances.
    threshold : ≥ 0, in the distances' unit.
    weights : (M,) of each factorization, uniform when left out; scaled to sum to 1.
    linkage : what :func:`linkage` returned for the distances between those that make the groups,
        to save its time.
    optima : (M,) bool, which factorizations are converged optima; None or none: all make groups.
    ends : (M,) index of the optimum that a solver reaches from each of the others; negative where
        that is not known, and the nearest optimum is taken.

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
    distances = checked_distances(distances)
    M = distances.shape[0]
    if not threshold >= 0:
        raise SettingsError(f"The threshold between modes was {threshold}; it must be ≥ 0.")
    weights = _checked_weights(weights, M)
    grouped = np.arange(M) if optima is None or not optima.any() else np.flatnonzero(optima)
    within = distances[np.ix_(grouped, grouped)]
    tree = _complete_linkage(within) if linkage is None else linkage
    count = grouped.size
    if tree.shape != (count - 1, 4):
        raise DataError(
            f"A merge tree of {count} factorizations is {count - 1}×4, not {tree.shape}."
        )
    found = np.zeros(1, int) if count == 1 else hierarchy.fcluster(tree, threshold, "distance")
    nearest = distances[:, grouped].argmin(axis=1)
    if ends is not None:
        position = np.full(M, -1)
        position[grouped] = np.arange(count)
        nearest = np.where(ends >= 0, position[ends], nearest)
    nearest[grouped] = np.arange(count)
    _, first, labels, size = np.unique(
        found[nearest], return_index=True, return_inverse=True, return_counts=True
    )
    share = np.bincount(labels, weights=weights)
    # Draws that count to a mode do not move it; of equal ones, the one that begins first.
    basin = np.bincount(labels[grouped], weights=weights[grouped], minlength=share.size)
    order = np.lexsort((first, -np.round(basin, 12)))
    position = np.argsort(order)
    labels = position[labels]
    share, size = share[order], size[order]
    medoids = [
        _medoid(distances, grouped[labels[grouped] == k], weights) for k in range(share.size)
    ]
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


def suggest_threshold(
    distances: np.ndarray, resolution: float | None = None, least: float = 0.0
) -> float:
    """A threshold to start looking from, which holds still when other restarts are taken.

    From where on two factorizations differ is first a matter of meaning: the threshold is the
    resolution, unless that would merge groups which a gap separates. A gap is a range of distances
    that no two factorizations have, its upper end three times the lower one or more, between two
    groups at least that hold two thirds of all. The threshold then stays a fifth below the upper
    end of the lowest gap. A factorization on its own neither makes a gap nor fills one. Gaps that
    end below a tenth of the resolution, or below ``least``, are ignored.

    Parameters
    ----------
    distances : (M, M) symmetric distances.
    resolution : > 0, see :meth:`~bnmf_core.compare.distances.pairwise.Distance.resolution`. When
        left out, half the largest distance without the factorization that is farthest from the
        others.
    least : how far factorizations may still move; no smaller threshold is suggested.
    """
    distances = checked_distances(distances)
    if resolution is None:
        mask = np.ones(len(distances), bool)
        mask[np.argmax(distances.mean(axis=0))] = len(distances) < 4
        resolution = 0.5 * float(distances[np.ix_(mask, mask)].max())
    chosen = max(resolution, least, NEGLIGIBLE)
    gap = _lowest_gap(distances, max(FINEST * resolution, least, NEGLIGIBLE))
    return chosen if gap is None else max(min(chosen, MARGIN * gap), least)


def _lowest_gap(distances: np.ndarray, smallest: float) -> float | None:
    """The upper end, ``smallest`` or more, of the lowest gap; None without one.

    A gap from c on: of the factorizations with a neighbour up to c, no two are between c and 3 c
    apart, and some are farther. So a pair rules out every c from a third of its distance on, or
    from where both have neighbours, up to its distance.
    """
    M = len(distances)
    largest = float(distances.max())
    if M < 4 or largest <= smallest:
        return None
    first, second = np.triu_indices(M, 1)
    apart = distances[first, second]
    nearest = np.where(np.eye(M, dtype=bool), np.inf, distances).min(axis=1)
    both = np.maximum(nearest[first], nearest[second])
    steps = np.geomspace(smallest / CLEAR_GAP, largest, STEPS)
    begins = np.searchsorted(steps, np.maximum(both, apart / CLEAR_GAP), "left")
    # One on the rounding side of the steps: a pair at c itself is no longer beyond it.
    ends = np.searchsorted(steps, apart * (1 - 1e-9), "left")
    changes = np.zeros(STEPS + 1)
    np.add.at(changes, begins, 1)
    np.add.at(changes, np.maximum(ends, begins), -1)
    # Of a continuum, the few that happen to be closest look like groups far apart.
    most = np.searchsorted(np.sort(nearest), steps, "right") >= 2 * M / 3
    for step in np.flatnonzero((np.cumsum(changes)[:-1] == 0) & most):
        beyond = apart[(both <= steps[step]) & (apart > steps[step])]
        if beyond.size:
            return float(beyond.min())
    return None


def _complete_linkage(distances: np.ndarray) -> np.ndarray:
    if distances.shape[0] == 1:
        return np.empty((0, 4))
    return hierarchy.linkage(distance.squareform(distances, checks=False), "complete")


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
