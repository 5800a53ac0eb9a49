"""The part of an analysis that says how good each member is on observations that no run saw."""

from typing import Any

import numpy as np
import pandas as pd

from bnmf_core.metrics.cancel import raise_if_cancelled
from bnmf_core.residuals import relative_errors
from bnmf_core.runs import files
from bnmf_core.runs.planning import split
from bnmf_core.solvers.nnls import solve_weights

# Members whose weights are solved together.
TOGETHER = 20


def compute(analysis: Any, report: Any, stopped: Any) -> None:
    """Store the held-out error of every member: W of the unseen observations solved with A fixed.

    Without a hold-out there is nothing to measure, and nothing is stored of it.
    """
    errors: list[float] = []
    if analysis.holdout:
        unseen = analysis.dataset.columns(split(analysis.dataset, analysis.holdout)[1])
        count = len(analysis.members)
        for first in range(0, count, TOGETHER):
            raise_if_cancelled(stopped, "held-out errors")
            rows = np.arange(first, min(first + TOGETHER, count))
            A, _ = analysis.factors(rows)
            W = solve_weights(unseen.X, A, unseen.mask)
            errors += relative_errors(unseen.X, A, W, unseen.mask).tolist()
            report((first + rows.size) / count)
    files.write_json(analysis.folder / "quality.json", {"held_out": errors})


def table(analysis: Any, metric: str) -> pd.DataFrame:
    """One row per member: run, log_joint, error, held_out (if any) and diversity.

    ``diversity`` is the mean distance to the other members of its run, in the metric's unit.
    """
    members = analysis.members
    found = members[["run", "particle", "log_joint", "error"]].copy()
    held_out = files.read_json(analysis.folder / "quality.json")["held_out"]
    if held_out:
        found["held_out"] = held_out
    matrix = np.asarray(analysis.distances(metric))
    diversity = np.zeros(len(members))
    for rows in members.groupby("run", sort=False).indices.values():
        within = matrix[np.ix_(rows, rows)]
        diversity[rows] = within.sum(axis=1) / max(len(rows) - 1, 1)
    found["diversity"] = diversity
    return found
