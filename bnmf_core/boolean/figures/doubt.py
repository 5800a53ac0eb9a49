"""Doubt in entries between 0 and 1: what they are on average, against how sure that is."""

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import HIGHLIGHT, MUTED, component_color, layout
from bnmf_core.figures.thinning import thinned

BINS = 50
FACTORS = {"A": "features (A)", "W": "observations (W)"}


def entries_chart(
    mean: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray], title: str, axis: str
) -> go.Figure:
    """Every entry of the factors: its mean against something else of it.

    Parameters
    ----------
    mean, other : "A" (D, R) and "W" (R, N) → arrays of the same shape; entries of ``other`` that
        are not finite are left out. The customdata of a point begins with the number of its entry,
        or a list of those that it covers: see :func:`places`.
    """
    x, y = (np.concatenate([by["A"].ravel(), by["W"].ravel()]) for by in (mean, other))
    factor, item, component = places(np.arange(x.size), mean)
    known = np.flatnonzero(np.isfinite(y))
    thin = thinned(x[known], y[known], factor[known])
    figure = Sketch()
    for number, name in enumerate(FACTORS):
        drawn = np.flatnonzero(thin.drawn & (factor[known] == number))
        at = known[drawn]
        figure.add_scatter(
            x=x[at],
            y=y[at],
            mode="markers",
            name=FACTORS[name],
            marker={"size": 4, "opacity": 0.6, "color": component_color(number)},
            customdata=thin.customdata(drawn, known, item[at], component[at]),
            hovertemplate="item %{customdata[1]}, tile %{customdata[2]}: %{x:.3f}, %{y:.3g}"
            "<extra></extra>",
        )
    figure.update_xaxes(title="mean", range=[-0.02, 1.02])
    figure.update_yaxes(title=axis)
    return layout(figure, title + thin.note, height=430)


def places(
    entries: np.ndarray, mean: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where entries are by their numbers, those of A first, each factor row by row.

    Returns
    -------
    (k,) each: 0 in A and 1 in W; the row of A or column of W; the component.
    """
    factor = (entries >= mean["A"].size).astype(int)
    row, first = np.divmod(entries, mean["A"].shape[1])
    second, column = np.divmod(entries - mean["A"].size, mean["W"].shape[1])
    return factor, np.where(factor, column, row), np.where(factor, second, first)


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
