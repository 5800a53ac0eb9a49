"""Matching of components of two analyses: of two cohorts, or of one in two scalings."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bnmf_core.compare.alignment import component_angles, matching
from bnmf_core.compare.distances.costs import angles
from bnmf_core.compare.distances.scaling import unit_l2_columns
from bnmf_core.compare.modes import SAME_MODE
from bnmf_core.compare.topics import top_indices
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError
from bnmf_core.core.names import listed
from bnmf_core.data.matching import SharedFeatures
from bnmf_core.lazy import lazy
from bnmf_core.numerics.matrix import dense

optimize = lazy("scipy.optimize")

# Strongest features that are compared, fewer of data with few features; those that are named.
STRONGEST, PART, MOST_NAMED = 20, 4, 5
# Columns that tell whether two datasets hold the same samples in other scalings, and degrees.
MOST_COLUMNS, TURNED = 50, 1.0


@dataclass(frozen=True, eq=False)
class Analyses:
    """R components of one analysis matched with S of another, over their common features.

    Attributes
    ----------
    angles : (R, S) degrees between components of the best modes.
    partner : (R,) component of the second that is matched with each of the first; −1 for none.
    nearest, nearest_back : (R,) and (S,) degrees from each component to the nearest one in any
        mode of the other analysis.
    spread, spread_back : (R,) and (S,) degrees from each component to its farthest partner in the
        other modes of its own analysis; 0 where there are none.
    strongest, strongest_back : (R, c) and (S, c) the strongest of the shared features of each.
    overlap : (R, S) their Jaccard index. chance : about what lists of c drawn at random have.
    """

    angles: np.ndarray
    partner: np.ndarray
    nearest: np.ndarray
    nearest_back: np.ndarray
    spread: np.ndarray
    spread_back: np.ndarray
    strongest: np.ndarray
    strongest_back: np.ndarray
    overlap: np.ndarray
    chance: float

    @property
    def matched(self) -> np.ndarray:
        """(R,) degrees to the partner; NaN without one."""
        found = np.take_along_axis(self.angles, self.partner[:, None], axis=1)[:, 0]
        return np.where(self.partner >= 0, found, np.nan)

    @property
    def same(self) -> np.ndarray:
        """(R,) True where the partner is within 15°."""
        return np.asarray(self.matched <= SAME_MODE)


def match_analyses(first: np.ndarray, second: np.ndarray) -> Analyses:
    """Match components of the best modes, and judge them by all modes of both analyses.

    Parameters
    ----------
    first : (K, D, R) bases of the modes of one analysis, the best first. second : (L, D, S).
        Rows are the features that both have, in one order.

    Raises
    ------
    DataError
        When the numbers of features differ.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core.compare.analyses import match_analyses
    >>> found = match_analyses(np.eye(3)[None, :, :2], np.eye(3)[None, :, [2, 0]])
    >>> found.partner, found.same, found.nearest
    (array([1, 0]), array([ True, False]), array([ 0., 90.]))
    """
    if first.shape[1] != second.shape[1]:
        raise DataError(f"The bases have {first.shape[1]:,} and {second.shape[1]:,} features.")
    every = angles(unit_l2_columns(first), unit_l2_columns(second))
    apart = every[0, 0]
    partner = np.full(first.shape[2], -1)
    rows, columns = optimize.linear_sum_assignment(apart)
    partner[rows] = columns
    count = min(STRONGEST, max(1, first.shape[1] // PART))
    strongest, strongest_back = top_indices(first[0], count), top_indices(second[0], count)
    overlap = np.array([[_jaccard(a, b) for b in strongest_back] for a in strongest])
    common = count**2 / first.shape[1]
    return Analyses(
        apart,
        partner,
        every[0].min(axis=(0, 2)),
        every[:, 0].min(axis=(0, 1)),
        _spread(first),
        _spread(second),
        strongest,
        strongest_back,
        overlap,
        common / (2 * count - common),
    )


def _jaccard(a: np.ndarray, b: np.ndarray) -> float:
    one, other = set(a[a >= 0].tolist()), set(b[b >= 0].tolist())
    return len(one & other) / max(len(one | other), 1)


def _spread(A: np.ndarray) -> np.ndarray:
    found: np.ndarray = component_angles(A, A[0], matching(A, A[0])).max(axis=0)
    return found


def scaled_otherwise(first: Dataset, second: Dataset, shared: SharedFeatures) -> str:
    """Why two datasets seem to be scaled differently, in a sentence; "" where nothing says so.

    Different units, counts against other numbers, or different values of samples of one name.
    """
    if first.unit and second.unit and first.unit != second.unit:
        return f"One is in “{first.unit}”, the other in “{second.unit}”."
    if first.whole_numbers != second.whole_numbers:
        return "One holds whole numbers, the other does not."
    at = {name: n for n, name in enumerate(second.observations)}
    both = [
        (n, at[name])
        for n, name in enumerate(first.observations)
        if name in at and name != f"observation {n + 1}"
    ][:MOST_COLUMNS]
    if not both:
        return ""
    mine, theirs = np.array(both).T
    columns = (
        unit_l2_columns(dense(data.X[rows][:, few])[None])[0]
        for data, rows, few in ((first, shared.first, mine), (second, shared.second, theirs))
    )
    cosine = np.clip(np.vecdot(*columns), -1.0, 1.0)
    if np.degrees(np.arccos(cosine)).max() <= TURNED:
        return ""
    return "Samples of the same name have other values in the other."


def describe_match(
    found: Analyses,
    names: tuple[str, str],
    called: Sequence[str],
    called_back: Sequence[str],
    scaling: str = "",
) -> str:
    """Which components both analyses have, in sentences.

    names : of the two. called, called_back : R and S names of components. scaling : of
    :func:`scaled_otherwise`.
    """
    same = int(found.same.sum())
    sentences = [f"{same} of {len(called)} components of {names[0]} are found in {names[1]}."]
    elsewhere = np.flatnonzero(~found.same & (found.nearest <= SAME_MODE))
    if elsewhere.size:
        few = listed([called[r] for r in elsewhere.tolist()])
        sentences.append(f"Only near another mode or component of {names[1]}: component {few}.")
    back = np.ones(len(called_back), dtype=bool)
    back[found.partner[found.same]] = False
    sides = (
        (0, ~found.same, found.nearest, found.spread, called),
        (1, back, found.nearest_back, found.spread_back, called_back),
    )
    for one, open_, nearest, spread, components in sides:
        lost = np.flatnonzero(open_ & (nearest > SAME_MODE)).tolist()
        if lost:
            far = [
                f"{components[r]} (nearest {nearest[r]:.0f}°"
                + (f", its own modes up to {spread[r]:.0f}° apart)" if spread[r] >= 0.5 else ")")
                for r in lost
            ]
            sentences.append(
                f"Nothing within {SAME_MODE:.0f}° in any mode of {names[1 - one]}: {listed(far)}."
            )
    if scaling:
        pairs = np.flatnonzero(found.partner >= 0)
        overlap = found.overlap[pairs, found.partner[pairs]]
        sentences.append(
            f"The data are scaled differently, which turns all angles. {scaling} Compare the "
            f"{found.strongest.shape[1]} strongest features: matched components share a Jaccard "
            f"index of {overlap.min():.2f} to {overlap.max():.2f} (by chance {found.chance:.2f})."
        )
    return " ".join(sentences)


def match_table(
    found: Analyses,
    names: tuple[str, str],
    called: Sequence[str],
    called_back: Sequence[str],
    features: Sequence[str],
) -> pd.DataFrame:
    """A row for each component of the first: its partner, angles, and features that differ.

    features : names of the shared ones.
    """
    rows = []
    for r, s in enumerate(found.partner.tolist()):
        mine, theirs = found.strongest[r], found.strongest_back[s] if s >= 0 else np.array([], int)
        own = [features[d] for d in mine.tolist() if d >= 0 and d not in theirs]
        other = [features[d] for d in theirs.tolist() if d >= 0 and d not in mine]
        rows.append(
            {
                f"component of {names[0]}": called[r],
                f"component of {names[1]}": called_back[s] if s >= 0 else "none",
                "angle (°)": found.matched[r],
                "nearest in any mode (°)": found.nearest[r],
                "own modes (°)": found.spread[r],
                "shared strongest (Jaccard)": found.overlap[r, s] if s >= 0 else np.nan,
                f"strong in {names[0]} alone": ", ".join(own[:MOST_NAMED]),
                f"strong in {names[1]} alone": ", ".join(other[:MOST_NAMED]),
            }
        )
    return pd.DataFrame(rows).round(2)
