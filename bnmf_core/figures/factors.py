"""A factorization as three pictures of numbers: A, W and their product."""

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from bnmf_core.figures.style import component_color, component_name, layout

# Entries of A and W from white to the component's colour; of A W to a colour of nobody.
OF_PRODUCT = "#5F6972"
PALE = "#EEF1F4"  # opaque: numbers are read on it in the dark, too


def factors(A: np.ndarray, W: np.ndarray, identities: list[int]) -> go.Figure:
    """A (D, R) with a colour for each column, W (R, N) with the same for its rows, and A W (D, N).

    identities : (R,) which component each is, for its number and its colour. Every component is
    shaded by its own largest entry.
    """
    D, R = A.shape
    N = W.shape[1]
    figure = make_subplots(
        cols=3,
        column_widths=[R, N, N],
        subplot_titles=("A", "W", "A W"),
        horizontal_spacing=0.12,
    )
    shown = {
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "texttemplate": "%{z:.2g}",
        "textfont": {"size": 11},
        "zmin": 0,
    }
    for k in range(R):
        scale = [[0, PALE], [1, component_color(identities[k])]]
        common = shown | {"colorscale": scale, "hovertemplate": "%{z:.4g}<extra></extra>"}
        figure.add_heatmap(z=A[:, [k]], x=[k], y=np.arange(D), col=1, row=1, **common)
        figure.add_heatmap(z=W[[k]], x=np.arange(N), y=[k], col=2, row=1, **common)
    figure.add_heatmap(
        z=A @ W,
        col=3,
        row=1,
        **shown,
        colorscale=[[0, PALE], [1, OF_PRODUCT]],
        hovertemplate="%{z:.4g}<extra></extra>",
    )
    ticks = {"tickvals": list(range(R)), "ticktext": [component_name(k) for k in identities]}
    figure.update_xaxes(showgrid=False, zeroline=False, showticklabels=False)
    figure.update_yaxes(showgrid=False, zeroline=False, autorange="reversed", showticklabels=False)
    figure.update_xaxes(col=1, showticklabels=True, tickangle=0, **ticks)
    figure.update_yaxes(col=2, showticklabels=True, **ticks)
    figure.update_xaxes(ticks="")
    figure.update_yaxes(ticks="")
    titles = figure.layout.annotations
    layout(figure, "", height=265, margin={"l": 10, "t": 30, "b": 30})
    return figure.update_layout(annotations=titles)
