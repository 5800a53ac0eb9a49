"""A look at the data: the matrix itself, and how many components it needs."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.names import in_digits
from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import LINE, layout, safe
from bnmf_core.numerics.matrix import Matrix, dense, is_sparse, only_yes_and_no

MOST_CELLS = 160
HEIGHT = 380
# Where the largest cell is this many times as large as this quantile, colours end there.
BRIGHTEST, FAR = 0.995, 2.0


def matrix_preview(
    X: Matrix, mask: np.ndarray | None, unit: str, noun: str = "features"
) -> go.Figure:
    """Heat map of X with at most 160×160 cells: means of blocks, or single entries if it has gaps.

    A mean would hide the gaps, so a matrix with gaps is shown by entries at equal distances. Where
    a few cells are far larger than all others, the colours end below them.

    Parameters
    ----------
    X : (D, N) array or sparse array. mask : (D, N) bool or None; unseen entries stay blank.
    noun : what features are.
    """
    D, N = X.shape
    if mask is None:
        cells, row_size, column_size = block_means(X)
        how = f": a cell is the mean of {row_size}×{column_size}"
        middle = 0.5
    else:
        row_size, column_size = -(-D // MOST_CELLS), -(-N // MOST_CELLS)
        cells = np.where(mask, dense(X), np.nan)[::row_size, ::column_size]
        how = f": one entry of every {row_size}×{column_size}"
        middle = 0.0
    largest = float(np.nanmax(cells, initial=0.0))
    limit = float(np.nanquantile(cells, BRIGHTEST))
    # Of a nearly empty matrix almost all cells are 0.
    ends = limit if 0 < FAR * limit < largest else largest
    figure = Sketch().add_heatmap(
        z=cells,
        x=np.arange(cells.shape[1]) * column_size + middle * (column_size - 1) + 1,
        y=np.arange(cells.shape[0]) * row_size + middle * (row_size - 1) + 1,
        zmin=min(0.0, float(np.nanmin(cells))),
        zmax=ends or 1.0,
        colorscale="Viridis",
        # Below the picture: on its right stands the toolbar.
        colorbar={
            "title": {
                "text": safe(unit or "value", 24),
                "side": "right",
                "font": {"size": 12},
            },
            "thickness": 10,
            "orientation": "h",
            "y": -0.22,
            "yanchor": "top",
            **({"tickvals": [0, 1]} if only_yes_and_no(cells[~np.isnan(cells)]) else {"nticks": 6}),
        },
        hoverongaps=False,
        hovertemplate="row %{y:.0f}, observation %{x:.0f}: %{z:.4g}<extra></extra>",
    )
    figure.update_xaxes(
        title={"text": f"columns: {N:,} observations", "standoff": 2}, showgrid=False
    )
    figure.update_yaxes(title=f"rows: {D:,} {safe(noun, 24)}", autorange="reversed", showgrid=False)
    title = "The matrix" + (how if row_size * column_size > 1 else "")
    if ends < largest:
        title += f"; one colour from {in_digits(ends)} to {in_digits(largest)}"
    if mask is not None:
        title += f"; blank: missing ({1 - mask.mean():.1%})"
    return layout(figure, title, height=HEIGHT, margin={"b": 84})


def corner(dataset: Dataset) -> pd.DataFrame:
    """The first 50 features and 20 observations with their names; unseen entries are empty."""
    part = dense(dataset.X[:50, :20])
    if dataset.mask is not None:
        part = np.where(dataset.mask[:50, :20], part, np.nan)
    table = pd.DataFrame(part)
    table.columns = [f"{n + 1}. {name}" for n, name in enumerate(dataset.observations[:20])]
    table.insert(0, "feature", list(dataset.features[:50]))
    return table


def block_means(X: Matrix) -> tuple[np.ndarray, int, int]:
    """Means over blocks of rows and columns: (rows, columns) ≤ 160 each, and the block sizes."""
    D, N = X.shape
    row_size, column_size = -(-D // MOST_CELLS), -(-N // MOST_CELLS)
    shape = (-(-D // row_size), -(-N // column_size))
    if is_sparse(X):
        # By its stored entries: a product with indicators would be as long as the matrix.
        entries = X.tocoo()
        places = (entries.row // row_size).astype(np.int64) * shape[1]
        places += entries.col // column_size
        total = np.bincount(places, entries.data, minlength=shape[0] * shape[1]).reshape(shape)
    else:
        rows, columns = np.arange(0, D, row_size), np.arange(0, N, column_size)
        # The longer side first, so that what lies between is short.
        if D > N:
            total = np.add.reduceat(np.add.reduceat(X, rows, axis=0), columns, axis=1)
        else:
            total = np.add.reduceat(np.add.reduceat(X, columns, axis=1), rows, axis=0)
    last = np.full(shape[0], row_size), np.full(shape[1], column_size)
    last[0][-1], last[1][-1] = D - (shape[0] - 1) * row_size, N - (shape[1] - 1) * column_size
    return total / np.outer(*last), row_size, column_size


def spectrum(values: np.ndarray, total: float) -> go.Figure:
    """The least relative error that a factorization of each rank can have.

    No matrix of rank R is nearer to X than its R largest singular values and vectors (Eckart &
    Young 1936), so ‖X − AW‖/‖X‖ ≥ √(1 − Σ σ²/‖X‖²).

    Parameters
    ----------
    values : singular values from large to small. total : ‖X‖²_F.
    """
    figure = Sketch()
    figure.add_scatter(
        x=np.arange(1, len(values) + 1),
        y=least_errors(values, total),
        mode="lines+markers",
        line={"color": LINE, "width": 2},
        showlegend=False,
        hovertemplate="rank %{x}: no error below %{y:.3g}<extra></extra>",
    )
    figure.update_xaxes(title="rank", rangemode="tozero")
    figure.update_yaxes(title="least relative error ‖X − AW‖/‖X‖", rangemode="tozero")
    return layout(figure, "Spectrum: the least error that each rank allows", height=400)


def spectrum_table(values: np.ndarray, total: float) -> pd.DataFrame:
    """The numbers of :func:`spectrum`, a row per rank."""
    return pd.DataFrame(
        {
            "rank": np.arange(1, len(values) + 1),
            "singular value": values,
            "least relative error": least_errors(values, total),
        }
    )


def least_errors(values: np.ndarray, total: float) -> np.ndarray:
    """√(1 − Σ σ²/‖X‖²) over the first 1, 2, … singular values, (k,)."""
    return np.sqrt(np.maximum(1.0 - np.cumsum(values**2) / total, 0.0))
