"""Factorizations as points: near where they are alike, and of rank 3 in the plane of the data."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import HIGHLIGHT, MUTED, ROUNDING, RunStyle, layout, markers, rounded
from bnmf_core.figures.thinning import thinned

SELECTED_SIZE, PLAIN_SIZE = 11, 8
# From this stress on a map says that it is a poor one; 0.2 is poor for few points (Kruskal 1964).
TOO_FEW = 0.3


def factorization_map(
    points: np.ndarray,
    members: pd.DataFrame,
    mode_labels: np.ndarray,
    representatives: np.ndarray,
    styles: Mapping[str, RunStyle],
    focus: np.ndarray,
    distance_label: str,
    unit: str,
    measure: str = SQUARED_ERROR.measure,
) -> go.Figure:
    """Scatter of factorizations; customdata begins with each point's row in ``members``.

    Those that have not converged are hollow, and the legend says how many there are. Of many, one
    point stands for those that it covers, and its customdata begins with the list of their rows.

    Parameters
    ----------
    points : (m, 2) positions in the distance's unit. members : the table of an analysis.
    mode_labels : (m,) mode of each, 0-based. representatives : (K,) rows of ``members``.
    styles : by run id. focus : (m,) bool, the selected members.
    distance_label, unit : what the positions approximate. measure : what the errors are.
    """
    figure = Sketch()
    one_place = unit == "°" and np.hypot(*np.ptp(points, axis=0)) < ROUNDING
    points = rounded(points, unit)
    run_of, converged = members["run"].to_numpy(), members["converged"].to_numpy(bool)
    thin = thinned(*points.T, run_of, converged, focus)
    for run_id, style in styles.items():
        rows = np.flatnonzero((run_of == run_id) & thin.drawn)
        part = members.iloc[rows]
        figure.add_scatter(
            x=points[rows, 0],
            y=points[rows, 1],
            mode="markers",
            name=style.label,
            customdata=thin.customdata(
                rows,
                np.arange(len(points)),
                mode_labels[rows] + 1,
                part["particle"].to_numpy(),
                part["error"].to_numpy(),
            ),
            marker=markers(style, converged[rows], focus[rows], (SELECTED_SIZE, PLAIN_SIZE)),
            hovertemplate=(
                "factorization %{customdata[2]:.0f} of " + style.label + "<br>"
                "mode %{customdata[1]:.0f}<br>"
                f"{measure} %{{customdata[3]:.4f}}<extra></extra>"
            ),
        )
    going = int((~converged).sum())
    if going:
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="markers",
            name=f"hollow: not converged ({going})",
            marker={"symbol": "circle-open", "size": PLAIN_SIZE, "color": MUTED},
        )
    shown = representatives[: min(len(representatives), 12)]
    figure.add_scatter(
        x=points[shown, 0],
        y=points[shown, 1],
        mode="markers+text",
        name="representative of a mode",
        text=[f"<b>{k + 1}</b>" for k in range(len(shown))],
        textposition="top center",
        textfont={"size": 15},
        marker={"symbol": "circle-open", "size": 17, "color": HIGHLIGHT, "line": {"width": 2}},
        hoverinfo="skip",
    )
    figure.update_xaxes(title=f"first direction of {distance_label} ({unit})", zeroline=False)
    figure.update_yaxes(
        title=f"second direction ({unit})", zeroline=False, scaleanchor="x", scaleratio=1
    )
    title = f"Map of {len(members)} factorizations"
    if one_place:
        title += f", all in one place (to {ROUNDING:g}°)"
    elif len(representatives) == 1:
        title += ", one mode"
    return layout(figure, title + thin.note, height=470)


def left_out(stress: float) -> str:
    """How far distances on a map deviate from the true ones; ``stress`` : 0 where none does.

    >>> left_out(0.221)
    ' Distances on the map deviate from the true ones by 22 %.'
    >>> left_out(0.624)
    ' Two dimensions are too few: distances on the map deviate from the true ones by 62 %.'
    >>> left_out(0.001)
    ''
    """
    if stress < 0.005:
        return ""
    text = f"distances on the map deviate from the true ones by {100 * stress:.0f} %."
    return f" Two dimensions are too few: {text}" if stress >= TOO_FEW else f" {text.capitalize()}"


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
