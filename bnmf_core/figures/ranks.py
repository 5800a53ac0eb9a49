"""Four criteria for the number of components, side by side."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.evidence.criteria import Criterion, no_evidence
from bnmf_core.figures.style import HIGHLIGHT, LINE, layout

# Of each criterion: column, its error, the axis ("": what the loss measures), how a number is
# written, and what is better.
PANELS = {
    "evidence": ("behind", "error", "log evidence minus the best (nats)", ",.1f", "higher"),
    "hidden": ("hidden_error", "hidden_error_spread", "", ".3g", "lower"),
    "stability": ("stability", "", "mean angle (°)", ".3g", "lower"),
    "modes": ("modes", "", "modes of the restarts", "d", "lower"),
}


def rank_criteria(
    table: pd.DataFrame,
    criteria: Mapping[str, Criterion],
    measure: str = SQUARED_ERROR.measure,
) -> go.Figure:
    """A panel for each criterion: its curve with one standard error, its choice, the runners-up.

    Where there can be no evidence, it has no panel.

    Parameters
    ----------
    table, criteria : as of :class:`~bnmf_core.evidence.rank_study.RankStudy`.
    measure : what the error on held-out entries is.
    """
    panels = {
        key: panel
        for key, panel in PANELS.items()
        if key != "evidence" or not no_evidence(criteria)
    }
    shown = table.assign(behind=table["log_evidence"] - table["log_evidence"].max())
    titles = [_title(criteria[key], panel[4]) for key, panel in panels.items()]
    figure = make_subplots(1, len(panels), subplot_titles=titles, horizontal_spacing=0.07)
    for number, (key, (column, error, axis, digits, _)) in enumerate(panels.items(), 1):
        _add_panel(figure, number, shown, criteria[key], column, error, digits)
        figure.update_yaxes(title={"text": axis or measure, "standoff": 4}, row=1, col=number)
    figure.update_yaxes(rangemode="tozero", row=1, col=len(panels) - 1)
    figure.update_yaxes(rangemode="tozero", row=1, col=len(panels))
    ranks = table["rank"].tolist()
    for number, (key, (column, *_)) in enumerate(panels.items(), 1):
        if shown[column].isna().all():  # an axis without values says nothing
            figure.update_yaxes(visible=False, row=1, col=number)
            figure.add_annotation(
                text="cannot be computed" if criteria[key].said else "not computed yet",
                showarrow=False,
                row=1,
                col=number,
                x=float(table["rank"].mean()),
                y=0,
            )
    figure.update_xaxes(title="rank", tickvals=ranks, range=[ranks[0] - 0.5, ranks[-1] + 0.5])
    figure.update_annotations(font={"size": 13})
    return layout(figure, "", height=290, margin={"t": 42, "b": 42})


def _title(criterion: Criterion, better: str) -> str:
    chosen = f"chooses {criterion.chosen}" if criterion.settles else "does not settle"
    if not criterion.said:
        chosen = "so far"
    return f"<b>{criterion.label}</b><br><sup>{better} is better · {chosen}</sup>"


def _add_panel(
    figure: go.Figure,
    number: int,
    table: pd.DataFrame,
    criterion: Criterion,
    column: str,
    error: str,
    digits: str,
) -> None:
    ranks, values = table["rank"].to_numpy(), table[column].to_numpy(float)
    bars = {"type": "data", "array": table[error], "thickness": 1.2} if error else None
    role = np.array([_role(int(rank), criterion) for rank in ranks])
    fill = {"chosen": HIGHLIGHT, "runner-up": "white", "": LINE}
    edge = {"chosen": HIGHLIGHT, "runner-up": HIGHLIGHT, "": LINE}
    figure.add_scatter(
        x=ranks,
        y=values,
        error_y=bars,
        mode="lines+markers",
        line={"color": LINE, "width": 1.6},
        marker={
            "color": [fill[r] for r in role],
            "size": np.where(role == "", 6, 12),
            "line": {"width": 2, "color": [edge[r] for r in role]},
        },
        customdata=[_words(r, criterion) for r in role],
        hovertemplate=f"rank %{{x}}: %{{y:{digits}}}%{{customdata}}<extra></extra>",
        cliponaxis=False,
        showlegend=False,
        row=1,
        col=number,
    )


def _role(rank: int, criterion: Criterion) -> str:
    if rank == criterion.chosen:
        # The end of the range is the best that was tried, and no choice.
        return "chosen" if criterion.settles else "runner-up"
    return "runner-up" if rank in criterion.runners_up else ""


def _words(role: str, criterion: Criterion) -> str:
    if role == "chosen":
        return "<br>chosen"
    return ("<br>as good" if criterion.settles else "<br>not ruled out") if role else ""
