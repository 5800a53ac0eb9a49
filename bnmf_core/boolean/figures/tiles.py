"""Tiles of a binary matrix: the table in their order, each of them, and cell by cell."""

from collections.abc import Mapping, Sequence
from enum import IntEnum

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from bnmf_core.figures.gallery import GAP
from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import layout, safe

# Maximum side of a picture in cells; a cell may represent several of a larger table.
MOST_SIDE = 600
SMALL_SIDE, THUMBNAIL = 200, 80
# Pictures of tiles beside each other, and pixels that a row of them about has.
LEAST_BESIDE, MOST_BESIDE, WIDTH = 5, 10, 950


class Cell(IntEnum):
    """The kind of a cell; a pixel of several cells shows the last kind among them."""

    OFF = 0
    UNSEEN = 1
    EXPLAINED = 2
    PREDICTED = 3
    MISSED = 4
    FILLED_IN = 5


NAMES = {
    Cell.OFF: "no",
    Cell.UNSEEN: "not seen, in no tile",
    Cell.EXPLAINED: "yes, in a tile",
    Cell.PREDICTED: "not seen, in a tile",
    Cell.MISSED: "yes, in no tile",
    Cell.FILLED_IN: "no, in a tile",
}
COLORS = {
    Cell.OFF: "#EEF1F4",
    Cell.UNSEEN: "#B8C0C8",
    Cell.EXPLAINED: "#2A5F8F",
    Cell.PREDICTED: "#4FA8E0",
    Cell.MISSED: "#F2A93B",
    Cell.FILLED_IN: "#D1495B",
}


def kinds(X: np.ndarray, covered: np.ndarray) -> np.ndarray:
    """The kind of every cell: X (D, N) of 0, 1 and NaN where unobserved; covered (D, N) bool."""
    unseen = np.isnan(X)
    found = np.full(X.shape, Cell.OFF, dtype=np.int8)
    found[unseen] = Cell.UNSEEN
    found[unseen & covered] = Cell.PREDICTED
    found[(X == 1) & covered] = Cell.EXPLAINED
    found[(X == 1) & ~covered] = Cell.MISSED
    found[(X == 0) & covered] = Cell.FILLED_IN
    return found


