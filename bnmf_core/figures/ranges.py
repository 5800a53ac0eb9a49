"""Entries of a component with the range that each can have, and what the posterior says of it."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import HIGHLIGHT, LINE, MIDDLE, layout, safe

# Pixels of one line.
LINE_HEIGHT = 19


def range_chart(
    features: Sequence[str],
    value: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    title: str,
    band: str,
    posterior: np.ndarray | None = None,
) -> go.Figure:
    """A line for each of K entries: its value, its band, and where most draws have it.

    Parameters
    ----------
    features : K names, from the top. value, lower, upper : (K,) shares of the component's sum.
    band : what the band is, in the legend. posterior : (K, 2) where 90 % of the draws are.
    """
    names = [safe(feature, 28) for feature in features]
    places = np.arange(len(names))
    figure = Sketch()
    hover = [
        f"{name}: {v:.3%}, from {low:.3%} to {high:.3%}"
        for name, v, low, high in zip(names, value, lower, upper, strict=True)
    ]
    figure.add_scatter(
        **_segments(places, lower, upper),
        name=band,
        line={"color": LINE, "width": 7},
        opacity=0.45,
        hoverinfo="skip",
    )
    if posterior is not None:
        figure.add_scatter(
            **_segments(places, posterior[:, 0], posterior[:, 1]),
            name="90 % of the posterior draws",
            line={"color": HIGHLIGHT, "width": 3},
            hoverinfo="skip",
        )
    figure.add_scatter(
        x=value,
        y=places,
        mode="markers",
        name="in this factorization",
        marker={"color": MIDDLE, "size": 8, "symbol": "line-ns-open", "line": {"width": 2}},
        text=hover,
        hovertemplate="%{text}<extra></extra>",
    )
    figure.update_xaxes(title="share of the component's sum", tickformat=".3~%", rangemode="tozero")
    figure.update_yaxes(
        tickvals=places, ticktext=names, range=[len(names) - 0.4, -0.6], zeroline=False
    )
    height = 120 + LINE_HEIGHT * len(names)
    return layout(figure, title, height, margin={"l": 150, "t": 76})


def _segments(places: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> dict[str, object]:
    """One trace of separate lines: a gap after each."""
    gap = np.full(len(places), np.nan)
    return {
        "x": np.column_stack([lower, upper, gap]).ravel(),
        "y": np.column_stack([places, places, gap]).ravel(),
        "mode": "lines",
    }
