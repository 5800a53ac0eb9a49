"""Wrong cells at every threshold between 0 and 1, and means against doubt."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import HIGHLIGHT, MUTED, component_color, layout
from bnmf_core.figures.thinning import thinned

MOST_POINTS = 2_000
ROOM = 1.3
AGAINST = {
    "seen": "the table as it is",
    "hidden": "held-out cells",
    "truth": "the table without noise",
}


def threshold_chart(
    curves: Mapping[str, tuple[np.ndarray, np.ndarray]],
    best: Sequence[tuple[float, float]],
    against: str,
) -> go.Figure:
    """Wrong cells over the threshold, as steps; the exact thresholds of the fewest are marked.

    Parameters
    ----------
    curves : name → thresholds (E,) rising and errors (E,). best : intervals of the minimum of
        the curve ``against``.
    """
    figure = Sketch()
    for number, (name, (at, errors)) in enumerate(curves.items()):
        step = max(1, -(-errors.size // MOST_POINTS))
        rows = np.union1d(np.arange(0, errors.size, step), [int(errors.argmin()), errors.size - 1])
        figure.add_scatter(
            x=np.append(at[rows], 1.0),
            y=np.append(errors[rows], errors[rows][-1]),
            mode="lines",
            line={"shape": "hv", "color": component_color(number)},
            name=f"against {AGAINST.get(name, name)}",
            hovertemplate="above %{x:.3f}: %{y:,} wrong<extra></extra>",
        )
    for low, high in best:
        figure.add_vrect(x0=low, x1=min(high, 1.0), fillcolor=HIGHLIGHT, opacity=0.25, line_width=0)
    figure.update_xaxes(title="threshold: an entry above it counts as yes", range=[0, 1])
    # Above what saying no everywhere gets wrong, no threshold is worth a look.
    nothing = max(int(errors[-1]) for _, errors in curves.values())
    figure.update_yaxes(title="wrong cells", range=[0, ROOM * max(nothing, 1)])
    title = f"Wrong cells by threshold; shaded: fewest, {AGAINST.get(against, against)}"
    return layout(figure, title, height=400)


def pair_chart(errors: np.ndarray, grid: np.ndarray) -> go.Figure:
    """Wrong cells with one threshold for A, upwards, and one for W; errors (G, G)."""
    figure = Sketch().add_heatmap(
        z=errors,
        x=grid,
        y=grid,
        colorscale="Viridis_r",
        # As in the chart of one threshold: no more than saying no everywhere gets wrong.
        zmin=int(errors.min()),
        zmax=max(int(errors[-1, -1]), int(errors.min()) + 1),
        colorbar={"title": "wrong", "thickness": 12},
        hovertemplate="A above %{y:.2f}, W above %{x:.2f}: %{z:,} wrong<extra></extra>",
    )
    rows, columns = np.nonzero(errors == errors.min())
    figure.add_scatter(
        x=grid[columns],
        y=grid[rows],
        mode="markers",
        marker={"symbol": "x", "size": 12 if rows.size == 1 else 6, "color": HIGHLIGHT},
        name="fewest",
        hoverinfo="skip",
    )
    figure.update_xaxes(title="threshold for observations (W)")
    figure.update_yaxes(title="threshold for features (A)")
    return layout(figure, "Wrong cells with two thresholds", height=400)


BINS = 50
FACTORS = {"A": "features (A)", "W": "observations (W)"}


def entries_chart(
    mean: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray], title: str, axis: str
) -> go.Figure:
    """Every entry of the factors: its mean against something else of it.

    Parameters
    ----------
    mean, other : "A" (D, R) and "W" (R, N) → arrays of the same shape; entries of ``other`` that
        are not finite are left out. The customdata of a point begins with the number of its entry,
        or a list of those that it covers: see :func:`places`.
    """
    x, y = (np.concatenate([by["A"].ravel(), by["W"].ravel()]) for by in (mean, other))
    factor, item, component = places(np.arange(x.size), mean)
    known = np.flatnonzero(np.isfinite(y))
    thin = thinned(x[known], y[known], factor[known])
    figure = Sketch()
    for number, name in enumerate(FACTORS):
        drawn = np.flatnonzero(thin.drawn & (factor[known] == number))
        at = known[drawn]
        figure.add_scatter(
            x=x[at],
            y=y[at],
            mode="markers",
            name=FACTORS[name],
            marker={"size": 4, "opacity": 0.6, "color": component_color(number)},
            customdata=thin.customdata(drawn, known, item[at], component[at]),
            hovertemplate="item %{customdata[1]}, tile %{customdata[2]}: %{x:.3f}, %{y:.3g}"
            "<extra></extra>",
        )
    figure.update_xaxes(title="mean", range=[-0.02, 1.02])
    figure.update_yaxes(title=axis)
    return layout(figure, title + thin.note, height=430)


def places(
    entries: np.ndarray, mean: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where entries are by their numbers, those of A first, each factor row by row.

    Returns
    -------
    (k,) each: 0 in A and 1 in W; the row of A or column of W; the component.
    """
    factor = (entries >= mean["A"].size).astype(int)
    row, first = np.divmod(entries, mean["A"].shape[1])
    second, column = np.divmod(entries - mean["A"].size, mean["W"].shape[1])
    return factor, np.where(factor, column, row), np.where(factor, second, first)


def cell_histogram(values: np.ndarray, words: str, members: str = "draws") -> go.Figure:
    """How often members (M,) of a run, called so, give a cell each value between 0 and 1."""
    counts, edges = np.histogram(values, bins=BINS, range=(0.0, 1.0))
    figure = go.Figure(
        go.Bar(
            x=0.5 * (edges[1:] + edges[:-1]),
            y=counts,
            marker_color=MUTED,
            hovertemplate=f"%{{x:.2f}}: %{{y}} {members}<extra></extra>",
        )
    )
    figure.add_vline(x=float(np.mean(values)), line_color=HIGHLIGHT, line_dash="dash")
    figure.update_xaxes(title="strength of a yes", range=[0, 1])
    figure.update_yaxes(title=members)
    return layout(figure, words, height=300)
