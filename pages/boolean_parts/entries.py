"""Membership of rows and columns in a tile: the mean of every entry against other statistics."""

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.boolean.figures.thresholds import entries_chart, places
from bnmf_core.figures.thinning import named_by
from pages.boolean_parts.selection import Selection
from pages.frame import view
from pages.frame.words import plain, shown

OTHERS = {
    "sd": "Spread of the {members}",
    "slope": "Slope of the log joint",
    "gradient": "Gradient on the way",
}
AXES = {
    "sd": "standard deviation over {members}",
    "slope": "mean gradient, nats",
    "gradient": "mean gradient of all steps, nats",
}
READINGS = {
    "sd": "Entries at the ends with little spread are determined; those in between vary. Entries "
    "that jump between 0 and 1 lie on the curve √(μ(1 − μ)).",
    "slope": "Where {members} have come to rest, slopes are near 0 inside; at the ends they push "
    "against 0 or 1.",
    "gradient": "The gradients that the chain went along, those of drawn cases, on average over "
    "all of its steps, the first ones too. Near 0 nothing pulls any more; far from it an entry is "
    "held at 0 or 1, or the chain has not arrived.",
}
MOST = 300


def show(seen: Selection) -> None:
    """The chart, and the entries inside a box selection."""
    known = [key for key in OTHERS if np.isfinite(getattr(seen.run, f"{key}_A")).all()]
    others = {key: label.format(members=seen.members) for key, label in OTHERS.items()}
    other = st.segmented_control(
        "Against", known, default="sd", format_func=shown(others), required=True
    )
    mean = {"A": seen.run.A, "W": seen.run.W}
    values = {name: getattr(seen.run, f"{other}_{name}") for name in mean}
    title = f"Entries of A and W: mean and {others[other].lower()}"
    figure = entries_chart(mean, values, title, AXES[other].format(members=seen.members))
    known = np.isfinite(np.concatenate([by.ravel() for by in values.values()]))
    event = view.chart(
        figure,
        f"{READINGS[other].format(members=seen.members)} Draw a box or a lasso to list entries.",
        name=f"entries_{other}",
        origin=seen.look.origin,
        table=lambda: _listed(seen, np.flatnonzero(known), values),
        select=view.MARKS[1:],
    )
    points = event.selection.points if event is not None else []
    held = [entry for point in points for entry in named_by(point["customdata"])]
    if held:
        listed = _listed(seen, np.array(held[:MOST]), values)
        view.table(listed, "Entries that the box holds", height=300)
        if len(held) > MOST:
            st.caption(plain(f"The first {MOST} of {len(held):,}."))


def _listed(seen: Selection, entries: np.ndarray, values: dict[str, np.ndarray]) -> pd.DataFrame:
    """Entries by their numbers, see :func:`places`."""
    mean = {"A": seen.run.A, "W": seen.run.W}
    factor, item, tile = places(entries, mean)
    names = (seen.dataset.features, seen.dataset.observations)
    every = [np.concatenate([by["A"].ravel(), by["W"].ravel()]) for by in (mean, values)]
    return pd.DataFrame(
        {
            "what": [seen.nouns[axis] for axis in factor],
            "name": [names[axis][at] for axis, at in zip(factor, item, strict=True)],
            "tile": tile + 1,
            "mean": every[0][entries].astype(float).round(3),
            "other": every[1][entries].astype(float),
        }
    )
