"""The part of an analysis that says how good each member is on what its run did not see."""

from typing import Any

import numpy as np
import pandas as pd

from bnmf_core.compare.quality import hidden_error_of_means, hidden_errors
from bnmf_core.data.split import split
from bnmf_core.nouns.errors import raise_if_cancelled
from bnmf_core.numerics.residuals import relative_errors
from bnmf_core.solvers.nnls import solve_weights
from bnmf_core.store import files

# Members whose weights are solved together.
TOGETHER = 20


def compute(analysis: Any, report: Any, stopped: Any) -> None:
    """Store the errors of every member on what its run did not see, where there is such.

    ``held_out``: on observations that were kept back, W solved with A fixed. ``hidden``: on entries
    that were hidden on purpose, and ``hidden_by_means`` what the mean of each feature makes there.
    """
    seen, kept_back = split(analysis.dataset, analysis.holdout)
    data = analysis.dataset.columns(seen) if analysis.holdout else analysis.dataset
    unseen = analysis.dataset.columns(kept_back) if analysis.holdout else None
    by_means = hidden_error_of_means(data)
    held_out: list[float] = []
    hidden: list[float] = []
    count = len(analysis.members)
    for first in range(0, count, TOGETHER):
        if unseen is None and by_means is None:
            break
        raise_if_cancelled(stopped, "errors on what was not seen")
        rows = np.arange(first, min(first + TOGETHER, count))
        A, W = analysis.factors(rows)
        if unseen is not None:
            solved = solve_weights(unseen.X, A, unseen.mask)
            held_out += relative_errors(unseen.X, A, solved, unseen.mask).tolist()
        if by_means is not None:
            hidden += hidden_errors(data, A, W).tolist()
        report((first + rows.size) / count)
    found = {"held_out": held_out, "hidden": hidden, "hidden_by_means": by_means}
    files.write_json(analysis.folder / "quality.json", found)


def hidden_by_means(analysis: Any) -> float | None:
    """Error on hidden entries of the mean of each feature; None where none is known."""
    return files.read_json(analysis.folder / "quality.json").get("hidden_by_means")


def table(analysis: Any, metric: str) -> pd.DataFrame:
    """One row per member: run, log_joint, error, held_out and hidden (if any) and diversity.

    ``diversity`` is the mean distance to the other members of its run, in the metric's unit.
    """
    members = analysis.members
    found = members[["run", "particle", "log_joint", "error"]].copy()
    stored = files.read_json(analysis.folder / "quality.json")
    for key in ("held_out", "hidden"):
        if stored.get(key):  # an analysis from before entries could be hidden has no such key
            found[key] = stored[key]
    matrix = np.asarray(analysis.distances(metric))
    diversity = np.zeros(len(members))
    for rows in members.groupby("run", sort=False).indices.values():
        within = matrix[np.ix_(rows, rows)]
        diversity[rows] = within.sum(axis=1) / max(len(rows) - 1, 1)
    found["diversity"] = diversity
    return found
