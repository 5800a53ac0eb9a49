"""How much runs have seen while they are being made."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import RunStyle, layout


def covering_growth(
    curves: pd.DataFrame, styles: Mapping[str, RunStyle], epsilon: float, unit: str
) -> go.Figure:
    """The covering number of every run over the seconds that it has taken.

    Parameters
    ----------
    curves : columns run, seconds, covering, made. epsilon : radius, in the distance's ``unit``.
    """
    figure = Sketch()
    for run_id, style in styles.items():
        part = curves[curves["run"] == run_id]
        figure.add_scatter(
            x=part["seconds"],
            y=part["covering"],
            customdata=part["made"],
            mode="lines+markers",
            name=style.label,
            line={"color": style.color, "dash": style.dash, "shape": "hv"},
            marker={"color": style.color, "symbol": style.symbol, "size": 5},
            hovertemplate="%{y} balls after %{x:.3g} s, %{customdata} made<extra></extra>",
        )
    figure.update_xaxes(title="seconds since the run began", rangemode="tozero")
    figure.update_yaxes(title=f"balls of {epsilon:.3g}{unit} that cover it", rangemode="tozero")
    return layout(figure, "What has been seen so far", height=300)
