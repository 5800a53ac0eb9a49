"""Tables that stand beside the map of modes."""

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.compare.alignment import component_stability
from pages.frame import focusing, view
from pages.frame.lens import Lens
from pages.frame.words import plain, with_unit


def facts(look: Lens) -> None:
    """The headline numbers of what is looked at."""
    modes, members = look.modes, look.analysis.members
    largest = float(np.asarray(look.matrix()).max())
    unit = look.distance.unit if look.distance.unit == "°" else ""
    columns = st.columns(4)
    columns[0].metric("Modes", f"{modes.count:d}", help="At the threshold set in the panel.")
    columns[1].metric("Largest mode", f"{modes.share[0]:.0%}", help="Every run counts the same.")
    columns[2].metric(
        "Largest distance", f"{largest:.3g}{plain(unit)}", help=plain(look.distance.label)
    )
    low, high = members["error"].min(), members["error"].max()
    columns[3].metric(
        "Relative error",
        _range(low, high),
        help="‖X − AW‖ / ‖X‖ of the best and of the worst factorization looked at.",
    )


def _range(low: float, high: float) -> str:
    """Both ends, with as many digits as tell them apart, or one number where they are the same."""
    for digits in (2, 3, 4):
        ends = f"{low:.{digits}g}", f"{high:.{digits}g}"
        if ends[0] != ends[1]:
            return "–".join(ends)
    return f"{low:.3g}"


def share_by_run(look: Lens) -> pd.DataFrame:
    """Share of each run in each of the largest modes: columns mode (1-based), run, share."""
    members = look.analysis.members.assign(mode=look.modes.labels + 1)
    share = members.pivot_table(
        index="mode", columns="run", values="weight", aggfunc="sum", fill_value=0.0
    ).reindex(columns=list(look.styles), fill_value=0.0)
    return share.iloc[:10].reset_index().melt("mode", var_name="run", value_name="share")


def mode_table(look: Lens) -> None:
    """One row per mode; choosing one puts it into focus."""
    table = look.modes.table()
    members = look.analysis.members
    error = members.groupby(look.modes.labels)["error"].min()
    shown = pd.DataFrame(
        {
            "mode": table["mode"] + 1,
            "share": 100 * table["share"],
            "spread": table["spread_max"],
            "nearest": table["nearest"],
            "members": table["size"],
            "best error": error.reindex(table["mode"]).to_numpy(),
            "representative": [look.name(row) for row in table["representative"]],
        }
    )
    event = st.dataframe(
        shown,
        hide_index=True,
        height=min(38 + 35 * len(shown), 250),
        key="mode_table",
        on_select="rerun",
        selection_mode="single-row",
        column_config={
            "mode": st.column_config.NumberColumn(width=50),
            "share": st.column_config.NumberColumn(format="%.0f %%", width=60),
            "members": st.column_config.NumberColumn(width=70),
            "spread": st.column_config.NumberColumn(
                width=70,
                format="%.3g",
                help=plain(with_unit("Largest distance to the representative", look.distance.unit)),
            ),
            "nearest": st.column_config.NumberColumn(
                width=70,
                format="%.3g",
                help=plain(with_unit("Distance to the closest other mode", look.distance.unit)),
            ),
            "best error": st.column_config.NumberColumn(format="%.4f", width=80),
        },
    )
    st.caption("Tick a row to put that mode into focus here and on the other pages.")
    rows = event["selection"]["rows"]
    focusing.on_change("mode_row", f"mode:{rows[0] + 1}" if rows else "")


def stability(look: Lens) -> None:
    """How much each component of the largest mode's representative varies over the focus."""
    reference, _ = look.analysis.factors([look.modes.representative[0]])
    rows = np.flatnonzero(look.focus)
    A, _ = look.analysis.factors(rows)
    weights = look.analysis.members["weight"].to_numpy()[rows]
    table = component_stability(A, reference[0], weights=weights)
    st.markdown("##### Which components can be trusted?")
    st.markdown(
        ":small[Angle between each component of mode 1's representative and its partner in every "
        "factorization in focus. Small everywhere: the data insist on this component.]"
    )
    table = table.assign(component=np.arange(1, len(table) + 1))
    st.dataframe(table.round(2), hide_index=True, height=min(38 + 35 * len(table), 260))
    view.origin_line(look.origin, "degrees")
