"""Rasterize figures with too many points for a file; the axes stay."""

import base64
import io
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go
from plotly.colors import get_colorscale, sample_colorscale, unlabel_rgb

from bnmf_core.lazy import lazy

if TYPE_CHECKING:
    from PIL import Image, ImageDraw
else:
    Image = lazy("PIL.Image")
    ImageDraw = lazy("PIL.ImageDraw")

# Largest numbers of scatter points and heat map cells that a report does not rasterize.
MOST_POINTS, MOST_CELLS = 5_000, 250_000
# Pixels of the longer side of an image.
SIDE = 1_400
EDGE = 0.04


def count(figure: go.Figure) -> tuple[int, int]:
    """Numbers of scatter points and of heat map cells."""
    points = sum(
        0 if trace.x is None else len(trace.x) for trace in figure.data if trace.type == "scatter"
    )
    return points, sum(np.size(trace.z) for trace in figure.data if trace.type == "heatmap")


def too_many(figure: go.Figure) -> bool:
    """Whether a report should rasterize the figure."""
    points, cells = count(figure)
    return points > MOST_POINTS or cells > MOST_CELLS


def flattened(figure: go.Figure) -> go.Figure:
    """Return the figure with its points and cells as images.

    Markers and heat maps become images under their axes; lines, bars and text stay.
    """
    flat = go.Figure(figure)
    remaining: list[go.Scatter] = []
    places: dict[tuple[str, str], list[go.Scatter]] = {}
    for trace in flat.data:
        markers = trace.type == "scatter" and "markers" in (trace.mode or "markers")
        labelled = "text" in (trace.mode or "") if markers else False
        if (markers and not labelled and trace.x is not None and len(trace.x) > 1) or (
            trace.type == "heatmap" and np.size(trace.z)
        ):
            places.setdefault((trace.xaxis or "x", trace.yaxis or "y"), []).append(trace)
            if markers:  # the legend keeps its line
                colour = trace.marker.color if isinstance(trace.marker.color, str) else None
                remaining.append(
                    go.Scatter(
                        x=[None],
                        y=[None],
                        mode="markers",
                        name=trace.name,
                        marker={"color": colour},
                        showlegend=trace.showlegend,
                        xaxis=trace.xaxis,
                        yaxis=trace.yaxis,
                    )
                )
            else:  # an axis without a trace is not drawn
                remaining.append(
                    go.Scatter(
                        x=[None],
                        y=[None],
                        showlegend=False,
                        xaxis=trace.xaxis,
                        yaxis=trace.yaxis,
                    )
                )
        else:
            remaining.append(trace)
    flat.data = []
    flat.add_traces(remaining)
    for (x, y), traces in places.items():
        _draw(flat, x, y, traces)
    return flat


def _draw(flat: go.Figure, x: str, y: str, traces: list[go.Scatter]) -> None:
    """Draw these traces into one image under their axes, and fix the axis ranges."""
    xs, ys = zip(*(_extent(trace) for trace in traces), strict=True)
    left, right = min(low for low, _ in xs), max(high for _, high in xs)
    bottom, top = min(low for low, _ in ys), max(high for _, high in ys)
    width, height = max(right - left, 1e-12), max(top - bottom, 1e-12)
    scale = SIDE / max(width, height)
    # As tall as wide where the axes do not share a scale.
    tied = flat.layout[f"yaxis{y[1:]}"].scaleanchor is not None
    size = (
        (max(1, round(width * scale)), max(1, round(height * scale))) if tied else (SIDE, SIDE // 2)
    )
    image = Image.new("RGBA", size, (0, 0, 0, 0))
    for trace in traces:
        drawn = _cells if trace.type == "heatmap" else _points
        drawn(image, trace, (left, bottom, width, height))
    axis = flat.layout[f"yaxis{y[1:]}"]
    limits = axis.range
    down = axis.autorange == "reversed" or (limits is not None and limits[0] > limits[1])
    if down:
        image = image.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
    buffer = io.BytesIO()
    image.save(buffer, "PNG", optimize=True)
    flat.add_layout_image(
        source="data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode(),
        xref=x,
        yref=y,
        x=left,
        y=bottom if down else top,
        sizex=width,
        sizey=height,
        sizing="stretch",
        layer="above",
    )
    flat.layout[f"xaxis{x[1:]}"].update(range=[left, right], autorange=None)
    flat.layout[f"yaxis{y[1:]}"].update(
        range=[top, bottom] if down else [bottom, top], autorange=None
    )


def _extent(trace: go.Scatter) -> tuple[tuple[float, float], tuple[float, float]]:
    if trace.type == "heatmap":
        rows, columns = np.shape(trace.z)
        return _edges(trace.x, columns), _edges(trace.y, rows)
    found = []
    for values in (trace.x, trace.y):
        numbers = np.asarray(values, dtype=float)
        low, high = np.nanmin(numbers), np.nanmax(numbers)
        edge = EDGE * ((high - low) or 1.0)
        found.append((low - edge, high + edge))
    return found[0], found[1]


def _edges(centres: np.ndarray | None, count: int) -> tuple[float, float]:
    """Outer edges of cells; text labels are at 0, 1, 2 and so on."""
    if centres is None or not np.issubdtype(np.asarray(centres).dtype, np.number):
        return -0.5, count - 0.5
    first, last = float(np.min(centres)), float(np.max(centres))
    half = (last - first) / max(count - 1, 1) / 2 or 0.5
    return first - half, last + half


def _points(image: "Image.Image", trace: go.Scatter, box: tuple[float, ...]) -> None:
    left, bottom, width, height = box
    across = (np.asarray(trace.x, float) - left) / width * image.width
    down = (1 - (np.asarray(trace.y, float) - bottom) / height) * image.height
    colour = trace.marker.color if isinstance(trace.marker.color, str) else "#4C6E8F"
    draw, radius = ImageDraw.Draw(image), max(2, image.width // 300)
    for one, other in zip(across, down, strict=True):
        if np.isfinite(one) and np.isfinite(other):
            draw.ellipse((one - radius, other - radius, one + radius, other + radius), fill=colour)


def _cells(image: "Image.Image", trace: go.Heatmap, box: tuple[float, ...]) -> None:
    z = np.asarray(trace.z, dtype=float)
    low = np.nanmin(z) if trace.zmin is None else trace.zmin
    high = np.nanmax(z) if trace.zmax is None else trace.zmax
    scale = [list(stop) for stop in trace.colorscale or get_colorscale("Greys")]
    table = np.array(
        [unlabel_rgb(colour) for colour in sample_colorscale(scale, np.linspace(0, 1, 256))]
    ).astype(np.uint8)
    part = np.clip((z - low) / ((high - low) or 1.0), 0, 1)
    place = (np.nan_to_num(part) * 255).astype(int)
    pixels = np.dstack([table[place], np.where(np.isnan(z), 0, 255).astype(np.uint8)])
    # The first row of a heat map lies at the bottom.
    picture = Image.fromarray(pixels[::-1].astype(np.uint8), "RGBA")
    image.paste(picture.resize(image.size, Image.Resampling.NEAREST))
