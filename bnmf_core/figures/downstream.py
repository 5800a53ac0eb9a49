"""Does the choice of factorization change a prediction? (paper 3, figures 6 and 28)."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import HIGHLIGHT, LINE, MUTED, RunStyle, layout, markers, safe
from bnmf_core.figures.thinning import thinned

WIDTH = 0.7
# Offset of the posterior's range from the middle of its class.
BESIDE = 0.42
# The axis reaches down to here at least: small differences near 1 are to look small.
LEAST = 0.95
# Maximum number of tasks across which winners are followed.
MOST_FOLLOWED = 8


def auc_plot(
    scores: pd.DataFrame,
    members: pd.DataFrame,
    styles: Mapping[str, RunStyle],
    focus: np.ndarray,
    posterior: pd.DataFrame | None = None,
) -> go.Figure:
    """AUC of every factorization on every task; the best per task is joined across tasks.

    Parameters
    ----------
    scores : columns member (row of ``members``), task, auc. focus : (m,) bool. Factorizations that
        have not converged are hollow. posterior : columns task, auc, low and high, the mean over
        the posterior and what its draws and masses allow.
    """
    place, tasks = pd.factorize(scores["task"])
    every, auc = scores["member"].to_numpy(), scores["auc"].to_numpy()
    # Of every task the one with the largest AUC, where it is drawn.
    best = np.array(
        [np.flatnonzero(place == k)[auc[place == k].argmax()] for k in range(len(tasks))]
    )
    run_of, converged = members["run"].to_numpy()[every], members["converged"].to_numpy(bool)[every]
    lane = (pd.Index(styles).get_indexer(pd.Index(run_of)) + 0.5) / len(styles) - 0.5
    spread = (every * 0.61803) % 1 - 0.5
    across = place + WIDTH * (lane + 0.7 * spread / len(styles))
    thin = thinned(across, auc, run_of, converged, focus[every])
    figure = Sketch()
    for run_id, style in styles.items():
        mine = np.flatnonzero((run_of == run_id) & thin.drawn)
        figure.add_scatter(
            x=across[mine],
            y=auc[mine],
            mode="markers",
            name=style.label,
            customdata=thin.customdata(mine, every),
            marker=markers(style, converged[mine], focus[every[mine]]),
            hovertemplate="AUC %{y:.3f}, " + style.label + "<extra></extra>",
        )
    if len(tasks) <= MOST_FOLLOWED:
        table = scores.pivot(index="member", columns="task", values="auc")[tasks]
        for task, member in table.idxmax().items():
            figure.add_scatter(
                x=list(range(len(tasks))),
                y=table.loc[member],
                mode="lines",
                line={"color": MUTED, "width": 1, "dash": "dot"},
                showlegend=False,
                hovertemplate=f"best on {safe(task)}: %{{y:.3f}}<extra></extra>",
            )
    if posterior is not None:
        of_task = posterior.set_index("task").reindex(tasks)
        figure.add_scatter(
            x=[place - BESIDE for place in range(len(tasks))],
            y=of_task["auc"],
            mode="markers",
            name="posterior, 90 %",
            marker={"symbol": "line-ew-open", "size": 9, "color": LINE},
            error_y={
                "type": "data",
                "array": of_task["high"] - of_task["auc"],
                "arrayminus": of_task["auc"] - of_task["low"],
                "color": LINE,
            },
            hovertemplate="posterior mean: %{y:.3f}<extra></extra>",
        )
    figure.add_scatter(
        x=across[best],
        y=auc[best],
        mode="markers",
        name="best of its class",
        marker={"symbol": "star", "size": 13, "color": HIGHLIGHT},
        cliponaxis=False,
        hovertemplate="best: %{y:.3f}<extra></extra>",
    )
    figure.update_xaxes(
        tickvals=list(range(len(tasks))),
        ticktext=[safe(task, 24) for task in tasks],
        range=[-0.6, len(tasks) - 0.4],
        showgrid=False,
    )
    low = float(np.nanmin(scores["auc"])) if len(scores) else 0.5
    room = 0.05 * (1.0 - min(low, LEAST))
    figure.update_yaxes(
        title="AUC (0.5 is chance, 1 is perfect)", range=[min(low, LEAST) - room, 1.0 + room]
    )
    title = f"AUC of each class{thin.note}"
    return layout(figure, title, height=400)
