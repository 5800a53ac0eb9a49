"""How much of each run lies in each mode."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import RunStyle, layout


def mode_share(table: pd.DataFrame, styles: Mapping[str, RunStyle]) -> go.Figure:
    """Grouped bars: share of every run's factorizations in every mode.

    Parameters
    ----------
    table : columns mode (1-based), run, share (0 to 1).
    """
    figure = Sketch()
    for run_id, style in styles.items():
        part = table[table["run"] == run_id]
        figure.add_bar(
            x=[str(mode) for mode in part["mode"]],
            y=part["share"],
            name=style.label,
            marker={"color": style.color},
            hovertemplate="mode %{x}: %{y:.1%} of " + style.label + "<extra></extra>",
        )
    figure.update_yaxes(title="share of the run", tickformat=".0%", range=[0, 1.02])
    figure.update_xaxes(title="mode", type="category")
    return layout(figure, "Share of each run in each mode", height=330, barmode="group")
