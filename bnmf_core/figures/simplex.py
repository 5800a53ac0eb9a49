"""Rank-3 factorizations seen in the plane of the data (paper 2, figures 1 to 3)."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import HIGHLIGHT, MUTED, RunStyle, layout, scatter_of


def simplex_view(
    data: np.ndarray,
    bases: np.ndarray,
    members: pd.DataFrame,
    styles: Mapping[str, RunStyle],
    representatives: np.ndarray,
) -> go.Figure:
    """Data, basis columns of every factorization, and the triangle of each representative.

    Parameters
    ----------
    data : (N, 2). bases : (m, 3, 2) for the rows of ``members``.
    representatives : (K,) rows of ``members`` whose triangles are drawn.
    """
    figure = Sketch()
    figure.add(
        scatter_of(len(data) + 3 * len(bases)),
        x=data[:, 0],
        y=data[:, 1],
        mode="markers",
        name="data",
        marker={"color": MUTED, "size": 6, "symbol": "x"},
        hovertemplate="observation %{pointNumber}<extra></extra>",
    )
    for run_id, style in styles.items():
        rows = np.flatnonzero((members["run"] == run_id).to_numpy())
        corners = bases[rows].reshape(-1, 2)
        figure.add(
            scatter_of(len(data) + 3 * len(bases)),
            x=corners[:, 0],
            y=corners[:, 1],
            mode="markers",
            name=style.label,
            customdata=np.repeat(rows, 3),
            marker={"color": style.color, "size": 7, "symbol": style.symbol, "opacity": 0.5},
            hovertemplate="a basis column of " + style.label + "<extra></extra>",
        )
    for k, row in enumerate(representatives[:6]):
        triangle = bases[row][[0, 1, 2, 0]]
        figure.add_scatter(
            x=triangle[:, 0],
            y=triangle[:, 1],
            mode="lines",
            name=f"mode {k + 1}",
            line={"color": HIGHLIGHT, "width": 1.5, "dash": ("solid", "dash", "dot")[k % 3]},
            hoverinfo="skip",
        )
    figure.update_xaxes(title="first coordinate in the simplex plane (no unit)", zeroline=False)
    figure.update_yaxes(title="second coordinate", scaleanchor="x", zeroline=False)
    return layout(figure, "Data and basis columns in the rank-3 subspace", height=520)
