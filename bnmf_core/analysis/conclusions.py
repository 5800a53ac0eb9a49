"""Whether what is concluded from a label hangs on which explanation of the data is chosen."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from bnmf_core.analysis import distances
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.optima import find_sites
from bnmf_core.analysis.stage import Report, Stage, Stopped
from bnmf_core.compare.conclusions import MARGIN, MATTERS, OPEN, SAME, conclusions, judged
from bnmf_core.compare.downstream import predictions
from bnmf_core.core.errors import DataError, RunError
from bnmf_core.core.names import listed, percent
from bnmf_core.data.split import split
from bnmf_core.evidence.restarts import highest_of_each
from bnmf_core.store import files

# Explanations that are compared, the best first.
MOST = 12
SEED = 30
# Modes with less of the posterior mass than this have none worth a word.
LIGHT = 0.001
# Tasks that a sentence names.
NAMED = 4
WORDS = {MATTERS: "matters", SAME: "does not matter", OPEN: "is open"}
DETAILS = {
    MATTERS: "AUC where it matters: {named}.",
    SAME: "AUC where it does not, within {margin:g}: {named}.",
    OPEN: "AUC where it is open: {named}. There are too few observations to tell whether these "
    "differ by more than {margin:g}.",
}


@dataclass(frozen=True, eq=False)
class Conclusions:
    """What is stored of the labels.

    problem : the sentence that says why there is nothing; "" where there is.
    rows : members that were compared, one for each explanation.
    table : columns label, task and those of :func:`conclusions`, a list of areas per task.
    """

    problem: str
    rows: tuple[int, ...] = ()
    table: pd.DataFrame | None = None

    def sentences(self, weighty: np.ndarray | None = None) -> list[list[str]]:
        """For each label, whether its conclusion depends on the choice, and details after that.

        One list with the reason where it is not known. ``weighty`` : (S,) bool, which explanations
        have posterior mass; None while that is unknown.
        """
        if self.problem:
            return [[self.problem]]
        if self.table is None or self.table.empty:
            return []
        if len(self.rows) == 1:
            return [[_no_choice([str(label) for label in self.table["label"].unique()])]]
        groups = self.table.groupby("label", sort=False)
        compared, several = len(self.rows), groups.ngroups > 1
        return [
            list(_of_label(str(label), tasks, compared, f"{label}: " * several, weighty))
            for label, tasks in groups
        ]


def _of_label(
    label: str,
    tasks: pd.DataFrame,
    compared: int,
    beginning: str = "",
    weighty: np.ndarray | None = None,
) -> Iterator[str]:
    """The conclusion, and details, the first of which begins so."""
    of = {verdict: tasks[tasks["verdict"] == verdict] for verdict in WORDS}
    several = f"the {MOST} best-fitting" if compared == MOST else str(compared)
    choice = f"{label}: the choice among {several} explanations"
    if len(tasks) == 1:
        yield f"{choice} {WORDS[tasks['verdict'].iloc[0]]}."
    else:
        parts = [f"{WORDS[v]} for {len(some)}" for v, some in of.items() if len(some)]
        parts[0] += f" of {len(tasks)} classes"
        yield f"{choice} {listed(parts)}."
    for verdict, some in of.items():
        if len(some):
            detail = DETAILS[verdict].format(named=_named(some, len(tasks) == 1), margin=MARGIN)
            yield beginning + detail
            beginning = ""
    if weighty is not None and len(of[SAME]) < len(tasks):
        yield among_weighty(tasks, weighty)
    yield (
        "An AUC is that of a classifier on the weights of the best factorization of each "
        "explanation, lowest to highest. The statements on all classes hold together at 95 %."
    )


def among_weighty(tasks: pd.DataFrame, weighty: np.ndarray) -> str:
    """For how many classes the choice matters among explanations that have posterior mass."""
    among = f"Among modes with at least {percent(LIGHT)} of the posterior mass"
    matters = int((judged(tasks, weighty)["verdict"] == MATTERS).sum())
    classes = f"{matters} of {len(tasks)} classes" if matters else "no class"
    return f"{among} it matters for {classes}."


def _no_choice(labels: Sequence[str]) -> str:
    named = listed(labels)
    return (
        f"Nothing concluded from {named} depends on a choice: at the default threshold the "
        "restarts found one explanation."
    )


def _named(tasks: pd.DataFrame, alone: bool) -> str:
    largest = tasks.sort_values("difference", ascending=False, kind="stable")
    named = [
        ("" if alone else f"{row['task']}: ") + f"{row['lowest']:.3f}–{row['highest']:.3f}"
        for _, row in largest[:NAMED].iterrows()
    ]
    return ", ".join(named) + ", …" * (len(largest) > NAMED)


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
    for i, label in enumerate(dataset.labels):

        def of_label(part: float, i: int = i) -> None:
            report((i + part) / len(dataset.labels))

        try:
            found = predictions(
                A, dataset, label, held_out=held_out, on_progress=of_label, cancel=stopped
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
    label="Asking whether conclusions hang on the choice",
    needs=(distances.STAGE,),
    version=2,
    compute=compute,
    read=read,
    weight=2.0,
)
