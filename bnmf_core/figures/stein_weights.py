"""Weighted particles: which factorizations make up the posterior (paper 3, §6)."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import MUTED, RunStyle, layout

BINS = 40
# More names than this do not fit below the bars.
MOST_NAMED = 40
# More than this only fit when they are turned.
MOST_LEVEL = 6


def weight_bars(table: pd.DataFrame, styles: Mapping[str, RunStyle]) -> go.Figure:
    """One bar per particle with a weight, the largest first, in its run's colour.

    Parameters
    ----------
    table : columns run, name and weight, sorted.
    """
    figure = Sketch()
    for run_id, style in styles.items():
        part = table[table["run"] == run_id]
        if part.empty:
            continue
        figure.add_bar(
            x=part["name"],
            y=part["weight"],
            name=style.label,
            marker={"color": style.color},
            hovertemplate="%{x}: %{y:.1%}<extra>" + style.label + "</extra>",
        )
    named, turned = len(table) <= MOST_NAMED, len(table) > MOST_LEVEL
    figure.update_xaxes(
        categoryorder="array",
        categoryarray=list(table["name"]),
        showticklabels=named,
        tickangle=-60 if turned else 0,
        title=None if named else "factorizations, the largest weight first",
    )
    figure.update_yaxes(title="weight", tickformat=".0%", rangemode="tozero")
    return layout(
        figure,
        "Factorizations that make up the posterior",
        height=430 if named and turned else 360,
        margin={"b": 150 if named and turned else 50},
    )


def pairs_by_similarity(matrix: np.ndarray, kept: np.ndarray) -> pd.DataFrame:
    """How many pairs are how alike, or how far apart: columns from, to, pairs.

    Parameters
    ----------
    matrix : (m, m) similarities or distances. kept : (m,) bool, the ones that count.
    """
    inside = np.asarray(matrix)[np.ix_(kept, kept)]
    values = inside[np.triu_indices(inside.shape[0], 1)]
    largest = max(1.0, float(values.max(initial=0.0)))
    pairs, edges = np.histogram(values, BINS, (0.0, largest))
    return pd.DataFrame({"from": edges[:-1], "to": edges[1:], "pairs": pairs})


def similarity_histogram(table: pd.DataFrame, label: str, axis: str) -> go.Figure:
    """Bars of :func:`pairs_by_similarity`; ``label``, ``axis`` : what is measured, its unit."""
    figure = Sketch()
    figure.add_bar(
        x=(table["from"] + table["to"]) / 2,
        y=table["pairs"],
        width=table["to"] - table["from"],
        marker={"color": MUTED},
        customdata=table[["from", "to"]],
        hovertemplate="%{customdata[0]:.3g} to %{customdata[1]:.3g}: %{y} pairs<extra></extra>",
    )
    figure.update_xaxes(title=axis, range=[0, 1.02 * table["to"].max()])
    figure.update_yaxes(title="pairs")
    return layout(figure, f"{label} of all pairs", height=360)


def likelihood_curve(
    objective: np.ndarray,
    curve: tuple[np.ndarray, np.ndarray],
    epsilon: float,
    runs: Sequence[str],
    styles: Mapping[str, RunStyle],
    label: str,
) -> go.Figure:
    """The likelihood over the objective f, and where the factorizations fall.

    Parameters
    ----------
    objective : (m,) f of every factorization. curve : f and exp(−C·SILF(f)) of the line.
    epsilon : the threshold. runs : (m,) run ids.
    """
    figure = Sketch()
    figure.add_scatter(
        x=curve[0],
        y=curve[1],
        mode="lines",
        name="likelihood",
        line={"color": MUTED, "width": 3},
        hovertemplate="f = %{x:.4g}: %{y:.3f}<extra>likelihood</extra>",
    )
    heights = np.interp(objective, *curve)
    for run_id, style in styles.items():
        mine = np.array([run == run_id for run in runs])
        if not mine.any():
            continue
        figure.add_scatter(
            x=objective[mine],
            y=heights[mine],
            mode="markers",
            name=style.label,
            marker={"color": style.color, "symbol": style.symbol, "size": 8, "opacity": 0.6},
            hovertemplate="f = %{x:.5g}<extra>" + style.label + "</extra>",
        )
    figure.add_vline(
        x=epsilon, line={"color": MUTED, "dash": "dash"}, annotation_text="threshold ε"
    )
    figure.update_xaxes(title=label)
    figure.update_yaxes(title="likelihood, largest = 1", range=[-0.04, 1.08])
    return layout(figure, "Good enough, and by how much", height=360)
