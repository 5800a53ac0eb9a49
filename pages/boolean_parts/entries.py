"""Which rows and columns belong to a tile: the mean of every entry against its spread or slope."""

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.figures.doubt import entries_chart
from pages.boolean_parts.looked import Looked
from pages.frame import view
from pages.frame.words import plain, shown

OTHERS = {"sd": "Spread of the draws", "slope": "Slope of the log joint"}
AXES = {"sd": "standard deviation over draws", "slope": "mean gradient, nats"}
READINGS = {
    "sd": "Entries at the ends with hardly any spread are settled; those between wander. A curve "
    "of √(μ(1 − μ)) would be reached by entries that jump between 0 and 1.",
    "slope": "Where draws have come to rest, slopes are near 0 inside; at the ends they push "
    "against 0 or 1.",
}
MOST = 300


def show(seen: Looked) -> None:
    """The chart, and the entries that a box is drawn around."""
    known = ["sd"] + ["slope"] * bool(np.isfinite(seen.run.slope_A).all())
    other = st.segmented_control(
        "Against", known, default="sd", format_func=shown(OTHERS), required=True
    )
    mean = {"A": seen.run.A, "W": seen.run.W}
    values = {name: getattr(seen.run, f"{other}_{name}") for name in mean}
    title = f"Entries of A and W: mean and {OTHERS[other].lower()}"
    event = view.chart(
        entries_chart(mean, values, title, AXES[other]),
        f"{READINGS[other]} Draw a box or a lasso to list entries.",
        name=f"entries_{other}",
        origin=seen.look.origin,
        select=view.MARKS[1:],
    )
    points = event.selection.points if event is not None else []
    if points:
        st.dataframe(_listed(seen, points[:MOST], values), hide_index=True, height=300)
        if len(points) > MOST:
            st.caption(plain(f"The first {MOST} of {len(points):,}."))


def _listed(seen: Looked, points: list[dict], values: dict[str, np.ndarray]) -> pd.DataFrame:
    rows = []
    for point in points:
        factor, item, tile = (int(number) for number in point["customdata"])
        names = seen.dataset.observations if factor else seen.dataset.features
        at = (tile, item) if factor else (item, tile)
        name = "W" if factor else "A"
        rows.append(
            {
                "what": seen.nouns[factor],
                "name": names[item],
                "tile": tile + 1,
                "mean": round(float(seen.run.W[at] if factor else seen.run.A[at]), 3),
                "other": float(values[name][at]),
            }
        )
    return pd.DataFrame(rows)
