"""Data sets beside each other: how often another start reports another factorization."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import LETTER, MUTED, layout, rounded, safe

# Pixels of a data set, of the axis and title, and of the longest name.
ROW, AROUND, NAME = 18, 110, 200
CHOSEN = "#9B1D5A"


def restarts_elsewhere(
    labels: Sequence[str], shares: Sequence[float], chosen: str = ""
) -> go.Figure:
    """A bar for each data set, from above in the order given.

    Parameters
    ----------
    labels : of the data sets. shares : of their converged restarts, 0 to 1, that end in another
        mode than the best. chosen : the label of the bar that is brought forward.
    """
    names = [safe(label) for label in labels]
    figure = Sketch()
    figure.add(
        "bar",
        orientation="h",
        x=rounded(100.0 * np.asarray(shares, dtype=float), "%"),
        y=names,
        marker={"color": [CHOSEN if label == chosen else MUTED for label in labels]},
        hovertemplate="%{y}: %{x:.3g} %<extra></extra>",
        showlegend=False,
    )
    figure.update_xaxes(title="converged restarts (%)", range=[0, 101])
    figure.update_yaxes(autorange="reversed", showgrid=False)
    room = min(NAME, LETTER * max(map(len, names), default=0))
    return layout(
        figure,
        "Restarts that end in another mode than the best",
        height=ROW * len(names) + AROUND,
        margin={"l": int(room) + 20},
    )
