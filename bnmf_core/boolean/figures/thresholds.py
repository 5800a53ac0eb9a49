"""From degrees to yes and no: how many cells are wrong at every threshold."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import HIGHLIGHT, component_color, layout

MOST_POINTS = 2_000
ROOM = 1.3
AGAINST = {
    "seen": "the table as it is",
    "hidden": "hidden cells",
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
        kept = _kept(errors)
        figure.add_scatter(
            x=np.append(at[kept], 1.0),
            y=np.append(errors[kept], errors[kept][-1]),
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


def _kept(errors: np.ndarray) -> np.ndarray:
    """Steps that are drawn: an even part of many, and the best of all."""
    step = max(1, -(-errors.size // MOST_POINTS))
    return np.union1d(np.arange(0, errors.size, step), [int(errors.argmin()), errors.size - 1])
