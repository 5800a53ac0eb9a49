"""Whether chains agree: ranks of their draws, effective sizes as draws come in, and intervals."""

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go
from scipy.stats import rankdata

from bnmf_core.compare.mixing import SHORTEST, TAIL, effective_size
from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import LINE, MUTED, component_color, layout, safe
from bnmf_core.figures.trace import CHAIN_DASHES

# Pixels; bins of a rank plot, and places along the draws.
HEIGHT, BINS, PLACES = 300, 20, 15
# Chains of which each has its own line.
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
    values : (C, K) draws of a quantity. label : what it is. wanted : the size that is asked for.
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
