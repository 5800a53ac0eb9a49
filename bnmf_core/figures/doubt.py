"""Doubt in entries between 0 and 1: what they are on average, against how sure that is."""

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import HIGHLIGHT, MUTED, component_color, layout, scatter_of

# Points of a scatter; of more, an even part is drawn.
MOST_POINTS = 6_000
BINS = 50
FACTORS = {"A": "features (A)", "W": "observations (W)"}


def entries_chart(
    mean: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray], title: str, axis: str
) -> go.Figure:
    """Every entry of the factors: its mean against something else of it.

    Parameters
    ----------
    mean, other : "A" and "W" → arrays of the same shape. Points hold factor, row of A or column of
        W, and component, for whoever brushes over them.
    """
    figure = Sketch()
    for number, name in enumerate(FACTORS):
        x, y = mean[name], other[name]
        places = np.argwhere(np.isfinite(y))
        places = places[:: max(1, -(-len(places) // MOST_POINTS))]
        at = tuple(places.T)
        items, components = (places if name == "A" else places[:, ::-1]).T
        figure.add(
            scatter_of(sum(values.size for values in mean.values())),
            x=x[at],
            y=y[at],
            mode="markers",
            name=FACTORS[name],
            marker={"size": 4, "opacity": 0.6, "color": component_color(number)},
            customdata=np.column_stack([np.full(len(places), number), items, components]),
            hovertemplate="item %{customdata[1]}, tile %{customdata[2]}: %{x:.3f}, %{y:.3g}"
            "<extra></extra>",
        )
    figure.update_xaxes(title="mean", range=[-0.02, 1.02])
    figure.update_yaxes(title=axis)
    return layout(figure, title, height=430)


def cell_histogram(values: np.ndarray, words: str, members: str = "draws") -> go.Figure:
    """How often members (M,) of a run, called so, give a cell each value between 0 and 1."""
    counts, edges = np.histogram(values, bins=BINS, range=(0.0, 1.0))
    figure = go.Figure(
        go.Bar(
            x=0.5 * (edges[1:] + edges[:-1]),
            y=counts,
            marker_color=MUTED,
            hovertemplate=f"%{{x:.2f}}: %{{y}} {members}<extra></extra>",
        )
    )
    figure.add_vline(x=float(np.mean(values)), line_color=HIGHLIGHT, line_dash="dash")
    figure.update_xaxes(title="strength of a yes", range=[0, 1])
    figure.update_yaxes(title=members)
    return layout(figure, words, height=300)
