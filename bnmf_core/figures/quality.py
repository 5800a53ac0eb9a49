"""How good, how different and how weighty factorizations are (paper 3, figures 15 to 26 and §6)."""

import html
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import (
    MIDDLE,
    MUTED,
    RunStyle,
    in_lines,
    layout,
    logarithmic_axis,
    markers,
)
from bnmf_core.figures.thinning import thinned

# A point's place across its run's lane: a low-discrepancy sequence, so that points do not pile up.
STRIDE = 0.61803
WIDTH = 0.6
# Of a logarithmic axis.
SMALLEST = 1e-16
# Pixels: of a lane, of the title and the axis beside the lanes, of the names of runs.
LANE, AROUND, NAME = 52, 110, 140
LEAST_HEIGHT = 300


def quality_plot(
    table: pd.DataFrame,
    styles: Mapping[str, RunStyle],
    quantity: str,
    title: str,
    axis: str,
    focus: np.ndarray,
    line: tuple[float, str] | None = None,
    logarithmic: bool = False,
) -> go.Figure:
    """One point per factorization, a row per run that has any, and a bar at the run's median.

    Points that have not converged are hollow.

    Parameters
    ----------
    table : columns run, converged and the quantity, NaN where it is not known.
    axis : what the quantity is, below its axis.
    focus : (m,) bool, brought forward. line : a value that is drawn through all rows, and what it
        is.
    logarithmic : whether the axis is; what is below ``SMALLEST`` is then drawn there.
    """
    figure = Sketch()
    runs, converged = table["run"].to_numpy(), table["converged"].to_numpy(bool)
    known = set(runs[table[quantity].notna().to_numpy()])
    styles = {run_id: style for run_id, style in styles.items() if run_id in known}
    values, every = table[quantity].to_numpy(dtype=float), np.arange(len(table))
    if logarithmic:
        values = np.maximum(values, SMALLEST)
    up = pd.Index(styles).get_indexer(pd.Index(runs)) + WIDTH * ((every * STRIDE) % 1 - 0.5)
    thin = thinned(np.log(values) if logarithmic else values, up, runs, converged, focus)
    for lane, (run_id, style) in enumerate(styles.items()):
        rows = np.flatnonzero((runs == run_id) & thin.drawn)
        figure.add_scatter(
            x=values[rows],
            y=up[rows],
            mode="markers",
            name=style.label,
            customdata=thin.customdata(rows, every),
            marker=markers(style, converged[rows], focus[rows]),
            hovertemplate="%{x:.5g}<extra>" + style.label + "</extra>",
        )
        middle = float(np.nanmedian(values[runs == run_id]))
        figure.add_shape(
            type="line",
            x0=middle,
            x1=middle,
            y0=lane - 0.38,
            y1=lane + 0.38,
            line={"color": MIDDLE, "width": 3},
        )
    if line is not None:
        figure.add_vline(
            x=line[0],
            line={"color": MUTED, "dash": "dash"},
            annotation_text=line[1],
            annotation_position="top left",
        )
    figure.update_yaxes(
        tickvals=list(range(len(styles))),
        ticktext=[in_lines(html.unescape(style.label), NAME) for style in styles.values()],
        range=[len(styles) - 0.5, -0.5],
        showgrid=False,
        zeroline=False,
    )
    shown = np.maximum(table[quantity].dropna(), SMALLEST)
    kind = logarithmic_axis(shown.min(), shown.max()) if logarithmic else {}
    figure.update_xaxes(title=axis, **kind)
    height = max(LEAST_HEIGHT, AROUND + LANE * len(styles))
    return layout(figure, title + thin.note, height=height, showlegend=False)


