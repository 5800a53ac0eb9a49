"""Persistence plots: covering numbers over the radius (paper 1, figures 4 to 10)."""

from collections.abc import Mapping, Sequence

import pandas as pd
import plotly.graph_objects as go

from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import ROUNDING, RunStyle, count_axis, layout, rounded, translucent

# Pixels by which the first of many curves is thicker than the last.
THICKEST = 8


def persistence_plot(
    curves: pd.DataFrame,
    styles: Mapping[str, RunStyle],
    distance_label: str,
    unit: str,
    logarithmic: bool = True,
    repetitions: Mapping[str, Sequence[str]] | None = None,
    title: str = "Persistence of the covering number",
    logarithmic_radius: bool = False,
    chains: pd.DataFrame | None = None,
) -> go.Figure:
    """Covering number of every run over ε, and of each of its chains.

    Parameters
    ----------
    curves : columns run, epsilon (in the distance's unit), covering (a count).
    repetitions : run id → ids of the runs that are drawn together, as their mean and the range
        between the smallest and the largest, in the first one's style; None for each on its own.
    chains : as ``curves``, and chain; thin pale lines beside the run's curve, which pools them.
    """
    groups = repetitions or {run_id: [run_id] for run_id in styles}
    figure = Sketch()
    for number, (first, run_ids) in enumerate(groups.items()):
        covering = curves[curves["run"].isin(run_ids)].groupby("epsilon")["covering"]
        part = covering.agg(["mean", "min", "max", "size"]).reset_index()
        if part.empty:
            continue
        # Later curves are thinner, so that one that coincides with another is still seen.
        width = 2 + (len(groups) - 1 - number) * min(2.5, THICKEST / len(groups))
        _curve(figure, part, styles[first], width, unit)
        if chains is not None:
            _each_chain(figure, chains[chains["run"].isin(run_ids)], styles[first], unit)
    radius_axis: dict[str, object] = (
        {"type": "log"} if logarithmic_radius else {"rangemode": "tozero"}
    )
    if unit == "°" and not rounded(curves["epsilon"].to_numpy(), unit).any():
        # All are one factorization, as far as angles tell: no picture of their rounding.
        radius_axis |= {"range": [0, 1]}
        title += f", all identical (to {ROUNDING:g}°)"
    in_unit = f" ({unit})" if unit else ""
    figure.update_xaxes(title=f"radius ε in {distance_label}{in_unit}", **radius_axis)
    figure.update_yaxes(
        title="covering number", **count_axis(curves["covering"].max(), logarithmic)
    )
    return layout(figure, title, height=430)


def _each_chain(figure: go.Figure, chains: pd.DataFrame, style: RunStyle, unit: str) -> None:
    """The curves of single chains, which have one place in the legend."""
    for number, (_, part) in enumerate(chains.groupby(["run", "chain"], sort=False)):
        chain = part["chain"].iloc[0] + 1
        figure.add_scatter(
            x=part["epsilon"],
            y=part["covering"],
            mode="lines",
            name=f"{style.label}, each chain",
            legendgroup=f"{style.label}, each chain",
            showlegend=number == 0,
            opacity=0.55,
            line={"color": style.color, "width": 1, "shape": "hv"},
            hovertemplate=f"chain {chain}: %{{y}} balls of radius %{{x:.3g}} {unit}<extra>"
            + style.label
            + "</extra>",
        )


def _curve(figure: Sketch, part: pd.DataFrame, style: RunStyle, width: float, unit: str) -> None:
    repeated = int(part["size"].max())
    name = style.label + (f", mean of {repeated}" if repeated > 1 else "")
    if repeated > 1:
        color = translucent(style.color, 0.2)
        figure.add_band(part["epsilon"], part["min"], part["max"], color)
    figure.add_scatter(
        x=part["epsilon"],
        y=part["mean"],
        mode="lines",
        name=name,
        line={"color": style.color, "dash": style.dash, "width": width, "shape": "hv"},
        hovertemplate="%{y:.4g} balls of radius %{x:.3g} "
        + unit
        + "<extra>%{fullData.name}</extra>",
    )
