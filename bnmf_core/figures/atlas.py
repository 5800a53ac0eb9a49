"""Data sets beside each other: how often another start reports another factorization."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import LETTER, MUTED, layout, safe

# Pixels of a data set, of the axis and title, and of the longest name.
ROW, AROUND, NAME = 18, 130, 200
STAR, NO_MASS = " *", " (*: most not weighed)"
CHOSEN, RAIL, DOT = "#9B1D5A", "#ECEFF2", "#0072B2"


def restarts_elsewhere(
    labels: Sequence[str],
    shares: Sequence[float],
    published: Sequence[float | None],
    weighed: Sequence[bool],
    chosen: str = "",
) -> go.Figure:
    """A bar for each data set, from above in the order given, on a rail of all restarts.

    Parameters
    ----------
    labels : of the data sets. shares : of their converged restarts, 0 to 1, that miss the most
        probable mode. published : the same at the published number of components, a diamond; None
        where there is none. weighed : whether masses are known; a star says that the best fit
        stands for the most probable mode. chosen : the label of the bar that is brought forward.
    """
    names = [safe(label) + STAR * (not known) for label, known in zip(labels, weighed, strict=True)]
    figure = Sketch()
    parts = 100.0 * np.asarray(shares, dtype=float)
    colors = [CHOSEN if label == chosen else MUTED for label in labels]
    for x, color, hover, name in (
        (
            parts,
            colors,
            "%{y}: %{x:.3g} %<extra></extra>",
            "at the recommended number, if any",
        ),
        (100.0 - parts, RAIL, "%{y}: %{customdata:.3g} %<extra></extra>", ""),
    ):
        figure.add(
            "bar",
            orientation="h",
            x=x,
            y=names,
            customdata=parts,
            marker={"color": color},
            hovertemplate=hover,
            name=name,
            showlegend=bool(name),
        )
    dots = [(100.0 * at, name) for at, name in zip(published, names, strict=True) if at is not None]
    figure.add_scatter(
        x=[at for at, _ in dots],
        y=[name for _, name in dots],
        mode="markers",
        name="at the published number",
        marker={"symbol": "diamond", "size": 9, "color": DOT},
        hovertemplate="%{y}, published number: %{x:.3g} %<extra></extra>",
        showlegend=True,
    )
    figure.update_xaxes(title="converged restarts (%)", range=[-1, 101])
    figure.update_yaxes(autorange="reversed", showgrid=False)
    room = min(NAME, LETTER * max(map(len, names), default=0))
    return layout(
        figure,
        "Restarts that miss the most probable mode" + NO_MASS * (not all(weighed)),
        height=ROW * len(names) + AROUND,
        margin={"l": int(room) + 20, "t": 66},
        barmode="stack",
    )
