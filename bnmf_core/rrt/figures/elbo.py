"""A mixture that takes in one factorization after the other (paper 2, §3.1)."""

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import MUTED, RunStyle, layout

# A smaller difference from the best, in nats, is drawn as this one: nobody would act on it.
SMALLEST_DIFFERENCE = 1.0
# Colours of what became of proposals, none of them an algorithm's: components, then shades of grey.
FATES = {
    "remain": ("joined, remain", "#6A3FC0"),
    "left": ("joined, left later", "#B08CF0"),
    "gain": ("rejected: gain too small", "#A8B1BA"),
    "near": ("rejected: too near", MUTED),
    "impossible": ("rejected: impossible", "#6C7780"),
    "flat": ("rejected: no curvature", "#525A61"),
}
# A bar below this fraction of the longest has no room for its number.
ROOM_FOR_NUMBER = 0.04


def bound_over_proposals(
    table: pd.DataFrame, styles: Mapping[str, RunStyle], quantity: str, from_best: bool
) -> go.Figure:
    """ELBO, entropy or energy of every run's mixture after each proposal.

    Parameters
    ----------
    table : columns run, proposal (from 1), number (of the factorization), value (nats, NaN while
        the mixture is empty), best (nats, the largest value of runs that can be compared), joined.
    quantity : what ``value`` is, in words. from_best : draw best − value on a logarithmic axis.
    """
    figure = Sketch()
    for run_id, style in styles.items():
        part = table[table["run"] == run_id]
        if part.empty:
            continue
        values = part["value"].to_numpy()
        below = part["best"].to_numpy() - values
        heights = np.maximum(below, SMALLEST_DIFFERENCE) if from_best else values
        hover = (
            "proposal %{x}, factorization %{customdata[0]}: %{customdata[1]:,.3f} nats, "
            "%{customdata[2]:.3g} below the best<extra>" + style.label + "</extra>"
        )
        customdata = np.stack([part["number"], values, below], axis=1)
        figure.add_scatter(
            x=part["proposal"],
            y=heights,
            mode="lines",
            name=style.label,
            customdata=customdata,
            line={"color": style.color, "dash": style.dash, "width": 2, "shape": "hv"},
            legendgroup=run_id,
            hovertemplate=hover,
        )
        joined = part["joined"].to_numpy()
        figure.add_scatter(
            x=part["proposal"][joined],
            y=heights[joined],
            mode="markers",
            customdata=customdata[joined],
            marker={"color": style.color, "symbol": style.symbol, "size": 7, "opacity": 0.7},
            legendgroup=run_id,
            showlegend=False,
            name=style.label,
            hovertemplate=hover,
        )
    figure.update_xaxes(title="proposals so far", rangemode="tozero")
    if from_best:
        drawn = np.maximum(table["best"] - table["value"], SMALLEST_DIFFERENCE)
        powers = range(math.ceil(math.log10(max(1.0, drawn.max()))) + 1)
        figure.update_yaxes(
            title=f"{quantity}: nats below the best",
            type="log",
            tickvals=[10**power for power in powers],
            ticktext=["≤ 1", *(f"{10**power:,}" for power in powers[1:])],
        )
    else:
        figure.update_yaxes(title=f"{quantity} (nats)", tickformat=",")
    return layout(figure, f"{quantity} of the mixture over proposals", height=400)


def fate_bars(table: pd.DataFrame, styles: Mapping[str, RunStyle]) -> go.Figure:
    """How many proposals of every run joined, left again, or were rejected, and why.

    Parameters
    ----------
    table : columns run, fate (a key of ``FATES``), count.
    """
    figure = Sketch()
    longest = table.groupby("run")["count"].sum().max()
    for fate, (words, color) in FATES.items():
        part = table[table["fate"] == fate]
        if not part["count"].sum():
            continue
        figure.add_bar(
            x=part["count"],
            y=part["run"],
            orientation="h",
            name=words,
            marker={"color": color},
            text=[str(n) if n > ROOM_FOR_NUMBER * longest else "" for n in part["count"]],
            textposition="inside",
            textangle=0,
            customdata=[styles[run_id].label for run_id in part["run"]],
            hovertemplate="%{x} " + words + "<extra>%{customdata}</extra>",
        )
    figure.update_xaxes(title="proposals")
    shown = [run_id for run_id in styles if run_id in set(table["run"])]
    figure.update_yaxes(
        type="category",
        categoryorder="array",
        categoryarray=shown,
        autorange="reversed",
        tickvals=shown,
        ticktext=[styles[run_id].label for run_id in shown],
    )
    return layout(
        figure,
        "What became of the proposals",
        height=150 + 40 * len(shown),
        barmode="stack",
        margin={"l": 120},
        legend={"traceorder": "normal"},
    )
