"""How good every factorization is, run by run (paper 3, figures 15 to 20)."""

import html
from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go

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
) -> go.Figure:
    """Error on hidden entries over the error on seen ones, one point per factorization.

    Parameters
    ----------
    table : columns run, converged, error and hidden. focus : (m,) bool, brought forward.
    by_means : error on the hidden entries of putting the mean of each feature there.
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
            hovertemplate="seen %{x:.5g}, hidden %{y:.5g}<extra>" + style.label + "</extra>",
        )
    figure.update_xaxes(title="‖X − AW‖/‖X‖ on seen entries")
    figure.update_yaxes(title="‖X − AW‖/‖X‖ on hidden entries")
    title = f"Error on hidden entries (mean of each feature: {by_means:.3g}){thin.note}"
    return layout(figure, title, height=380)
