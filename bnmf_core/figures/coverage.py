"""Persistence plots: covering numbers over the radius (paper 1, figures 4 to 10)."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from bnmf_core.figures.style import RunStyle, count_axis, layout


def persistence_plot(
    curves: pd.DataFrame,
    styles: Mapping[str, RunStyle],
    distance_label: str,
    unit: str,
    logarithmic: bool = True,
) -> go.Figure:
    """Covering number of every run over ε.

    Parameters
    ----------
    curves : columns run, epsilon (in the distance's unit), covering (a count).
    """
    figure = go.Figure()
    for number, (run_id, style) in enumerate(styles.items()):
        part = curves[curves["run"] == run_id]
        figure.add_scatter(
            x=part["epsilon"],
            y=part["covering"],
            mode="lines",
            name=style.label,
            # Later curves are thinner, so that one that coincides with another is still seen.
            line={
                "color": style.color,
                "dash": style.dash,
                "width": 2 + 2.5 * (len(styles) - 1 - number),
                "shape": "hv",
            },
            hovertemplate="%{y} balls of radius %{x:.3g} "
            + unit
            + "<extra>%{fullData.name}</extra>",
        )
    figure.update_xaxes(title=f"radius ε in {distance_label} ({unit})", rangemode="tozero")
    figure.update_yaxes(
        title="minimum covering number", **count_axis(curves["covering"].max(), logarithmic)
    )
    return layout(figure, "Persistence of the covering number", height=480)
