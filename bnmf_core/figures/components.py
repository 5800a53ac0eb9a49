"""One component or a few: words, bars, profiles, ranges of entries, and factors as numbers."""

import base64
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from bnmf_core.compare.topics import RELEVANCE, top_indices
from bnmf_core.core.dataset import Dataset
from bnmf_core.figures.gallery import MOST_BARS
from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import (
    HIGHLIGHT,
    LINE,
    MIDDLE,
    component_color,
    component_name,
    from_zero,
    layout,
    safe,
    translucent,
)
from bnmf_core.figures.substitutions import Substitutions
from bnmf_core.lazy import lazy

Image = lazy("PIL.Image")

# Number of features in hover texts; the longest bar of blocks.
IN_HOVER, BLOCKS = 8, 16
# Minimum pixels of the longer side of a picture.
PICTURE = 64


def titles(dataset: Dataset, A: np.ndarray) -> list[str]:
    """For every column of A (D, R) its strongest feature."""
    return [str(dataset.features[strong[0]]) for strong in _strongest(A)]


def details(dataset: Dataset, A: np.ndarray) -> list[str]:
    """For every column of A its strongest features with bars, in lines of HTML."""
    if dataset.image_shape is not None:
        return ["" for _ in range(A.shape[1])]
    total = np.maximum(A.sum(axis=0), 1e-300)
    lines = []
    for r, strong in enumerate(_strongest(A)):
        parts = A[strong, r] / total[r]
        lines.append("<br>".join(_bar(dataset, strong, parts)))
    return lines


