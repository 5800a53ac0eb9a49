"""Distances between the factorizations of each run, and of each chain."""

import pandas as pd
import streamlit as st

from bnmf_core.analysis import structure
from pages.frame import view
from pages.frame.lens import Lens
from pages.frame.words import plain, with_unit


def warn(look: Lens, of_runs: pd.DataFrame, of_chains: pd.DataFrame) -> None:
    """Name the runs whose chains stay in different places."""
    for run in structure.pooled_only(of_runs, of_chains).itertuples():
        unit = look.distance.unit_behind
        pooled, single = (f"{far:.3g}{unit}" for far in (run.largest, run.widest))
        st.warning(
            plain(
                f"{look.run_names[run.run]} has not mixed: its {run.chains} chains together span "
                f"{pooled}, no single chain more than {single}."
            )
        )


def show(look: Lens, of_runs: pd.DataFrame, of_chains: pd.DataFrame) -> None:
    """A row per run: its diameter, mean distance, and the widest of its chains."""
    st.header("Spread of each run", anchor=False)
    unit, number = look.distance.unit, st.column_config.NumberColumn
    columns = {
        "largest": number(with_unit("largest distance", unit), format="%.4g"),
        "mean": number(
            with_unit("mean pairwise distance", unit),
            format="%.4g",
            help="Over all ordered pairs, including each factorization with itself, as published. "
            "Fit and weights has the mean distance to the others.",
        ),
        "members": number("factorizations compared"),
    }
    table = of_runs
    if not of_chains.empty:
        title = with_unit("largest distance within one chain", unit)
        columns["widest"] = number(title, format="%.4g")
        widest = of_chains.groupby("run")["largest"].max()
        table = table.assign(widest=table["run"].map(widest))
    view.table(look.named(table), "Spread of each run", column_config=columns)
    if of_runs["members"].nunique() > 1:
        st.warning(
            "The runs have different numbers of factorizations, and more factorizations cover more."
        )
