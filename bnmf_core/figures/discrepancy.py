"""Discrepancy against time: which particles come nearer to the posterior, and how soon."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import RunStyle, layout, logarithmic_axis


def discrepancy_over_time(
    points: pd.DataFrame, styles: Mapping[str, RunStyle], title: str
) -> go.Figure:
    """One line with markers per run and repetition, both axes logarithmic.

    Parameters
    ----------
    points : columns run, seconds, value (the discrepancy), M (how many particles) and, where there
        is more than one line of a run, repetition. Values of 0 cannot be shown and are left out.
    """
    if "repetition" not in points:
        points = points.assign(repetition=0)
    shown = points[(points["value"] > 0) & (points["seconds"] > 0)]
    figure = Sketch()
    for run_id, style in styles.items():
        lines = shown[shown["run"] == run_id].groupby("repetition", sort=True)
        for number, (_, line) in enumerate(lines):
            figure.add_scatter(
                x=line["seconds"],
                y=line["value"],
                customdata=line["M"],
                mode="lines+markers",
                name=style.label,
                legendgroup=run_id,
                showlegend=number == 0,
                line={"color": style.color, "dash": style.dash, "width": 2},
                marker={"color": style.color, "symbol": style.symbol, "size": 8},
                hovertemplate="%{y:.4g} with %{customdata} after %{x:.3g} s<extra>"
                + style.label
                + "</extra>",
            )
    figure.update_xaxes(
        title="seconds", **logarithmic_axis(shown["seconds"].min(), shown["seconds"].max())
    )
    figure.update_yaxes(
        title="Stein discrepancy", **logarithmic_axis(shown["value"].min(), shown["value"].max())
    )
    return layout(figure, title, height=400)
