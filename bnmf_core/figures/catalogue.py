"""Components beside a catalogue on screen: cosine similarities, mode by mode."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from bnmf_core.core.names import numbered
from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import INK, LINE, MUTED, PAPER, layout, safe

# Entries that are shown: the nearest of every row first, then the next until there are so many.
MOST_ENTRIES, MOST_NAMED = 16, 40
# Numbers stand in the cells of so many rows; pixels of a row, and of the tallest picture.
MOST_NUMBERED, ROW, TALLEST = 40, 22, 640
SCALE = [[0.0, PAPER], [1.0, LINE]]


def shown_entries(found: np.ndarray, most: int = MOST_ENTRIES) -> list[int]:
    """Entries that are nearest to any component in any mode, then the next ones.

    found : (K, R, C) cosine similarities. Never fewer than all that are nearest somewhere.

    >>> shown_entries(np.array([[[0.1, 0.9, 0.8], [0.7, 0.3, 0.2]]]), most=2)
    [1, 0]
    """
    rows = found.transpose(1, 0, 2).reshape(-1, found.shape[2])
    nearest = dict.fromkeys(rows.argmax(axis=1).tolist())
    others = np.argsort(-rows.max(axis=0), kind="stable").tolist()
    chosen = list(nearest) + [c for c in others if c not in nearest]
    return chosen[: max(most, len(nearest))]


def catalogue_map(
    found: np.ndarray,
    entries: Sequence[str],
    modes: Sequence[str],
    called: Sequence[str] = (),
) -> go.Figure:
    """Cosine similarities: a row for each component in each mode, a column for each entry.

    Parameters
    ----------
    found : (K, R, C). entries : C names. modes : K names. called : R names of components.

    The nearest entry of each row is framed.
    """
    K, R, _ = found.shape
    columns = shown_entries(found)
    rows = found[:, :, columns].transpose(1, 0, 2).reshape(R * K, len(columns))
    names = [safe(name, 18) for name in numbered(called, R)]
    ticks = [
        (f"<b>{names[r]}</b> · " if k == 0 else "") + safe(mode, 20)
        for r in range(R)
        for k, mode in enumerate(modes)
    ]
    shown = [safe(entries[c], 18) for c in columns]
    places = [f"component {name} in {safe(mode, 20)}" for name in names for mode in modes]
    figure = Sketch().add_heatmap(
        z=rows,
        x=list(range(len(columns))),
        y=list(range(len(rows))),
        customdata=np.array([[[each, name] for name in shown] for each in places]),
        zmin=0,
        zmax=1,
        colorscale=SCALE,
        colorbar={"title": "cosine", "thickness": 12},
        hovertemplate="%{customdata[0]}, %{customdata[1]}: %{z:.3f}<extra></extra>",
        **({"texttemplate": "%{z:.2f}"} if len(rows) <= MOST_NUMBERED else {}),
    )
    for row, column in enumerate(rows.argmax(axis=1).tolist()):
        box = {"x0": column - 0.5, "x1": column + 0.5, "y0": row - 0.5, "y1": row + 0.5}
        figure.add_shape(type="rect", line={"color": INK, "width": 2}, **box)
    for r in range(1, R):
        edge = {"x0": -0.5, "x1": len(columns) - 0.5, "y0": r * K - 0.5, "y1": r * K - 0.5}
        figure.add_shape(type="line", line={"color": MUTED, "width": 1}, **edge)
    figure.update_xaxes(
        tickvals=list(range(len(columns))), ticktext=shown, side="top", showgrid=False
    )
    figure.update_yaxes(
        tickvals=list(range(len(rows))) if len(rows) <= MOST_NAMED else [r * K for r in range(R)],
        ticktext=ticks if len(rows) <= MOST_NAMED else [f"<b>{name}</b>" for name in names],
        autorange="reversed",
        showgrid=False,
    )
    title = "Cosine similarity to the catalogue"
    height = int(min(150 + ROW * len(rows), max(TALLEST, 150 + 8 * len(rows))))
    return layout(figure, title, height, margin={"l": 170, "t": 100, "b": 16})
