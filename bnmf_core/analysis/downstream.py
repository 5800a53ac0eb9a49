"""How well every member predicts every label of the data."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.stage import Report, Stage, Stopped, parts
from bnmf_core.compare.downstream import downstream_auc
from bnmf_core.core.errors import DataError
from bnmf_core.data.split import split
from bnmf_core.store import files


@dataclass(frozen=True)
class Scores:
    """The stored scores.

    table : columns member, label, task, auc, n_positive; empty when the data have no labels.
    left_out : per label, the classes with too few members to be scored.
    """

    table: pd.DataFrame
    left_out: dict[str, list[str]]


def compute(comparison: Comparison, folder: Path, report: Report, stopped: Stopped) -> None:
    """Store the area under the ROC curve of every member, for every class of every label."""
    scores, left_out = [], {}
    held_out = split(comparison.dataset, comparison.holdout)[1] if comparison.holdout else None
    A = comparison.bases(np.arange(len(comparison.members)))
    for label, of_label in parts(list(comparison.dataset.labels), report):
        try:
            table = downstream_auc(
                A,
                comparison.dataset,
                label,
                held_out=held_out,
                on_progress=of_label,
                cancel=stopped,
                loss=comparison.fit.loss,
            )
        except DataError:  # such as a name that every observation has for itself
            left_out[label] = np.unique(comparison.dataset.labels[label]).tolist()
            continue
        left_out[label] = list(table.attrs.get("left_out", []))
        scores += table.rename(columns={"particle": "member"}).to_dict("records")
    files.write_json(folder / "scores.json", {"scores": scores, "left_out": left_out})


def read(comparison: Comparison, folder: Path) -> Scores:
    """The stored scores."""
    stored = files.read_json(folder / "scores.json")
    return Scores(pd.DataFrame(stored["scores"]), stored["left_out"])


STAGE = Stage(
    key="downstream",
    label="Scoring labels with every factorization",
    needs=(),
    version=1,
    compute=compute,
    read=read,
    weight=8.0,
)
