"""What the bases look like: images where features are pixels, bars or heat strips elsewhere."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from bnmf_core.figures.style import layout, safe

MOST_BARS = 120
GAP = 2
# Pixels that a row of images usually has; only the figure's height follows from it.
ROW_WIDTH = 740
# Around a component without a counterpart.
FRAME = {"color": "#D9730D", "width": 2}


def basis_images(
    A: np.ndarray,
    image_shape: tuple[int, int],
    rows: Sequence[str],
    difference: bool = False,
    alone: np.ndarray | None = None,
    title: str = "Basis images",
) -> go.Figure:
    """Montage of basis images: a row per factorization, a column per component.

    Parameters
    ----------
    A : (K, D, R) aligned bases; each component is shown on its own scale.
    image_shape : (height, width); a column unfolds column-major.
    rows : K names. difference : show each row minus the first instead, on one signed scale.
    alone : (K, R) bool, components without a counterpart in the first row; they are framed.
    title : what the images are; weights of pixels are maps.
    """
    K, _, R = A.shape
    height, width = image_shape
    shown = unit_columns(A)
    if difference:
        shown = shown - shown[:1]
        largest = float(np.abs(shown).max()) or 1.0
    montage = np.full((K * (height + GAP) - GAP, R * (width + GAP) - GAP), np.nan)
    hover = np.full((*montage.shape, 2), np.nan)
    for k in range(K):
        for r in range(R):
            top, left = k * (height + GAP), r * (width + GAP)
            window = (slice(top, top + height), slice(left, left + width))
            montage[window] = shown[k, :, r].reshape(image_shape, order="F")
            hover[window] = (k + 1, r + 1)
    colors = (
        {"colorscale": "RdBu_r", "zmid": 0, "zmin": -largest, "zmax": largest}
        if difference
        else {"colorscale": "Greys_r", "zmin": 0, "zmax": 1}
    )
    figure = go.Figure(
        go.Heatmap(
            z=montage,
            customdata=hover,
            hoverongaps=False,
            showscale=difference,
            colorbar={"title": "difference", "thickness": 12},
            hovertemplate="row %{customdata[0]}, component %{customdata[1]}: %{z:.2f}"
            "<extra></extra>",
            **colors,
        )
    )
    for k, r in _framed(alone):
        x, y = r * (width + GAP) - 0.5, k * (height + GAP) - 0.5
        figure.add_shape(type="rect", x0=x, x1=x + width, y0=y, y1=y + height, line=FRAME)
    figure.update_xaxes(
        tickvals=[r * (width + GAP) + width / 2 for r in range(R)],
        ticktext=[str(r + 1) for r in range(R)],
        title="component",
        side="top",
        showgrid=False,
        zeroline=False,
        constrain="domain",
    )
    figure.update_yaxes(
        tickvals=[k * (height + GAP) + height / 2 for k in range(K)],
        ticktext=[safe(row, 28) for row in rows],
        autorange="reversed",
        scaleanchor="x",
        showgrid=False,
        zeroline=False,
        constrain="domain",
        constraintoward="top",
    )
    title += " minus the first row" if difference else ""
    row_height = min(150, ROW_WIDTH / R * height / width)
    height = int(100 + K * row_height)
    return layout(figure, title, height, margin={"l": 150, "t": 90, "b": 10})


def basis_bars(
    A: np.ndarray,
    features: Sequence[str],
    rows: Sequence[str],
    unit: str,
    difference: bool = False,
    alone: np.ndarray | None = None,
) -> go.Figure:
    """Bars of every component (rows of charts) for every factorization (columns of charts).

    Parameters
    ----------
    A : (K, D, R) aligned bases with D ≤ 120. features : D names. rows : K names.
    alone : (K, R) bool, components without a counterpart in the first column; they are framed.
    """
    K, D, R = A.shape
    shown = A / np.maximum(A.sum(axis=1, keepdims=True), 1e-300)
    if difference:
        shown = shown - shown[:1]
    figure = make_subplots(
        rows=R,
        cols=K,
        shared_xaxes=True,
        shared_yaxes="rows",
        # In two lines, so that the titles of narrow columns do not run into each other.
        column_titles=[safe(row, 28).replace(" · ", "<br>") for row in rows],
        row_titles=[f"component {r + 1}" for r in range(R)],
        vertical_spacing=0.25 / (R + 2),
        horizontal_spacing=0.02,
    )
    names = [safe(feature, 24) for feature in features]
    for k in range(K):
        for r in range(R):
            figure.add_bar(
                x=names,
                y=shown[k, :, r],
                row=r + 1,
                col=k + 1,
                marker={"color": "#4C6E8F"},
                showlegend=False,
                hovertemplate="%{x}: %{y:.3f}<extra></extra>",
            )
    for k, r in _framed(alone):
        domain = {"xref": "x domain", "yref": "y domain", "x0": 0, "x1": 1, "y0": 0, "y1": 1}
        figure.add_shape(type="rect", line=FRAME, row=r + 1, col=k + 1, **domain)
    figure.update_xaxes(showticklabels=False)
    figure.update_xaxes(
        showticklabels=True,
        nticks=max(4, min(D, 48 // K)),
        tickangle=-90,
        tickfont={"size": 9},
        row=R,
    )
    figure.update_yaxes(tickformat=".0%", nticks=3)
    what = f"share of a component's {unit or 'sum'}" + (", minus the first" if difference else "")
    title = f"Components as bars ({what})"
    return layout(figure, title, height=int(170 + 120 * R), bargap=0.1)


def basis_heatmap(
    A: np.ndarray,
    features: Sequence[str],
    rows: Sequence[str],
    count: int = 8,
    difference: bool = False,
) -> go.Figure:
    """The strongest features of every component, side by side for every factorization.

    Parameters
    ----------
    A : (K, D, R) aligned bases. features : D names. rows : K names.
    count : features taken from each component of the first factorization.
    difference : show each factorization minus the first instead, on one signed scale.
    """
    K, _, R = A.shape
    shown = A / np.maximum(A.sum(axis=1, keepdims=True), 1e-300)
    chosen = list(
        dict.fromkeys(d for r in range(R) for d in np.argsort(-shown[0, :, r])[:count].tolist())
    )
    if difference:
        shown = shown - shown[:1]
    blocks = shown[:, chosen].transpose(1, 2, 0).reshape(len(chosen), R * K)
    largest = float(np.quantile(np.abs(blocks), 0.99)) or 1.0
    colors = {"colorscale": "RdBu_r", "zmin": -largest} if difference else {"colorscale": "Blues"}
    columns = [f"{r + 1} · {safe(rows[k], 20)}" for r in range(R) for k in range(K)]
    figure = go.Figure(
        go.Heatmap(
            z=blocks,
            x=list(range(R * K)),
            y=[safe(features[d], 32) for d in chosen],
            zmax=largest,
            colorbar={"title": "share", "thickness": 12, "tickformat": ".1%"},
            hovertemplate="%{y}: %{z:.3%}<extra></extra>",
            **({"zmin": 0} | colors),
        )
    )
    figure.update_xaxes(tickvals=list(range(R * K)), ticktext=columns, tickangle=-60, side="bottom")
    figure.update_yaxes(autorange="reversed", tickfont={"size": 10}, dtick=1)
    for r in range(1, R):
        figure.add_vline(x=r * K - 0.5, line={"color": "#8A949E", "width": 1})
    minus = ", minus the first" if difference else ""
    title = f"Strongest {count} features of each component (share of its sum{minus})"
    return layout(figure, title, int(240 + 15 * len(chosen)), margin={"l": 170, "b": 150})


def _framed(alone: np.ndarray | None) -> list[tuple[int, int]]:
    """Positions (factorization, component) that get a frame."""
    return [] if alone is None else [(int(k), int(r)) for k, r in np.argwhere(alone)]


def unit_columns(A: np.ndarray) -> np.ndarray:
    """Every component divided by its largest entry; an empty component stays zero."""
    largest = A.max(axis=1, keepdims=True)
    return A / np.where(largest > 0, largest, 1.0)
