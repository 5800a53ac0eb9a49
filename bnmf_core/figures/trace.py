"""Traces: a quantity along the chains of samplers, the warm-up marked."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import MUTED, RunStyle, layout
from bnmf_core.figures.thinning import FEWEST_ON_LINE, MOST_ON_LINES, envelope

# Chains of one run share its colour; the later ones are paler, and told apart by dashes.
FAINTEST = 0.45
CHAIN_DASHES = ("solid", "dot", "dash", "dashdot")


def trace_plot(
    traces: Mapping[str, pd.DataFrame],
    styles: Mapping[str, RunStyle],
    quantity: str,
    label: str,
    unit: str,
) -> go.Figure:
    """One line per chain over the recorded states, the warm-up on a grey ground left of 0.

    Long chains are drawn by the least and the largest value of each short stretch.

    Parameters
    ----------
    traces : run id → table with columns chain, sweep, warm_up and the quantity.
    """
    figure = Sketch()
    lines = sum(table["chain"].nunique() for table in traces.values())
    most = max(FEWEST_ON_LINE, MOST_ON_LINES // max(lines, 1))
    for run_id, table in traces.items():
        chains = table["chain"].unique()
        for number, chain in enumerate(chains):
            part = table[table["chain"] == chain]
            part = part.assign(state=_counted(part))
            part = part.iloc[envelope(part[quantity].to_numpy(), most)]
            name = styles[run_id].label + (f", chain {chain + 1}" if len(chains) > 1 else "")
            _line(figure, part, quantity, name, styles[run_id], number, len(chains))
    first = min((_counted(table).min() for table in traces.values()), default=0)
    if first < 0:
        figure.add_vrect(
            x0=first,
            x1=-0.5,
            fillcolor=MUTED,
            opacity=0.15,
            line_width=0,
            annotation_text="warm-up, not kept",
            annotation_position="bottom left",
        )
    figure.update_xaxes(title="state of the chain, counted from the first kept one")
    figure.update_yaxes(title=f"{label} ({unit})" if unit else label)
    return layout(figure, f"{label} along each chain", height=430)


def _counted(table: pd.DataFrame) -> pd.Series:
    """Number of each state of a chain or chains, negative during the warm-up."""
    warm_up = table["warm_up"].astype(bool)
    return table["sweep"] - (table.loc[warm_up, "sweep"].max() + 1 if warm_up.any() else 0)


def _line(
    figure: go.Figure,
    part: pd.DataFrame,
    quantity: str,
    name: str,
    style: RunStyle,
    number: int,
    chains: int,
) -> None:
    figure.add_scatter(
        x=part["state"],
        y=part[quantity],
        mode="lines",
        name=name,
        opacity=1 - (1 - FAINTEST) * number / max(chains - 1, 1),
        line={
            "color": style.color,
            "width": 1.2,
            "dash": CHAIN_DASHES[number % len(CHAIN_DASHES)],
        },
        hovertemplate="state %{x}: %{y:.5g}<extra>%{fullData.name}</extra>",
    )
