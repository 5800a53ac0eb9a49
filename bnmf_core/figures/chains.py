"""Chains: their traces, whether they agree, and how much runs have seen so far."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from scipy.stats import rankdata

from bnmf_core.compare.mixing import SHORTEST, TAIL, effective_size
from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import LINE, MUTED, RunStyle, component_color, layout, safe
from bnmf_core.figures.thinning import FEWEST_ON_LINE, MOST_ON_LINES, envelope

# Chains of one run share its colour; the later ones are paler and differ by dashes.
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


# Pixels; bins of a rank plot, and places along the draws.
HEIGHT, BINS, PLACES = 300, 20, 15
# Maximum number of chains with a line of their own.
MOST_CHAINS = 16


def rank_plot(values: np.ndarray, label: str) -> go.Figure:
    """How many draws of each chain fall into each twentieth of the pooled ranks.

    Of chains that describe one distribution every line is level but for chance (Vehtari and others
    2021, section 5.2).

    Parameters
    ----------
    values : (C, K) draws of a quantity. label : what it is.
    """
    C, K = values.shape
    bins = max(2, min(BINS, C * K // 10))
    ranks = rankdata(values).reshape(C, K)
    edges = np.linspace(0.5, C * K + 0.5, bins + 1)
    figure = Sketch()
    for c in range(min(C, MOST_CHAINS)):
        counts = np.histogram(ranks[c], edges)[0]
        figure.add_scatter(
            x=(edges[:-1] + edges[1:]) / 2 / (C * K),
            y=counts,
            mode="lines",
            name=f"chain {c + 1}",
            line={
                "shape": "hvh",
                "width": 1.6,
                "color": component_color(c),
                "dash": CHAIN_DASHES[c % len(CHAIN_DASHES)],
            },
            hovertemplate="%{y} draws<extra>%{fullData.name}</extra>",
        )
    _level(figure, K / bins)
    figure.update_xaxes(title="rank among the draws of all chains, from 0 to 1")
    figure.update_yaxes(title="draws", rangemode="tozero")
    return layout(figure, f"Ranks by chain: {safe(label, 40)}", HEIGHT)


def size_over_draws(values: np.ndarray, label: str, wanted: float) -> go.Figure:
    """Effective sample sizes of the first draws of all chains, as more are counted.

    They rise in proportion while chains go on to tell something new.

    Parameters
    ----------
    values : (C, K) draws of a quantity. label : what it is. wanted : the required size.
    """
    C, K = values.shape
    lengths = np.unique(np.linspace(min(SHORTEST, K), K, PLACES).astype(int))
    lengths = lengths[lengths >= SHORTEST]
    figure = Sketch()
    for method, name, color in (
        ("bulk", "bulk", LINE),
        ("tail", f"tail ({TAIL:.0%} and {1 - TAIL:.0%})", "#D55E00"),
    ):
        sizes = [
            effective_size(values[:, :length], method) if np.ptp(values[:, :length]) else np.nan
            for length in lengths
        ]
        figure.add_scatter(
            x=C * lengths,
            y=sizes,
            mode="lines+markers",
            name=name,
            line={"color": color, "width": 1.6},
            hovertemplate="%{x} draws: %{y:.0f}<extra>%{fullData.name}</extra>",
        )
    _level(figure, wanted)
    figure.update_xaxes(title="draws of all chains", rangemode="tozero")
    figure.update_yaxes(title="effective sample size", rangemode="tozero")
    return layout(figure, f"Effective sample size: {safe(label, 40)}", HEIGHT)


def forest_plot(series: Mapping[str, np.ndarray], label: str, unit: str) -> go.Figure:
    """Median and 90 % of every quantity, a bar for each chain.

    Parameters
    ----------
    series : name → (C, K) draws. label, unit : what all of them are.
    """
    names = list(series)
    figure = Sketch()
    for place, values in enumerate(series.values()):
        low, middle, high = np.quantile(values, (0.05, 0.5, 0.95), axis=1)
        C = min(len(values), MOST_CHAINS)
        at = place + 0.6 * ((np.arange(C) + 0.5) / C - 0.5)
        figure.add_scatter(
            x=middle[:C],
            y=at,
            mode="markers",
            marker={"size": 6, "color": [component_color(c) for c in range(C)]},
            error_x={
                "type": "data",
                "array": (high - middle)[:C],
                "arrayminus": (middle - low)[:C],
                "color": MUTED,
                "thickness": 1.4,
                "width": 0,
            },
            text=[f"{safe(names[place])}, chain {c + 1}" for c in range(C)],
            hovertemplate="%{text}: %{x:.4g}<extra></extra>",
            showlegend=False,
        )
    figure.update_yaxes(
        tickvals=list(range(len(names))),
        ticktext=[safe(name, 24) for name in names],
        autorange="reversed",
    )
    figure.update_xaxes(title=f"{label} ({unit})" if unit else label)
    height = int(max(HEIGHT, 110 + 26 * len(names)))
    return layout(figure, f"{safe(label)}: median and 90 % of each chain", height)


def _level(figure: Sketch, y: float) -> None:
    line = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y}
    figure.update_layout(shapes=[line | {"line": {"color": MUTED, "width": 1, "dash": "dot"}}])


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
