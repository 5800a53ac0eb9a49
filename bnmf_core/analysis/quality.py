"""Errors of each member on data that its run did not see."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from bnmf_core.analysis import distances
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.stage import Report, Stage, Stopped
from bnmf_core.compare.quality import hidden_error_of_means, hidden_errors
from bnmf_core.core.errors import raise_if_cancelled
from bnmf_core.core.problem import Problem
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.data.split import split
from bnmf_core.solvers.weights import weights_given
from bnmf_core.store import files

# Number of members whose weights are solved together.
TOGETHER = 20


@dataclass(frozen=True)
class Quality:
    """The stored errors.

    held_out, hidden : (m,) measures of fit, on held-out observations and on masked entries;
        empty without any. By the loss of the runs, or the squared error where losses differ.
    hidden_by_means : measure of the feature means on masked entries; None without any.
    held_out_losses : (m, n) the loss of each of n held-out observations.
    """

    comparison: Comparison
    held_out: list[float]
    hidden: list[float]
    hidden_by_means: float | None
    held_out_losses: np.ndarray

    def table(self, metric: str) -> pd.DataFrame:
        """One row per member: run, particle, log_joint, error, kkt, movement, gain, converged, …

        ``held_out`` and ``hidden`` where there are such. ``diversity`` is the mean distance to
        the other members of its run, in the metric's unit.
        """
        members = self.comparison.members
        known = ["run", "particle", "log_joint", "error", "kkt", "movement", "gain", "converged"]
        found = members[known].copy()
        for key, errors in (("held_out", self.held_out), ("hidden", self.hidden)):
            if errors:
                found[key] = errors
        matrix = np.asarray(distances.STAGE.of(self.comparison).matrix(metric))
        diversity = np.zeros(len(members))
        for rows in self.comparison.rows_by_run():
            within = matrix[np.ix_(rows, rows)]
            diversity[rows] = within.sum(axis=1) / max(len(rows) - 1, 1)
        found["diversity"] = diversity
        return found


def compute(comparison: Comparison, folder: Path, report: Report, stopped: Stopped) -> None:
    """Store the errors of every member on data that its run did not see, if any.

    ``held_out``: on held-out observations, W solved with A fixed. ``hidden``: on masked entries.
    ``hidden_by_means``: of the mean of each feature on masked entries.
    """
    seen, withheld = split(comparison.dataset, comparison.holdout)
    data = comparison.dataset.columns(seen) if comparison.holdout else comparison.dataset
    unseen = comparison.dataset.columns(withheld) if comparison.holdout else None
    loss = comparison.loss or SQUARED_ERROR
    by_means = hidden_error_of_means(data, loss)
    held_out: list[float] = []
    hidden: list[float] = []
    losses = np.zeros((len(comparison.members), 0 if unseen is None else unseen.N))
    count = len(comparison.members)
    for first in range(0, count, TOGETHER):
        if unseen is None and by_means is None:
            break
        raise_if_cancelled(stopped, "errors on what was not seen")
        rows = np.arange(first, min(first + TOGETHER, count))
        A, W = comparison.factors(rows)
        if unseen is not None:
            solved = weights_given(unseen, A, loss)
            problem = Problem.without_model(unseen, comparison.rank, loss=loss)
            losses[rows] = loss.by_observation(problem, A, solved)
            held_out += loss.measured(unseen, losses[rows].sum(axis=1)).tolist()
        errors = hidden_errors(data, A, W, loss)
        if errors is not None:
            hidden += errors.tolist()
        report((first + rows.size) / count)
    found = {"held_out": held_out, "hidden": hidden, "hidden_by_means": by_means}
    files.write_array(folder / "losses.npy", losses)
    files.write_json(folder / "quality.json", found)


def read(comparison: Comparison, folder: Path) -> Quality:
    """The stored errors."""
    losses = files.read_array(folder / "losses.npy")
    return Quality(comparison, **files.read_json(folder / "quality.json"), held_out_losses=losses)


STAGE = Stage(
    key="quality",
    label="Measuring errors on unseen observations",
    needs=(distances.STAGE,),
    version=2,
    compute=compute,
    read=read,
)