def hidden_plot(
    table: pd.DataFrame,
    styles: Mapping[str, RunStyle],
    focus: np.ndarray,
    by_means: float,
    axes: tuple[str, str] = (SQUARED_ERROR.axis, SQUARED_ERROR.axis),
) -> go.Figure:
    """Error on held-out entries over the error on seen ones, one point per factorization.

    Parameters
    ----------
    table : columns run, converged, error and hidden. focus : (m,) bool, brought forward.
    by_means : error on the held-out entries of putting the mean of each feature there.
    axes : what the errors on seen and on held-out entries are.
    """
    figure = Sketch()
    runs, converged = table["run"].to_numpy(), table["converged"].to_numpy(bool)
    seen, hidden = table["error"].to_numpy(), table["hidden"].to_numpy()
    thin = thinned(seen, hidden, runs, converged, focus)
    for run_id, style in styles.items():
        rows = np.flatnonzero((runs == run_id) & thin.drawn)
        figure.add_scatter(
            x=seen[rows],
            y=hidden[rows],
            mode="markers",
            name=style.label,
            customdata=thin.customdata(rows, np.arange(len(table))),
            marker=markers(style, converged[rows], focus[rows]),
            hovertemplate="observed %{x:.5g}, held out %{y:.5g}<extra>" + style.label + "</extra>",
        )
    figure.update_xaxes(title=f"{axes[0]} on seen entries")
    figure.update_yaxes(title=f"{axes[1]} on held-out entries")
    title = f"Error on held-out entries (mean of each feature: {by_means:.3g}){thin.note}"
    return layout(figure, title, height=380)


# More pairs of a run than this do not change the picture, but make it slow.
MOST_PAIRS = 4000


def pairs_within(matrix: np.ndarray, runs: np.ndarray) -> pd.DataFrame:
    """Columns run and value: a symmetric matrix (m, m) between the members of each run.

    ``runs`` (m,) names every member's run. Of more than ``MOST_PAIRS`` pairs in a run, so many,
    evenly spaced, stay.
    """
    parts = []
    for run in dict.fromkeys(runs):
        rows = np.flatnonzero(runs == run)
        values = np.asarray(matrix)[np.ix_(rows, rows)][np.triu_indices(rows.size, 1)]
        values = values[:: max(1, -(-values.size // MOST_PAIRS))]
        parts.append(pd.DataFrame({"run": run, "value": values}))
    return pd.concat(parts, ignore_index=True)


def pair_violins(
    table: pd.DataFrame, styles: Mapping[str, RunStyle], title: str, axis: str
) -> go.Figure:
    """One violin per run: the values of all its pairs, quartiles inside.

    Parameters
    ----------
    table : columns run and value, as :func:`pairs_within` makes them.
    """
    figure = Sketch()
    for run_id, style in styles.items():
        values = table.loc[table["run"] == run_id, "value"]
        figure.add_violin(
            y=values,
            name=style.label,
            line={"color": style.color},
            box={"visible": True},
            points=False,
            spanmode="hard",
            hoverinfo="y",
        )
    figure.update_yaxes(title=axis)
    return layout(figure, title, height=360, showlegend=False)


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


def pairs_by_similarity(matrix: np.ndarray, mask: np.ndarray) -> pd.DataFrame:
    """How many pairs are how alike, or how far apart: columns from, to, pairs.

    Parameters
    ----------
    matrix : (m, m) similarities or distances. mask : (m,) bool, the ones that count.
    """
    inside = np.asarray(matrix)[np.ix_(mask, mask)]
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


def discrepancy_over_time(
    points: pd.DataFrame,
    styles: Mapping[str, RunStyle],
    title: str,
    axis: str = "Stein discrepancy",
) -> go.Figure:
    """One line with markers per run and repetition, both axes logarithmic.

    Parameters
    ----------
    points : columns run, seconds, value (what ``axis`` says), M (how many particles) and, where
        there is more than one line of a run, repetition. Values of 0 cannot be shown.
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
    figure.update_yaxes(title=axis, **logarithmic_axis(shown["value"].min(), shown["value"].max()))
    return layout(figure, title, height=400)
