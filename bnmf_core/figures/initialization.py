"""How good starts are, and what that depends on (paper 3, figures 11 to 14 and 33)."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import (
    DASHES,
    FALLBACK,
    MUTED,
    layout,
    logarithmic_axis,
    safe,
    translucent,
)

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
# Lines across: dash, and where its name stands, so that near ones do not cover each other.
LINES = {
    "solved": ("solid", "top left"),
    "random": ("dash", "top right"),
    "best": ("dot", "top right"),
}


def start_errors(
    values: pd.DataFrame,
    labels: Mapping[str, str],
    reference: Mapping[str, float],
    axis: str,
    title: str = "Error of the starts, by what the transforms were learned on",
) -> go.Figure:
    """A box for every kind of start, with lines at the medians of random and solved ones.

    Parameters
    ----------
    values : columns column (kind of start) and value (relative error). labels : kind → words.
    reference : "random", "solved" and "best" (an SVD) → median error.
    """
    figure = Sketch()
    for number, key in enumerate(dict.fromkeys(values["column"])):
        name = safe(labels[key])
        figure.add_box(
            y=values["value"][values["column"] == key],
            name=name,
            boxpoints="outliers",
            marker={"color": PALETTE[number % len(PALETTE)], "size": 3},
            hovertemplate="%{y:.4g}<extra>" + name + "</extra>",
        )
    # One kind of start has errors ten times as large as the others: a linear axis hides those.
    low, high = values["value"].min() / 1.3, values["value"].max() * 1.1
    near = {key: value for key, value in reference.items() if value > low}
    _add_reference(figure, near, labels)
    for note in figure.layout.annotations:
        note.y = math.log10(note.y)
    below = [
        f"{safe(labels[key])}: {value:.2g}" for key, value in reference.items() if value <= low
    ]
    ends = [math.log10(low), math.log10(high)]
    figure.update_yaxes(
        title=f"{axis}, log scale", **logarithmic_axis(low, high), range=ends, autorange=False
    )
    if below:
        place = {"xref": "paper", "yref": "paper", "x": 0, "y": 0, "yanchor": "bottom"}
        figure.add_annotation(text=f"Below: {', '.join(below)}", showarrow=False, **place)
    return layout(figure, title, height=370, showlegend=False)


def bands(
    table: pd.DataFrame,
    labels: Mapping[str, str],
    axes: tuple[str, str],
    title: str,
    *,
    reference: Mapping[str, float] | None = None,
    logarithmic: tuple[bool, bool] = (False, False),
    groups: Sequence[Sequence[str]] | None = None,
    one: str = "",
) -> go.Figure:
    """Medians over x with the range between the quartiles, a line for each column.

    Parameters
    ----------
    table : columns column, x, lower, median, upper. labels : column → words.
    axes : titles of x and y. reference : median errors drawn across, see :func:`start_errors`.
    logarithmic : which of x and y are. groups : columns that share a colour and differ in dash;
        None: each has its own. one : what a line at 1 means; "" for none.
    """
    figure = Sketch()
    groups = groups or [[key] for key in dict.fromkeys(table["column"])]
    for number, keys in enumerate(groups):
        for key, dash in zip(keys, DASHES.values(), strict=False):
            part = table[table["column"] == key].sort_values("x")
            _add_band(figure, part, safe(labels[key]), PALETTE[number % len(PALETTE)], dash)
    if one:
        figure.add_hline(
            y=1.0,
            line={"color": MUTED, "dash": "dash"},
            annotation_text=one,
            annotation_position="top left",
        )
    if reference:
        _add_reference(figure, reference, labels)
    across, up = logarithmic
    xs = np.unique(table["x"])
    figure.update_xaxes(title=axes[0], type="log" if across else "linear")
    if across:
        figure.update_xaxes(tickvals=xs, ticktext=[f"{x:g}" for x in xs])
    figure.update_yaxes(
        title=axes[1], type="log" if up else "linear", rangemode="normal" if up else "tozero"
    )
    return layout(figure, title, height=370)


def _add_band(figure: Sketch, part: pd.DataFrame, name: str, color: str, dash: str) -> None:
    figure.add_band(part["x"], part["lower"], part["upper"], translucent(color, 0.15))
    figure.add_scatter(
        x=part["x"],
        y=part["median"],
        mode="lines+markers",
        name=name,
        line={"color": color, "dash": dash, "width": 2},
        marker={"size": 6},
        hovertemplate="%{y:.4g} at %{x:g}<extra>" + name + "</extra>",
    )


def _add_reference(
    figure: go.Figure, reference: Mapping[str, float], labels: Mapping[str, str]
) -> None:
    for key, (dash, place) in LINES.items():
        if key in reference:
            figure.add_hline(
                y=reference[key],
                line={"color": FALLBACK, "dash": dash, "width": 1.5},
                annotation_text=safe(labels[key]),
                annotation_position=place,
            )