def table_picture(
    X: np.ndarray,
    covered: np.ndarray,
    order: tuple[np.ndarray, np.ndarray],
    nouns: tuple[str, str] = ("features", "observations"),
) -> go.Figure:
    """The table with rows and columns in an order, coloured by what tiles make of every cell.

    Parameters
    ----------
    X : (D, N) of 0, 1 and NaN where not seen. covered : (D, N) bool, cells in a tile.
    order : of the rows (D,) and of the columns (N,). nouns : what rows and columns are.
    """
    shown = kinds(X, covered)[np.ix_(*order)]
    counts = np.bincount(shown.ravel(), minlength=len(Cell))
    figure = go.Figure(_colored(shown, MOST_SIDE))
    _name_kinds(figure, {kind: f" ({counts[kind]:,})" for kind in Cell if counts[kind]})
    figure.update_xaxes(title=f"{safe(nouns[1], 24)}, those of a tile together", showgrid=False)
    figure.update_yaxes(
        title=f"{safe(nouns[0], 24)}, those of a tile together",
        autorange="reversed",
        showgrid=False,
    )
    title = "The table in the order of its tiles"
    height, width = (-(-side // MOST_SIDE) for side in shown.shape)
    if height * width > 1:
        title += f"; one cell stands for {height}×{width}"
    return layout(figure, title, height=400)


def tables_beside(
    X: np.ndarray,
    covered: Sequence[np.ndarray],
    order: tuple[np.ndarray, np.ndarray],
    names: Sequence[str],
    columns: int = 4,
) -> go.Figure:
    """The table as several factorizations cover it, small, rows and columns in one order.

    Parameters
    ----------
    X : as in :func:`table_picture`. covered : of each factorization (D, N) bool. names : theirs.
    """
    lines, across = -(-len(covered) // columns), min(len(covered), columns)
    figure = make_subplots(
        rows=lines,
        cols=across,
        subplot_titles=[safe(name, 28) for name in names],
        horizontal_spacing=0.02,
        vertical_spacing=0.12 / lines,
    )
    present: set[Cell] = set()
    for k, one in enumerate(covered):
        shown = kinds(X, one)[np.ix_(*order)]
        present |= {Cell(kind) for kind in np.unique(shown)}
        figure.add_trace(_colored(shown, SMALL_SIDE), row=k // columns + 1, col=k % columns + 1)
    _name_kinds(figure, dict.fromkeys(present, ""))
    figure.update_xaxes(showgrid=False, showticklabels=False, ticks="")
    figure.update_yaxes(showgrid=False, showticklabels=False, ticks="", autorange="reversed")
    height = 100 + 250 * lines
    margin: dict[str, object] = {"l": 10, "r": 10, "t": 90, "b": 10}
    return layout(figure, "The table by number of components", height=height, margin=margin)


def _colored(shown: np.ndarray, most: int) -> go.Heatmap:
    """Kinds of cells (D, N) in their colours, at most so many on a side."""
    D, N = shown.shape
    rows, columns = np.arange(0, D, -(-D // most)), np.arange(0, N, -(-N // most))
    pooled = np.maximum.reduceat(np.maximum.reduceat(shown, rows, axis=0), columns, axis=1)
    return go.Heatmap(
        z=pooled,
        x=columns + 1,
        y=rows + 1,
        zmin=-0.5,
        zmax=5.5,
        colorscale=[(edge, COLORS[kind]) for kind in Cell for edge in (kind / 6, (kind + 1) / 6)],
        showscale=False,
        hovertemplate="row %{y}, column %{x}<extra></extra>",
    )


def _name_kinds(figure: go.Figure, added: Mapping[Cell, str]) -> None:
    """A legend of these kinds, with what is added to their names."""
    for kind in (Cell.EXPLAINED, Cell.MISSED, Cell.FILLED_IN, Cell.PREDICTED, Cell.UNSEEN):
        if kind in added:
            figure.add_scatter(
                x=[None],
                y=[None],
                mode="markers",
                marker={"color": COLORS[kind], "symbol": "square", "size": 11},
                name=f"{NAMES[kind]}{added[kind]}",
            )


def tile_pictures(
    A: np.ndarray,
    W: np.ndarray,
    order: tuple[np.ndarray, np.ndarray],
    names: Sequence[str],
) -> go.Figure:
    """Every tile in the outline of the whole table: dark where it is; few of them are large.

    Parameters
    ----------
    A : (D, R), W : (R, N), bool. order : as in :func:`table_picture`. names : R words.
    """
    of_rows = _pooled(A[order[0]])
    of_columns = _pooled(W.T[order[1]])
    height, width, R = of_rows.shape[0], of_columns.shape[0], A.shape[1]
    columns = min(max(-(-R // 2), LEAST_BESIDE), MOST_BESIDE)
    lines = -(-R // columns)
    across = min(R, columns)
    shape = (lines * (height + GAP) - GAP, across * (width + GAP) - GAP)
    montage, which = np.full(shape, np.nan), np.full(shape, np.nan)
    for r in range(R):
        top, left = r // columns * (height + GAP), r % columns * (width + GAP)
        window = (slice(top, top + height), slice(left, left + width))
        montage[window] = np.outer(of_rows[:, r], of_columns[:, r])
        which[window] = r + 1
    figure = Sketch().add_heatmap(
        z=montage,
        customdata=which,
        hoverongaps=False,
        colorscale=[(0, "#E3E8ED"), (1, "#2A5F8F")],
        zmin=0,
        zmax=1,
        showscale=False,
        hovertemplate="tile %{customdata}<extra></extra>",
    )
    for r in range(R):
        figure.add_annotation(
            x=r % columns * (width + GAP) + width / 2 - 0.5,
            y=r // columns * (height + GAP) + 2,
            text=names[r],
            showarrow=False,
            font={"size": 11},
            bgcolor="rgba(255,255,255,0.7)",
            font_color="#1F2933",
        )
    figure.update_xaxes(visible=False, constrain="domain")
    figure.update_yaxes(
        visible=False,
        autorange="reversed",
        scaleanchor="x",
        constrain="domain",
        constraintoward="top",
    )
    return layout(
        figure, "Tiles, each in the outline of the table", height=90 + WIDTH // columns * lines
    )


def cell_map(
    values: np.ndarray, order: tuple[np.ndarray, np.ndarray], title: str, largest: float
) -> go.Figure:
    """A number of every cell, 0 to ``largest``, rows and columns in an order."""
    shown = values[np.ix_(*order)]
    height, width = (-(-side // MOST_SIDE) for side in shown.shape)
    rows, columns = np.arange(0, shown.shape[0], height), np.arange(0, shown.shape[1], width)
    pooled = np.maximum.reduceat(np.maximum.reduceat(shown, rows, axis=0), columns, axis=1)
    figure = Sketch().add_heatmap(
        z=np.round(pooled, 3).astype(np.float32),
        x=columns + 1,
        y=rows + 1,
        zmin=0,
        zmax=largest,
        colorscale="Viridis",
        colorbar={"thickness": 12},
        hovertemplate="feature %{y}, observation %{x}: %{z:.3f}<extra></extra>",
    )
    figure.update_xaxes(title="observations, those of a tile together", showgrid=False)
    figure.update_yaxes(
        title="features, those of a tile together", autorange="reversed", showgrid=False
    )
    return layout(figure, title, height=430)


def _pooled(on: np.ndarray) -> np.ndarray:
    """(n ≤ 80, R) which stretches of rows hold one that is on."""
    step = -(-on.shape[0] // THUMBNAIL)
    found: np.ndarray = np.maximum.reduceat(on, np.arange(0, on.shape[0], step), axis=0)
    return found.astype(float)
