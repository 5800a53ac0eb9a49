"""The modes of a comparison in numbers.

Three things of a mode that are not the same: how many restarts end in it (its basin), how far its
best point is below the best of all (its height), and how much of the posterior lies in it (its
mass).
"""

import math

import numpy as np
import pandas as pd

from bnmf_core.analysis import distances, optima
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.evidence import Evidence
from bnmf_core.compare.modes import Modes
from bnmf_core.compare.unseen import Unseen, unseen_modes
from bnmf_core.core.errors import DataError

# Number of modes listed per run.
MOST_SHARED = 10
# Modes that may have less of the posterior mass than this do not count.
LITTLE = 0.01


def mode_table(
    comparison: Comparison, metric: str, modes: Modes, evidence: Evidence | None
) -> pd.DataFrame:
    """A row per mode, in the order of :class:`Modes`.

    Columns: ``mode`` (0-based), ``found_by`` (share of the converged restarts that end in it),
    ``draws`` (share of the exact samplers' draws), ``draws_away`` (median distance from them to the
    representative, in the distance's unit), ``below_best`` (nats of log joint from its best member
    to the best of all, under the model of the first run), ``as_good_as_best`` (whether an optimum
    in it fits as well as the best, see :mod:`~bnmf_core.analysis.optima`), ``mass``,
    ``mass_low``, ``mass_high``, ``weighed``, ``stays`` and ``joined`` (see :class:`Evidence`; NaN
    while ``evidence`` is None), ``spread``, ``nearest``, ``size``, ``best_error`` and
    ``representative``.
    """
    members, labels = comparison.members, modes.labels
    converged = comparison.optima
    sampled = members["algorithm"].isin(comparison.exact_samplers).to_numpy()
    table = modes.table().rename(columns={"spread_max": "spread"})
    table["found_by"] = _share(labels, converged, modes.count)
    table["draws"] = _share(labels, sampled, modes.count)
    matrix = distances.STAGE.of(comparison).matrix(metric)
    away = pd.Series(matrix[np.arange(labels.size), modes.representative[labels]])
    table["draws_away"] = away[sampled].groupby(labels[sampled]).median().reindex(table["mode"])
    height = members["log_joint"].where(comparison.same_model).groupby(labels).max()
    table["below_best"] = (height.max() - height).reindex(table["mode"]).to_numpy()
    good = np.bincount(labels, optima.as_good_as_best(comparison), minlength=modes.count)
    table["as_good_as_best"] = good > 0
    # By one measure: that of the first run.
    measured = members["error"].where(comparison.same_loss)
    table["best_error"] = measured.groupby(labels).min().reindex(table["mode"]).to_numpy()
    found = Evidence("") if evidence is None else evidence
    return table.join(found.of_modes(labels))


def share_by_run(comparison: Comparison, modes: Modes, most: int = MOST_SHARED) -> pd.DataFrame:
    """Share of each run in each of the first modes: columns mode (1-based), run, share."""
    weights = comparison.members["weight"].to_numpy()
    shown = min(modes.count, most)
    shares = [
        math.fsum(weights[rows][modes.labels[rows] == mode])
        for rows in comparison.rows_by_run()
        for mode in range(shown)
    ]
    return pd.DataFrame(
        {
            "mode": np.tile(np.arange(1, shown + 1), len(comparison.run_ids)),
            "run": np.repeat(comparison.run_ids, shown),
            "share": shares,
        }
    )


def _share(labels: np.ndarray, counted: np.ndarray, count: int) -> np.ndarray:
    if not counted.any():
        return np.full(count, np.nan)
    return np.bincount(labels[counted], minlength=count) / counted.sum()


def unseen(labels: np.ndarray, optima: np.ndarray) -> Unseen | None:
    """Estimates of undiscovered modes from converged restarts; None without such restarts.

    labels : (m,) mode of every member. optima : (m,) bool, which of them are converged restarts.
    """
    try:
        return unseen_modes(labels, optima)
    except DataError:
        return None


def as_one(table: pd.DataFrame) -> pd.DataFrame:
    """The table of modes that are pieces of one family: their mass, together, at the heaviest."""
    heaviest, known = most_probable(table), bool(table["mass"].notna().any())
    whole = np.where((table["mode"] == heaviest) & known, 1.0, np.nan)
    return table.assign(joined=heaviest, mass=whole, mass_low=whole, mass_high=whole)


def widest(comparison: Comparison, metric: str, modes: Modes) -> float:
    """The largest distance between two optima of one mode."""
    optima = np.flatnonzero(comparison.optima)
    matrix = distances.STAGE.of(comparison).matrix(metric)[np.ix_(optima, optima)]
    labels = modes.labels[optima]
    return float(np.max(matrix, where=labels[:, None] == labels, initial=0.0))


def largest_mass(table: pd.DataFrame) -> np.ndarray:
    """(K,) the most mass that each mode, or the one it is joined to, may have; NaN: unknown."""
    most = np.fmax(table["mass"].to_numpy(dtype=float), table["mass_high"].to_numpy(dtype=float))
    return most[table["joined"].to_numpy(dtype=int)]


def good_left(table: pd.DataFrame) -> int:
    """How many modes that fit as well as the best have no mass, where these are most; else 0.

    The mass of a few of them says nothing of the others.
    """
    weighed = table["weighed"].to_numpy() > 0
    left = int((table["as_good_as_best"].to_numpy() & ~weighed).sum())
    return left if left > weighed.sum() else 0


def most_probable(table: pd.DataFrame) -> int:
    """The mode that others are compared with; the first while no mass is known."""
    mass = table["mass"].to_numpy(dtype=float)
    return int(np.nanargmax(mass)) if np.isfinite(mass).any() else 0
