"""A row per class: the range of its AUC, the best factorization, the posterior."""

import math

import pandas as pd
import streamlit as st

from bnmf_core.analysis import chains
from pages.downstream_parts.classes import Classes
from pages.frame import view
from pages.frame.lens import Lens

COLUMNS = {"task": "class", "min": "lowest AUC", "median": "median AUC", "max": "highest AUC"}
TALLEST = 420


def show(look: Lens, of_label: Classes, mixed: pd.DataFrame | None) -> None:
    """The table; ``mixed`` : the AUC of the posterior by class, where there is one."""
    table = of_label.spread.join(of_label.best).reset_index()
    unsettled = look.analysis.members["run"].isin(chains.unsettled_runs(look.analysis)).to_numpy()
    table["best factorization"] = [
        look.name(int(row)) + ", not settled" * bool(unsettled[row]) for row in table["particle"]
    ]
    table["standard error"] = of_label.chance.reindex(table["task"]).to_numpy()
    table["exact ties"] = of_label.tied.reindex(table["task"]).to_numpy() - 1
    if mixed is not None:
        of_class = mixed.set_index("task").reindex(table["task"])
        table["posterior (90 %)"] = [
            "" if math.isnan(mean) else f"{mean:.3f} ({low:.3f}–{high:.3f})"
            for mean, low, high in of_class[["auc", "low", "high"]].to_numpy()
        ]
    if not look.focus.all():
        scores = of_label.scores
        inside = scores[look.focus[scores["member"].to_numpy()]].groupby("task")["auc"].median()
        table[f"median of {look.focus_name}"] = inside.reindex(table["task"]).to_numpy()
    st.header("Class by class", anchor=False)
    view.table(
        table.drop(columns=["particle", "auc"]).rename(columns=COLUMNS).round(3),
        "Class by class",
        height=min(38 + 35 * len(table), TALLEST),
    )
