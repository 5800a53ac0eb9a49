"""Two modes by three measures: how easy each is to find, how high it is, what it weighs."""

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from bnmf_core.figures.style import component_color, layout


def three_answers(
    restarts: np.ndarray,
    relative_height: np.ndarray,
    mass: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> go.Figure:
    """Bars of K modes, side by side for each measure.

    Parameters
    ----------
    restarts : (K,) shares of restarts, sum 1. relative_height : (K,) density at the best place
        over that of the best of all. mass, low, high : (K,) shares of the posterior with limits.
    """
    titles = ("Basin:<br>restarts", "Height:<br>density", "Mass:<br>posterior")
    figure = make_subplots(cols=3, subplot_titles=titles, horizontal_spacing=0.07)
    names = [f"mode {k + 1}" for k in range(restarts.size)]
    colors = [component_color(k) for k in range(restarts.size)]
    for column, values in enumerate((restarts, relative_height, mass), 1):
        tops = np.maximum(values, high) if column == 3 else values
        figure.add_bar(
            x=names,
            y=values,
            marker_color=colors,
            error_y={"array": high - mass, "arrayminus": mass - low} if column == 3 else None,
            hovertemplate="%{x}: %{y:.3g}<extra></extra>",
            col=column,
            row=1,
        )
        # Above the bars, and above what is drawn of their errors.
        figure.add_scatter(
            x=names,
            y=tops,
            text=[f"{value:.3g}" if column == 2 else f"{value:.1%}" for value in values],
            mode="text",
            textposition="top center",
            cliponaxis=False,
            hoverinfo="skip",
            col=column,
            row=1,
        )
    figure.update_yaxes(range=[0, 1.15], tickvals=[0, 0.5, 1], tickformat=".0%")
    figure.update_yaxes(col=2, tickformat=".2g")
    kept = figure.layout.annotations
    layout(figure, "", height=255, margin={"l": 40, "t": 52, "b": 30})
    return figure.update_layout(annotations=kept, showlegend=False)
