"""Whether conclusions from a label depend on the chosen explanation of the data."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from bnmf_core.analysis import distances
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.optima import find_sites
from bnmf_core.analysis.stage import Report, Stage, Stopped, parts
from bnmf_core.compare.conclusions import conclusions
from bnmf_core.compare.downstream import predictions
from bnmf_core.core.errors import DataError, RunError
from bnmf_core.data.split import split
from bnmf_core.evidence.restarts import highest_of_each
from bnmf_core.store import files

# Maximum number of compared explanations, the best first.
MOST = 12
SEED = 30


@dataclass(frozen=True, eq=False)
class Conclusions:
    """Stored conclusions from the labels.

    problem : the sentence that says why there is nothing; "" where there is.
    rows : members that were compared, one for each explanation.
    table : columns label, task and those of :func:`conclusions`, a list of areas per task.
    """

    problem: str
    rows: tuple[int, ...] = ()
    table: pd.DataFrame | None = None


def compute(comparison: Comparison, folder: Path, report: Report, stopped: Stopped) -> None:
    """Store, for every task of every label, how far the explanations' areas differ."""
    try:
        sites = find_sites(comparison)
    except RunError as error:
        files.write_json(folder / "conclusions.json", {"problem": str(error)})
        return
    errors = comparison.members["error"].to_numpy()[sites.rows]
    rows = sites.rows[highest_of_each(sites.labels, -errors, MOST)]
    A = comparison.bases(rows)
    dataset, tables = comparison.dataset, []
    held_out = split(dataset, comparison.holdout)[1] if comparison.holdout else None
    for label, of_label in parts(list(dataset.labels), report):
        try:
            found = predictions(
                A,
                dataset,
                label,
                held_out=held_out,
                on_progress=of_label,
                cancel=stopped,
                loss=comparison.fit.loss,
            )
        except DataError:  # such as a name that every observation has for itself
            continue
        rng = np.random.default_rng(SEED)
        table = conclusions(found.probabilities, found.members, rng)
        tasks = list(found.tasks[: len(table)])
        tables.append(table.assign(label=label, task=tasks).to_dict("records"))
    stored = {"problem": "", "rows": rows.tolist(), "table": [row for t in tables for row in t]}
    files.write_json(folder / "conclusions.json", stored)


def read(comparison: Comparison, folder: Path) -> Conclusions:
    """The stored table."""
    stored = files.read_json(folder / "conclusions.json")
    if stored["problem"]:
        return Conclusions(stored["problem"])
    return Conclusions("", tuple(stored["rows"]), pd.DataFrame(stored["table"]))


STAGE = Stage(
    key="conclusions",
    label="Asking whether conclusions depend on the choice",
    needs=(distances.STAGE,),
    version=2,
    compute=compute,
    read=read,
    weight=2.0,
)
