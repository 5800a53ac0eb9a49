"""How many modes restarts have found, and more of them would find."""

import plotly.graph_objects as go

from bnmf_core.compare.unseen import Unseen
from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import HIGHLIGHT, LINE, layout

BAND = "rgba(76, 110, 143, 0.2)"


def discovery_curve(told: Unseen) -> go.Figure:
    """The expected number of modes among the first n restarts, with its interval."""
    curve = told.curve
    figure = Sketch()
    figure.add_scatter(
        x=[*curve["restarts"], *curve["restarts"][::-1]],
        y=[*curve["upper"], *curve["lower"][::-1]],
        fill="toself",
        fillcolor=BAND,
        line={"width": 0},
        hoverinfo="skip",
        showlegend=False,
    )
    for extrapolated, dash in ((False, "solid"), (True, "dot")):
        part = curve[curve["extrapolated"] == extrapolated]
        figure.add_scatter(
            x=part["restarts"],
            y=part["modes"],
            mode="lines",
            line={"color": LINE, "width": 2, "dash": dash},
            showlegend=False,
            hovertemplate="%{x} restarts: %{y:.1f} modes<extra></extra>",
        )
    figure.add_vline(x=told.restarts, line={"color": HIGHLIGHT, "width": 2, "dash": "dash"})
    figure.update_xaxes(title="restarts", rangemode="tozero")
    figure.update_yaxes(title="modes found", rangemode="tozero")
    return layout(figure, "Modes found over restarts", height=300)
