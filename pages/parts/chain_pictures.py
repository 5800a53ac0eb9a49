"""Pictures of one quantity over the chains of a run: ranks, effective sizes, intervals."""

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.analysis.chains import Verdicts
from bnmf_core.compare.mixing import SHORTEST, by_chain
from bnmf_core.compare.settled import FOLLOWED, SMALLEST_SIZE
from bnmf_core.figures.chains import forest_plot, rank_plot, size_over_draws
from pages.frame import view
from pages.frame.lens import Lens
from pages.frame.words import labelled

COLUMNS = {"group": "group of chains", "r_hat": "R̂", "ess_bulk": "bulk ESS", "ess_tail": "tail ESS"}


def show(
    look: Lens, traces: dict[str, pd.DataFrame], verdicts: Verdicts, quantity: str, label: str
) -> None:
    """Pictures of the selected run, or of the only one."""
    run_id = next(iter(traces))
    if len(traces) > 1:
        run_id = st.selectbox("Chains of", list(traces), format_func=labelled(look.run_names))
    values = _by_chain(traces[run_id], quantity)
    if values.shape[1] < SHORTEST or not np.isfinite(values).all():
        return
    wanted = SMALLEST_SIZE[min(len(values), len(SMALLEST_SIZE)) - 1]
    apart = run_id in verdicts.by_run and verdicts.by_run[run_id].modes > 1
    left, right = st.columns(2)
    with left:
        view.chart(
            rank_plot(values, label),
            "Level lines: all chains sample the same distribution. A slope or a hump: they do not.",
            name="ranks",
            origin=look.origin,
            table=lambda: _table(values, label),
        )
    with right:
        view.chart(
            size_over_draws(values, label, wanted),
            f"The effective sample size should rise steadily; {wanted:g} are required (dotted)."
            + " Chains in different modes are judged mode by mode, with fewer." * apart,
            name="sizes",
            origin=look.origin,
            table=lambda: _table(values, label),
        )
    if run_id in verdicts.by_run:
        table = verdicts.series(run_id)
        name, unit, _ = FOLLOWED[0]
        angles = {
            f"component {column.removeprefix(name).strip()}": _by_chain(table, column)
            for column in table
            if column.startswith(name)
        }
        view.chart(
            forest_plot(angles, "Angle to the mode", unit),
            "Bars of one component overlap where chains agree on it.",
            name="forest",
            origin=look.origin,
            table=lambda: pd.concat(
                [_table(each, "angle (°)").assign(component=key) for key, each in angles.items()]
            ),
        )
        with st.expander("Every quantity of the verdict"):
            rows = verdicts.table(run_id)
            rows["group"] += 1
            rows = rows.sort_values("strain", ascending=False).rename(columns=COLUMNS)
            view.table(rows.round(3), "Every quantity of the verdict", height=300)
            st.caption(
                "Chains in different modes are judged mode by mode. A strain above 1 exceeds a "
                "limit of R̂, effective sample size or drift."
            )


def _by_chain(table: pd.DataFrame, column: str) -> np.ndarray:
    """(C, K) draws after the warm-up."""
    draws = table[~table["warm_up"].astype(bool)] if "warm_up" in table else table
    values, chain, sweep = (draws[key].to_numpy() for key in (column, "chain", "sweep"))
    return by_chain({column: values}, chain, sweep)[column]


def _table(values: np.ndarray, label: str) -> pd.DataFrame:
    chain, draw = np.indices(values.shape)
    rows = {"chain": chain.ravel() + 1, "draw": draw.ravel() + 1, label: values.ravel()}
    return pd.DataFrame(rows)
