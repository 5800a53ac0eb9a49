"""Whether the conclusion from a label depends on the chosen mode."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from bnmf_core.analysis.conclusions import MOST, Conclusions
from bnmf_core.analysis.mode_table import LITTLE
from bnmf_core.compare.conclusions import MARGIN, MATTERS, OPEN, SAME, judged
from bnmf_core.findings.facts import Fact, fact, say

# Largest number of tasks that a sentence names.
NAMED = 4
KEYS = {MATTERS: "matters", SAME: "same", OPEN: "open"}


def facts(found: Conclusions, weighty: np.ndarray | None = None) -> list[list[Fact]]:
    """For each label, whether its conclusion depends on the choice, then details.

    If unknown, one list with the reason. ``weighty`` : (S,) bool, which modes have posterior mass;
    None while unknown.
    """
    if found.problem:
        return [[fact("not_predicted", problem=found.problem)]]
    if found.table is None or found.table.empty:
        return []
    if len(found.rows) == 1:
        return [[fact("no_choice", labels=list(map(str, found.table["label"].unique())))]]
    groups = found.table.groupby("label", sort=False)
    several = groups.ngroups > 1
    return [
        list(_of_label(str(label), tasks, len(found.rows), several, weighty))
        for label, tasks in groups
    ]


def sentences(found: Conclusions, weighty: np.ndarray | None = None) -> list[list[str]]:
    """:func:`facts` in words."""
    return [list(map(say, some)) for some in facts(found, weighty)]


def _of_label(
    label: str, tasks: pd.DataFrame, compared: int, several: bool, weighty: np.ndarray | None
) -> Iterator[Fact]:
    """The conclusion, then details; the first names the label if there are several."""
    of = {verdict: tasks[tasks["verdict"] == verdict] for verdict in KEYS}
    values: dict[str, Any] = {"label": label, "explanations": compared}
    values["among"] = f"the {MOST} best-fitting" if compared == MOST else str(compared)
    beginning = f"{label}: " * several
    if len(tasks) == 1:
        yield fact(f"one_class.{KEYS[tasks['verdict'].iloc[0]]}", **values)
    else:
        counts = [
            fact(f"class_count.{KEYS[verdict]}", classes=len(some))
            for verdict, some in of.items()
            if len(some)
        ]
        first, *others = map(say, counts)
        values |= {KEYS[verdict]: len(some) for verdict, some in of.items()}
        yield fact("classes", counts=[f"{first} of {len(tasks)} classes", *others], **values)
    for verdict, some in of.items():
        if len(some):
            ranges = some[["task", "lowest", "highest"]].to_dict("records")
            numbers = {"areas": _areas(some, len(tasks) == 1), "ranges": ranges, "margin": MARGIN}
            yield fact(f"areas.{KEYS[verdict]}", label=beginning, **numbers)
            beginning = ""
    if weighty is not None and len(of[SAME]) < len(tasks):
        yield among_weighty(tasks, weighty)
    yield fact("areas_of_what")


def among_weighty(tasks: pd.DataFrame, weighty: np.ndarray) -> Fact:
    """Number of classes for which the choice among modes with posterior mass matters."""
    matters = int((judged(tasks, weighty)["verdict"] == MATTERS).sum())
    key = "among_weighty.some" if matters else "among_weighty.none"
    return fact(key, little=LITTLE, matters=matters, classes=len(tasks))


def _areas(tasks: pd.DataFrame, alone: bool) -> str:
    """The ranges of the areas, the widest first."""
    widest = tasks.sort_values("difference", ascending=False, kind="stable")
    named = [
        ("" if alone else f"{row['task']}: ") + f"{row['lowest']:.3f}–{row['highest']:.3f}"
        for _, row in widest[:NAMED].iterrows()
    ]
    return ", ".join(named) + ", …" * (len(widest) > NAMED)
