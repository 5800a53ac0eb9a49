"""Components of two analyses on screen: the angle of every pair."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from bnmf_core.compare.analyses import Analyses
from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import INK, LINE, PAPER, layout, safe

ROW, MOST_NUMBERED = 34, 20


def angle_map(
    found: Analyses, names: tuple[str, str], called: Sequence[str], called_back: Sequence[str]
) -> go.Figure:
    """Angles: a row for each component of the first, a column for each of the second.

    names : of the two. called, called_back : R and S names of components. Matched pairs are framed,
    with a whole line where they are the same and a dotted one where they are not.
    """
    R, S = found.angles.shape
    paired = found.partner[found.partner >= 0].tolist()
    columns = paired + [s for s in range(S) if s not in paired]
    figure = Sketch().add_heatmap(
        z=found.angles[:, columns],
        x=list(range(S)),
        y=list(range(R)),
        zmin=0,
        zmax=90,
        colorscale=[[0.0, LINE], [1.0, PAPER]],
        colorbar={"title": "angle (°)", "thickness": 12},
        hovertemplate="%{z:.1f}°<extra></extra>",
        **({"texttemplate": "%{z:.0f}°"} if max(R, S) <= MOST_NUMBERED else {}),
    )
    for r in np.flatnonzero(found.partner >= 0).tolist():
        x = columns.index(int(found.partner[r]))
        box = {"x0": x - 0.5, "x1": x + 0.5, "y0": r - 0.5, "y1": r + 0.5}
        line = {"color": INK, "width": 2, "dash": "solid" if found.same[r] else "dot"}
        figure.add_shape(type="rect", line=line, **box)

    def ticks(names: Sequence[str], spread: np.ndarray) -> list[str]:
        return [
            f"<b>{safe(name, 16)}</b>" + (f" ± {far:.0f}°" if far >= 0.5 else "")
            for name, far in zip(names, spread.tolist(), strict=True)
        ]

    figure.update_xaxes(
        title={"text": safe(names[1], 50)},
        tickvals=list(range(S)),
        ticktext=[ticks(called_back, found.spread_back)[s] for s in columns],
        side="top",
        showgrid=False,
    )
    figure.update_yaxes(
        title={"text": safe(names[0], 30)},
        tickvals=list(range(R)),
        ticktext=ticks(called, found.spread),
        autorange="reversed",
        showgrid=False,
    )
    title = "Angles between components of two analyses"
    return layout(figure, title, 170 + ROW * R, margin={"l": 130, "t": 120, "b": 16})