def pictures(
    A: np.ndarray,
    image_shape: tuple[int, int],
    largest: float | None = None,
    seen: np.ndarray | None = None,
) -> list[str]:
    """For every column of A (D, R) its image as a data URI.

    ``largest`` : the value that is white; left out, each column's own largest. ``seen`` : (D, R)
    bool, False where a pixel is transparent.
    """
    height, width = image_shape
    enlarged = max(1, PICTURE // max(height, width))
    found = []
    for r, column in enumerate(A.T):
        grey = 255 * column.reshape(image_shape, order="F") / (largest or column.max() or 1.0)
        image = Image.fromarray(grey.astype(np.uint8))
        if seen is not None:
            shown = 255 * seen[:, r].reshape(image_shape, order="F")
            image.putalpha(Image.fromarray(shown.astype(np.uint8)))
        buffer = io.BytesIO()
        image.resize((width * enlarged, height * enlarged), Image.Resampling.NEAREST).save(
            buffer, "PNG"
        )
        found.append("data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode())
    return found


def _strongest(A: np.ndarray) -> list[np.ndarray]:
    return [found[found >= 0] for found in top_indices(A, IN_HOVER, RELEVANCE)]


def _bar(dataset: Dataset, strong: np.ndarray, parts: np.ndarray) -> list[str]:
    largest = max(float(parts.max(initial=0.0)), 1e-300)
    return [
        f"{'█' * max(1, round(BLOCKS * part / largest))} {safe(dataset.features[d], 24)} {part:.1%}"
        + (f" · {safe(more, 48)}" if (more := dataset.described(d)) else "")
        for d, part in zip(strong, parts, strict=True)
    ]


def key_terms(counts: np.ndarray, terms: Sequence[str], noun: str = "words") -> go.Figure:
    """For every term, the share of factorizations with 0, 1, 2, … components that carry it.

    Parameters
    ----------
    counts : (M, T) numbers of components. terms : T names. noun : what they are.
    """
    largest = int(counts.max())
    share = np.array(
        [(counts == number).mean(axis=0) for number in range(largest + 1)]
    )  # (numbers, T)
    figure = Sketch().add_heatmap(
        z=share.T,
        x=[str(number) for number in range(largest + 1)],
        y=[safe(term, 30) for term in terms],
        colorscale="Blues",
        zmin=0,
        zmax=1,
        texttemplate="%{z:.0%}",
        colorbar={"title": "share", "tickformat": ".0%", "thickness": 12},
        hovertemplate="%{y}: %{x} components in %{z:.0%} of the factorizations<extra></extra>",
    )
    figure.update_xaxes(
        title=f"components with it among their strongest {safe(noun, 24)}",
        type="category",
    )
    figure.update_yaxes(autorange="reversed", type="category")
    title = f"Components with each of them, in {counts.shape[0]} factorizations"
    return layout(figure, title, height=180 + 44 * len(terms), margin={"l": 140})


# Maximum number of features in a line profile; of more, the strongest are named.
MOST_ON_LINE = 1000
# How much of the ground a component's own colour hides; the colours of substitutions hide it all.
COVER = 0.75


@dataclass(frozen=True, eq=False)
class Profile:
    """A component's ``heights`` (D,) up to 1, to be drawn on this lower left corner."""

    heights: np.ndarray
    component: int
    corner: tuple[float, float]


def has_profiles(dataset: Dataset) -> bool:
    """Whether features are places on an axis or unnamed, so that a profile says more than names."""
    along = dataset.axis is not None or not dataset.named
    return dataset.D <= MOST_BARS or (dataset.D <= MOST_ON_LINE and along)


def draw_profiles(
    figure: Sketch,
    profiles: Sequence[Profile],
    size: tuple[float, float],
    classes: Substitutions | None = None,
    **axes: str,
) -> None:
    """Fill profiles into boxes of this width and height: a trace a colour.

    The colour is the component's, or that of the class of substitutions, which are put in order.
    """
    outlines: dict[str, list[np.ndarray]] = {}
    for profile in profiles:
        for color, outline in _outlines(profile, size, classes):
            outlines.setdefault(color, []).append(outline)
    for color, found in outlines.items():
        # What is not a number parts one outline from the next.
        x, y = np.concatenate(found)[:-1].T
        figure.add_scatter(
            x=x,
            y=y,
            mode="lines",
            fill="toself",
            hoverinfo="skip",
            showlegend=False,
            line={"width": 0.5, "color": color},
            fillcolor=translucent(color, COVER if classes is None else 1.0),
            **axes,
        )


def _outlines(
    profile: Profile, size: tuple[float, float], classes: Substitutions | None
) -> Iterator[tuple[str, np.ndarray]]:
    """Colours and outlines (points, 2), each with a gap at its end."""
    heights = profile.heights
    if classes is None:
        parts = [(component_color(profile.component), 0, heights.size)]
    else:
        heights = heights[classes.order]
        parts = [(block.color, block.first, block.end) for block in classes.blocks]
    edges = np.linspace(0, 1, heights.size + 1)
    for color, first, end in parts:
        along = np.repeat(edges[first : end + 1], 2)
        up = np.concatenate([[0.0], np.repeat(heights[first:end], 2), [0.0]])
        x = profile.corner[0] + size[0] * along
        y = profile.corner[1] - size[1] * up
        yield color, np.vstack([np.column_stack([x, y]), [np.nan, np.nan]])


# Entries of A and W from white to the component's colour; of A W to a colour of nobody.
OF_PRODUCT = "#5F6972"
PALE = "#EEF1F4"  # opaque: numbers are read on it in the dark, too


def factors(A: np.ndarray, W: np.ndarray, identities: list[int]) -> go.Figure:
    """A (D, R) with a colour for each column, W (R, N) with the same for its rows, and A W (D, N).

    identities : (R,) which component each is, for its number and its colour. Every component is
    shaded by its own largest entry.
    """
    D, R = A.shape
    N = W.shape[1]
    figure = make_subplots(
        cols=3,
        column_widths=[R, N, N],
        subplot_titles=("A", "W", "A W"),
        horizontal_spacing=0.12,
    )
    shown = {
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "texttemplate": "%{z:.2g}",
        "textfont": {"size": 11},
        "zmin": 0,
    }
    for k in range(R):
        scale = [[0, PALE], [1, component_color(identities[k])]]
        common = shown | {"colorscale": scale, "hovertemplate": "%{z:.4g}<extra></extra>"}
        figure.add_heatmap(z=A[:, [k]], x=[k], y=np.arange(D), col=1, row=1, **common)
        figure.add_heatmap(z=W[[k]], x=np.arange(N), y=[k], col=2, row=1, **common)
    figure.add_heatmap(
        z=A @ W,
        col=3,
        row=1,
        **shown,
        colorscale=[[0, PALE], [1, OF_PRODUCT]],
        hovertemplate="%{z:.4g}<extra></extra>",
    )
    ticks = {"tickvals": list(range(R)), "ticktext": [component_name(k) for k in identities]}
    figure.update_xaxes(showgrid=False, zeroline=False, showticklabels=False)
    figure.update_yaxes(showgrid=False, zeroline=False, autorange="reversed", showticklabels=False)
    figure.update_xaxes(col=1, showticklabels=True, tickangle=0, **ticks)
    figure.update_yaxes(col=2, showticklabels=True, **ticks)
    figure.update_xaxes(ticks="")
    figure.update_yaxes(ticks="")
    titles = figure.layout.annotations
    layout(figure, "", height=265, margin={"l": 10, "t": 30, "b": 30})
    return figure.update_layout(annotations=titles)


# Pixels of one line.
LINE_HEIGHT = 19


def range_chart(
    features: Sequence[str],
    value: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    title: str,
    band: str,
    posterior: np.ndarray | None = None,
) -> go.Figure:
    """A line for each of K entries: its value, its band, and where most draws have it.

    Parameters
    ----------
    features : K names, from the top. value, lower, upper : (K,) shares of the component's sum.
    band : what the band is, in the legend. posterior : (K, 2) where 90 % of the draws are.
    """
    names = [safe(feature, 28) for feature in features]
    places = np.arange(len(names))
    figure = Sketch()
    hover = [
        f"{name}: {v:.3%}, from {low:.3%} to {high:.3%}"
        for name, v, low, high in zip(names, value, lower, upper, strict=True)
    ]
    figure.add_scatter(
        **_segments(places, lower, upper),
        name=band,
        line={"color": LINE, "width": 7},
        opacity=0.45,
        hoverinfo="skip",
    )
    if posterior is not None:
        figure.add_scatter(
            **_segments(places, posterior[:, 0], posterior[:, 1]),
            name="90 % of the posterior draws",
            line={"color": HIGHLIGHT, "width": 3},
            hoverinfo="skip",
        )
    figure.add_scatter(
        x=value,
        y=places,
        mode="markers",
        name="in this factorization",
        marker={"color": MIDDLE, "size": 8, "symbol": "line-ns-open", "line": {"width": 2}},
        text=hover,
        hovertemplate="%{text}<extra></extra>",
    )
    figure.update_xaxes(title="share of the component's sum", tickformat=".3~%", **from_zero(upper))
    figure.update_yaxes(
        tickvals=places, ticktext=names, range=[len(names) - 0.4, -0.6], zeroline=False
    )
    height = 120 + LINE_HEIGHT * len(names)
    return layout(figure, title, height, margin={"l": 150, "t": 76})


def _segments(places: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> dict[str, object]:
    """One trace of separate lines: a gap after each."""
    gap = np.full(len(places), np.nan)
    return {
        "x": np.column_stack([lower, upper, gap]).ravel(),
        "y": np.column_stack([places, places, gap]).ravel(),
        "mode": "lines",
    }
