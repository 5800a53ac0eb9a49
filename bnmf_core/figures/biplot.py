"""Samples and features of a factorization in one plane, between the components as its corners."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from bnmf_core.compare.biplot import Biplot
from bnmf_core.core.names import numbered, percent
from bnmf_core.figures.modes import MODE_COLORS, placed_labels
from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import (
    DASHES,
    INK,
    MUTED,
    component_color,
    layout,
    safe,
)
from bnmf_core.figures.thinning import thinned

# Pixels: of the picture, of one that is a line, and of what is drawn, across and up.
HEIGHT, FLAT, ACROSS, UP = 640, 260, 640, 480
# Number of labelled samples far from the rest of their group.
OUTLYING = 5
# Cells of a density, across and up, and the counts at its scale.
CELLS, TICKS = (64, 48), (1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000)
# Translucent, so that names can be read on them, on a light and a dark page.
SHADES = [[0.0, "rgba(64, 128, 208, 0.12)"], [1.0, "rgba(64, 128, 208, 0.7)"]]
# Maximum number of classes: each has its own colour and marker.
MOST_CLASSES = len(MODE_COLORS)
SYMBOLS = tuple(DASHES)


def outlying(samples: np.ndarray, groups: np.ndarray, most: int = OUTLYING) -> np.ndarray:
    """Samples farthest from the mean of their group, the farthest first: samples (N, 2)."""
    away = np.zeros(groups.size)
    for group in np.unique(groups[groups >= 0]):
        rows = groups == group
        away[rows] = np.linalg.norm(samples[rows] - samples[rows].mean(axis=0), axis=1)
    order = np.argsort(-away, kind="stable")[:most]
    return order[away[order] > 0]


def sample_biplot(
    found: Biplot,
    groups: np.ndarray,
    observations: Sequence[str],
    features: Sequence[str],
    classes: Sequence[str] | None = None,
    called: Sequence[str] = (),
    sample: int | None = None,
    density: bool = False,
) -> go.Figure:
    """Samples as points, the strongest features of each component as diamonds with their names.

    Parameters
    ----------
    groups : (N,) components of samples, their colours where there are no classes; −1 for none.
    observations, features : N and D names. classes : N words, "" for none; colours, if there are
    few enough. called : R names of components. sample : the one that is framed. The customdata of
    a sample is its index. density : how many samples lie where, instead of points.
    """
    words = sorted({each for each in classes or () if each})
    by_class = 1 < len(words) <= MOST_CLASSES and not density
    looks = np.array([words.index(c) if c else -1 for c in classes or ()]) if by_class else groups
    known = np.flatnonzero(np.isfinite(found.samples[:, 0]))
    x, y = found.samples[known].T
    points = thinned(x, y, looks[known])
    figure, R = Sketch(), len(found.corners)
    names = numbered(called, R)
    if R <= 3:  # the plane is the simplex itself
        around = found.corners[[*range(R), 0]]
        line = {"color": MUTED, "width": 1}
        figure.add_scatter(
            x=around[:, 0],
            y=around[:, 1],
            mode="lines",
            line=line,
            hoverinfo="skip",
            showlegend=False,
        )
    if density:
        _density(figure, x, y)
    for look in () if density else np.unique(looks[known]).tolist():
        rows = np.flatnonzero(points.drawn & (looks[known] == look))
        color = MUTED if look < 0 else MODE_COLORS[look] if by_class else component_color(look)
        figure.add_scatter(
            x=x[rows],
            y=y[rows],
            mode="markers",
            marker={
                "color": color,
                "size": 7,
                "symbol": SYMBOLS[look] if by_class and look >= 0 else "circle",
                "opacity": 0.7,
            },
            name=safe(words[look] if look >= 0 else "no class", 24) if by_class else "",
            showlegend=by_class,
            customdata=points.customdata(rows, known),
            text=[safe(observations[n], 40) for n in known[rows]],
            hovertemplate="%{text}<extra></extra>",
        )
    shown = np.unique(found.strongest)
    shown = shown[np.isfinite(found.features[shown, 0])]
    figure.add_scatter(
        x=found.features[shown, 0],
        y=found.features[shown, 1],
        mode="markers",
        marker={"symbol": "diamond-open", "size": 9, "color": INK, "line": {"width": 1.5}},
        text=[safe(features[d], 40) for d in shown],
        hovertemplate="%{text}<extra></extra>",
        name="features",
        showlegend=by_class,
    )
    if sample is not None and np.isfinite(found.samples[sample, 0]):
        figure.add_scatter(
            x=found.samples[[sample], 0],
            y=found.samples[[sample], 1],
            mode="markers",
            marker={"symbol": "circle-open", "size": 16, "color": INK, "line": {"width": 2}},
            hoverinfo="skip",
            showlegend=False,
        )
    far = outlying(found.samples[known], groups[known])
    named = np.array([], dtype=np.int64) if density else known[far]
    named = named if sample is None else np.unique([*named, sample])
    named = named[np.isfinite(found.samples[named, 0])]
    # Corners come first, then features, then samples: what comes first has the better place.
    places = np.vstack([found.corners, found.features[shown], found.samples[named]])
    labels = [f"<b>{safe(name, 24)}</b>" for name in names]
    labels += [f"<i>{safe(features[d], 14)}</i>" for d in shown]
    labels += [safe(observations[n], 14) for n in named]
    scale = float(max(np.ptp(places[:, 0]) / ACROSS, np.ptp(places[:, 1]) / UP, 1e-9))
    radii = np.repeat([4.0, 5.0], [R, len(places) - R])
    notes = placed_labels(places / scale, radii, dict(enumerate(labels)), scale)
    for note in notes[R:]:
        note["font"] = {"size": 11}
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False, scaleanchor="x", scaleratio=1)
    figure.update_layout(annotations=notes)
    title = f"Observations and features between {R} components"
    margin: dict[str, object] = {"l": 60, "r": 90, "b": 24, "t": 84 if by_class else 60}
    return layout(figure, title, FLAT if R == 2 else HEIGHT, margin=margin)


def _density(figure: Sketch, x: np.ndarray, y: np.ndarray) -> None:
    """Cells of a grid, the darker the more points (n,) lie in them; empty ones are left out."""
    counts, across, up = np.histogram2d(x, y, bins=CELLS)
    many = np.where(counts > 0, counts, np.nan).T
    ticks = [count for count in TICKS if count <= counts.max()]
    figure.add_heatmap(
        z=np.log10(many),
        x=(across[:-1] + across[1:]) / 2,
        y=(up[:-1] + up[1:]) / 2,
        customdata=many,
        colorscale=SHADES,
        zmin=0,
        zmax=np.log10(counts.max()),
        colorbar={
            "title": {"text": "observations", "side": "right"},
            "tickvals": np.log10(ticks).tolist(),
            "ticktext": [f"{count:,}" for count in ticks],
            "thickness": 12,
        },
        hoverongaps=False,
        hovertemplate="%{customdata:,} observations<extra></extra>",
    )


def describe_biplot(found: Biplot) -> str:
    """How much of the shares the plane shows, and what it means to be near; sentences."""
    if len(found.corners) <= 3:
        exact = "line" if len(found.corners) == 2 else "triangle"
        near = "What is near a corner has most of its share there."
        return f"The {exact} shows the shares exactly. {near} Features are diamonds."
    return (
        f"The plane shows {percent(found.shown)} of the variation of the shares of observations, "
        f"{percent(found.shown_of_features)} of that of features, which are diamonds. What is near "
        "a corner in the middle may be a mixture of others."
    )
