"""Galleries of bases: images where features are pixels, else bars or heat strips."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import (
    BESIDE,
    INK,
    LINE_HEIGHT,
    MUTED,
    component_color,
    component_titles,
    in_lines,
    layout,
    lines_of,
    safe,
)
from bnmf_core.figures.substitutions import Substitutions, substitutions

MOST_BARS = 120
GAP = 2
# Pixels that a row of images usually has, and one of two side by side; only the figure's height
# follows from it.
ROW_WIDTH, HALF_WIDTH = 740, 270
# Pixels: what is higher than a small screen has left cannot be compared at a glance. Bars of many
# components become no lower than can be read, though.
TALLEST = 530
# What a row of images is called stands beside it, in so many pixels; and what bars are called.
ROW_NAME, NAME_OF_BARS = 145, 125
LOWEST_BARS, HIGHEST_BARS, BESIDE_BARS = 45, 120, 150
# Differences below this part of the largest entry are rounding.
ROUNDING = 1e-4
# Number of rows of a table of strong features.
MOST_ROWS = 36
# Axes of the bases over which images share a scale.
SCALES = {"own": (1,), "component": (0, 1), "all": (0, 1, 2)}
# A bar without an edge, and what is around a component without a counterpart.
BARE = {"width": 0}
# Of a band over a bar: its part of the bar's place, and pixels, at most.
BAND, THIN = 0.2, 3.0
FRAME = {"color": "#D9730D", "width": 2}


def basis_images(
    A: np.ndarray,
    image_shape: tuple[int, int],
    rows: Sequence[str],
    difference: bool = False,
    alone: np.ndarray | None = None,
    title: str = "Components as images",
    row_width: int = ROW_WIDTH,
    scale: str = "own",
    columns: Sequence[str] = (),
    called: Sequence[str] = (),
) -> go.Figure:
    """Montage of basis images: a row per factorization, a column per component.

    Parameters
    ----------
    A : (K, D, R) aligned bases.
    image_shape : (height, width); a column unfolds column-major.
    rows : K names. difference : show each row minus the first instead, on one signed scale.
    alone : (K, R) bool, components without a counterpart in the first row; they are framed.
    title : what the images are; weights of pixels are maps.
    row_width : pixels that a row will about have.
    scale : black to white is "own": of each image; "component": of its column; "all": of all.
    columns : R names, where they are not numbers of components. called : R names that people have
        given to components, "" where there is none.
    """
    K, _, R = A.shape
    height, width = image_shape
    shown = unit_columns(A, SCALES[scale])
    if difference:
        shown = minus_first(shown)
        largest = float(np.abs(shown).max()) or 1.0
    # Greys shown to two digits are sent with seven; numbers of components take a byte each, where
    # those in the gaps are never shown.
    pixels = (K * (height + GAP) - GAP, R * (width + GAP) - GAP)
    montage = np.full(pixels, np.nan, dtype=np.float32)
    hover = np.zeros((*montage.shape, 2), dtype=np.uint8 if max(K, R) < 256 else np.uint16)
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
    figure = Sketch().add_heatmap(
        z=montage,
        customdata=hover,
        hoverongaps=False,
        showscale=difference,
        colorbar={"title": "difference", "thickness": 12},
        hovertemplate="row %{customdata[0]}, component %{customdata[1]}: %{z:.2f}<extra></extra>",
        **colors,
    )
    for k, r in _framed(alone):
        x, y = r * (width + GAP) - 0.5, k * (height + GAP) - 0.5
        figure.add_shape(type="rect", x0=x, x1=x + width, y0=y, y1=y + height, line=FRAME)
    titles = [safe(name, 28) for name in columns] or component_titles(R, called, row_width / R)
    figure.update_xaxes(
        tickvals=[r * (width + GAP) + width / 2 for r in range(R)],
        ticktext=titles,
        tickangle=0,
        side="top",
        showgrid=False,
        zeroline=False,
        constrain="domain",
    )
    figure.update_yaxes(
        tickvals=[k * (height + GAP) + height / 2 for k in range(K)],
        ticktext=[in_lines(row, ROW_NAME) for row in rows],
        autorange="reversed",
        scaleanchor="x",
        showgrid=False,
        zeroline=False,
        constrain="domain",
        constraintoward="top",
    )
    title = f"The same, minus the first row{_none(shown)}" if difference else title
    row_height = min(150, row_width / R * height / width)
    above = 66 + LINE_HEIGHT * lines_of(titles)
    height = int(above + 16 + K * row_height)
    return layout(figure, title, height, margin={"l": ROW_NAME + 5, "t": above, "b": 10})


def basis_bars(
    A: np.ndarray,
    features: Sequence[str],
    rows: Sequence[str],
    difference: bool = False,
    alone: np.ndarray | None = None,
    called: Sequence[str] = (),
    bands: np.ndarray | None = None,
) -> go.Figure:
    """Bars of every component (rows of charts) for every factorization (columns of charts).

    Parameters
    ----------
    A : (K, D, R) aligned bases with D ≤ 120. features : D names. rows : K names.
    alone : (K, R) bool, components without a counterpart in the first column; they are framed.
    bands : (2, K, D, R) ranges of bars, as shares; NaN where there is none. Not of differences.

    Substitutions stand in the order and colours of their classes, named above the first charts.
    """
    K, D, R = A.shape
    shown, classes = shares(A), substitutions(features)
    if classes is not None:
        shown, features = shown[:, classes.order], [features[d] for d in classes.order]
        bands = None if bands is None else bands[:, :, classes.order]
    if difference:
        shown = minus_first(shown)
    panel = min(max((TALLEST - BESIDE_BARS) / R, LOWEST_BARS), HIGHEST_BARS)
    above = [in_lines(row, ROW_WIDTH / K) for row in rows]
    row_titles = component_titles(R, called, NAME_OF_BARS, int(panel / LINE_HEIGHT))
    figure = make_subplots(
        rows=R,
        cols=K,
        shared_xaxes=True,
        shared_yaxes="rows",
        column_titles=above,
        row_titles=row_titles,
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
                # An edge would hide bars that are narrower than it.
                marker={"color": classes.colors if classes else component_color(r), "line": BARE},
                showlegend=False,
                hovertemplate="%{x}: %{y:.3f}<extra></extra>",
            )
            if bands is not None and np.isfinite(bands[:, k, :, r]).all():
                _add_band(figure, names, bands[:, k, :, r], K, row=r + 1, col=k + 1)
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
    figure.update_yaxes(tickformat=".0%", nticks=3, rangemode="normal" if difference else "tozero")
    title = (
        f"The same, minus the first column{_none(shown)}" if difference else "Components as bars"
    )
    figure.update_annotations(font={"size": 13}, textangle=0)
    if classes is not None:
        _name_classes(figure, classes, K)
    margin: dict[str, object] = {
        "t": 64 + LINE_HEIGHT * (lines_of(above) + (classes is not None)),
        "r": NAME_OF_BARS if any(called) else BESIDE,
    }
    return layout(
        figure, title, int(BESIDE_BARS + R * panel), bargap=0.1, barmode="overlay", margin=margin
    )


def _add_band(figure: go.Figure, names: list[str], band: np.ndarray, K: int, **cell: int) -> None:
    """A line over each bar of one of K charts, over its band, band (2, D)."""
    figure.add_bar(
        x=names,
        y=band[1] - band[0],
        base=band[0],
        width=min(BAND, THIN * K * len(names) / ROW_WIDTH),
        marker={"color": INK, "line": BARE},
        customdata=band.T,
        hovertemplate="%{x}: %{customdata[0]:.3f} to %{customdata[1]:.3f}<extra></extra>",
        showlegend=False,
        **cell,
    )


def _name_classes(figure: go.Figure, classes: Substitutions, K: int) -> None:
    """Between the names of K columns and their first charts; one key where these are narrow."""
    figure.update_annotations(yshift=LINE_HEIGHT, selector={"yanchor": "bottom"})
    common: dict[str, object] = {"y": 1, "yref": "paper", "yanchor": "bottom"}
    if classes.fit(ROW_WIDTH / K):
        notes = [
            note
            for k in range(K)
            for note in classes.names_above(0.0, 1.0, xref=f"x{k + 1 if k else ''}", **common)
        ]
    else:
        place = {"x": 0, "xref": "paper", "xanchor": "left", "showarrow": False}
        notes = [{"text": f"Bars from the left: {classes.key()}", **place, **common}]
    for note in notes:
        figure.add_annotation(note)


def basis_heatmap(
    A: np.ndarray,
    features: Sequence[str],
    rows: Sequence[str],
    noun: str = "features",
    count: int = 8,
    difference: bool = False,
    called: Sequence[str] = (),
) -> go.Figure:
    """The strongest features of every component, side by side for every factorization.

    Parameters
    ----------
    A : (K, D, R) aligned bases. features : D names. rows : K names. noun : what features are.
    count : features taken from each component of the first factorization, fewer where there are
        many components.
    difference : show each factorization minus the first instead, on one signed scale.
    """
    K, _, R = A.shape
    count = max(1, min(count, MOST_ROWS // R))
    shown = shares(A)
    chosen = list(
        dict.fromkeys(d for r in range(R) for d in np.argsort(-shown[0, :, r])[:count].tolist())
    )
    if difference:
        shown = minus_first(shown)
    blocks = shown[:, chosen].transpose(1, 2, 0).reshape(len(chosen), R * K)
    largest = float(np.abs(blocks).max()) or 1.0
    colors = {"colorscale": "RdBu_r", "zmin": -largest} if difference else {"colorscale": "Blues"}
    of_column = [f"component {r + 1} of {safe(rows[k], 28)}" for r in range(R) for k in range(K)]
    figure = Sketch().add_heatmap(
        z=blocks,
        x=list(range(R * K)),
        y=[safe(features[d], 32) for d in chosen],
        zmax=largest,
        colorbar={"title": "share", "thickness": 12, "tickformat": ".1%"},
        customdata=np.tile(of_column, (len(chosen), 1)),
        hovertemplate="%{y}: %{z:.3%} of %{customdata}<extra></extra>",
        **({"zmin": 0} | colors),
    )
    figure.update_xaxes(
        tickvals=[r * K + (K - 1) / 2 for r in range(R)],
        ticktext=component_titles(R, called, ROW_WIDTH / R),
        tickangle=0,
        title="component" + "; in each block a column for each factorization" * (K > 1),
    )
    figure.update_yaxes(autorange="reversed", tickfont={"size": 10}, dtick=1)
    line = {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "line": {"color": MUTED, "width": 1}}
    lines = [line | {"x0": x, "x1": x} for x in np.arange(1, R) * K - 0.5]
    figure.update_layout(shapes=lines)
    title = (
        f"The same, minus the first factorization{_none(shown)}"
        if difference
        else f"Strongest {count} {safe(noun, 24)} of each component"
    )
    height = int(min(130 + 13 * len(chosen), TALLEST))
    return layout(figure, title, height, margin={"l": 170})


def _none(difference: np.ndarray) -> str:
    """Suffix of the title where bases (K, D, R) of several factorizations do not differ."""
    return ": no difference" if len(difference) > 1 and not difference.any() else ""


def _framed(alone: np.ndarray | None) -> list[tuple[int, int]]:
    """Positions (factorization, component) that get a frame."""
    return [] if alone is None else [(int(k), int(r)) for k, r in np.argwhere(alone)]


def unit_columns(A: np.ndarray, axes: tuple[int, ...] = (1,)) -> np.ndarray:
    """Every component divided by its largest entry; an empty component stays zero.

    ``axes`` : of A (K, D, R) that the largest is taken over.
    """
    largest = A.max(axis=axes, keepdims=True)
    return A / np.where(largest > 0, largest, 1.0)


def minus_first(shown: np.ndarray) -> np.ndarray:
    """Bases (K, D, R) minus the first; what is rounding beside the largest entry is 0."""
    difference = shown - shown[:1]
    return np.where(np.abs(difference) < ROUNDING * shown.max(), 0.0, difference)


def shares(A: np.ndarray) -> np.ndarray:
    """Every component (K, D, R) divided by its sum; an empty component stays zero."""
    return A / np.maximum(A.sum(axis=1, keepdims=True), 1e-300)
