"""Rank-3 factorizations seen in the plane of the data (paper 2, figures 1 to 3)."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import HIGHLIGHT, MUTED, RunStyle, layout
from bnmf_core.figures.thinning import thinned


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
    run_of = np.repeat(members["run"].to_numpy(), 3)
    corners = bases.reshape(-1, 2)
    thin = thinned(*np.concatenate([corners, data]).T, np.append(run_of, [""] * len(data)))
    observations = np.flatnonzero(thin.drawn[len(corners) :])
    figure.add_scatter(
        x=data[observations, 0],
        y=data[observations, 1],
        customdata=observations + 1,
        mode="markers",
        name="data",
        marker={"color": MUTED, "size": 6, "symbol": "x"},
        hovertemplate="observation %{customdata}<extra></extra>",
    )
    for run_id, style in styles.items():
        drawn = np.flatnonzero((run_of == run_id) & thin.drawn[: len(corners)])
        figure.add_scatter(
            x=corners[drawn, 0],
            y=corners[drawn, 1],
            mode="markers",
            name=style.label,
            customdata=drawn // 3,
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
    return layout(figure, f"Data and basis columns in the rank-3 subspace{thin.note}", height=520)
