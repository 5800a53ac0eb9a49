"""Three numbers between no and yes: a cut through their density, and where it is largest."""

import numpy as np
import plotly.graph_objects as go

from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import HIGHLIGHT, MUTED, component_color, layout

NAMES = ("x", "y", "z")
# Densities that differ by less are equal.
SAME = 1e-9
MEAN = "mean of draws"
# Both pictures may be low: little stands below.
LOW: dict[str, object] = {"b": 36}


def cut_picture(
    along: np.ndarray,
    log_density: np.ndarray,
    z: float,
    mean: np.ndarray,
    bounded: bool = True,
    height: int = 430,
) -> go.Figure:
    """The density over x and y where z is given, its largest value there being 1.

    Parameters
    ----------
    along : (n,) values of x and of y. log_density : (n, n), x downwards. mean : (3,) of all draws,
        whatever their z. bounded : whether there is a largest one; else none is marked.
    """
    shown = np.exp(log_density - log_density.max())
    highest = np.argwhere(shown >= 1.0 - SAME)
    figure = go.Figure(
        go.Contour(
            contours={"start": 0.0, "end": 1.0, "size": 0.05, "coloring": "heatmap"},
            line={"width": 0.5, "color": "rgba(255, 255, 255, 0.6)"},
            z=shown.T,
            x=along,
            y=along,
            zmin=0,
            zmax=1,
            colorscale="Viridis",
            colorbar={"title": "", "thickness": 12, "tickvals": [0, 0.5, 1]},
            hovertemplate="x %{x:.2f}, y %{y:.2f}: %{z:.2f}<extra></extra>",
        )
    )
    marked = [(mean[:2, None], "circle", "#FFFFFF", MEAN)]
    if bounded:
        marked.insert(0, (along[highest].T, "x", HIGHLIGHT, "largest at this z"))
    for (of_x, of_y), symbol, color, name in marked:
        figure.add_scatter(
            x=of_x,
            y=of_y,
            mode="markers",
            name=name,
            cliponaxis=False,
            marker={
                "symbol": symbol,
                "size": 13,
                "color": color,
                "line": {"width": 1.5, "color": "#1F2933"},
            },
            hovertemplate=f"{name}: %{{x:.2f}}, %{{y:.2f}}<extra></extra>",
        )
    figure.update_xaxes(title="x", title_standoff=4, range=[0, 1])
    figure.update_yaxes(title="y", range=[0, 1])
    return layout(figure, f"Density of x and y where z = {z:g}", height, margin=LOW)


def maximum_and_mean(maximum: np.ndarray | None, mean: np.ndarray, height: int = 430) -> go.Figure:
    """Bars of x, y and z: where the density is largest, (3,) or nowhere, and the mean (3,)."""
    figure = Sketch()
    for name, values, color in (
        ("largest density", maximum, component_color(1)),
        (MEAN, mean, component_color(0)),
    ):
        if values is not None:
            figure.add_bar(
                x=NAMES,
                y=values,
                name=name,
                marker_color=color,
                text=[f"{value:.2f}" for value in np.abs(values)],
                # Above a bar that is too low to hold it.
                textposition=np.where(values > 0.1, "inside", "outside"),
                cliponaxis=False,
                hovertemplate="%{x}: %{y:.4f}<extra></extra>",
            )
    figure.add_hline(y=0.5, line_color=MUTED, line_dash="dash", layer="below")
    figure.update_yaxes(title="no 0 … 1 yes", range=[0, 1.08], tickvals=[0, 0.25, 0.5, 0.75, 1])
    return layout(figure, "Largest density, and mean", height, margin=LOW)
