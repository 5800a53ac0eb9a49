"""How far each component turns with the data, among draws and from mode to mode."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from bnmf_core.figures.modes import mode_color
from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import LETTER, MUTED, PAPER, in_lines, layout, rounded, safe

# Of each kind of interval: its name, colour and mark, in the order from above.
LOOKS = {
    "counts": ("counts drawn again", "#0072B2", "circle"),
    "samples": ("samples left out", "#E69F00", "square"),
    "draws": ("posterior draws", "#9B1D5A", "diamond"),
}
# Of each kind of doubt in points: its name, colour and mark.
DOUBTS = {
    "counts": LOOKS["counts"],
    "starts": ("other starts", "#E69F00", "square"),
    "draws": LOOKS["draws"],
}
# Where a point of many lies in its row, in turn, so that equal ones are seen.
SCATTERED = np.array([0, 3, -2, 1, -3, 2, -1]) / 12
# Pixels: between lines of a component, between components, above and below, of a name, and of dots
# of modes without mass and with all of it.
ROW, APART, AROUND, NAME = 15, 14, 150, 140
SMALLEST, LARGEST = 6.0, 16.0
# Maximum number of modes in the legend.
NAMED = 3
# Minimum end of the axis, degrees.
SHORTEST = 1.0


def spreads_of_components(
    intervals: Mapping[str, np.ndarray],
    angles: np.ndarray,
    mass: np.ndarray,
    weighty: np.ndarray,
    others: np.ndarray,
    names: Sequence[str],
    mode_names: Sequence[str],
) -> go.Figure:
    """Intervals of angles, component by component, and a dot for each other mode.

    Parameters
    ----------
    intervals : "counts", "samples", "draws" → (R, 3) degrees: 5 %, median, 95 %; only those known.
    angles : (K, R) degrees to the partners in other modes. mass : (K,) their posterior mass, NaN
        where it is not known. weighty : (K,) those that count; the others are hollow.
    others : (K,) their numbers, 0-based. names : R. mode_names : of all modes.
    """
    R = len(names)
    room = min(NAME, LETTER * max(map(len, names)))
    kinds = [kind for kind in LOOKS if kind in intervals]
    lines = len(kinds) + bool(len(others))
    step = max(lines, 1) * ROW + APART
    figure = Sketch()
    for place, kind in enumerate(kinds):
        _interval(figure, kind, rounded(intervals[kind], "°"), _heights(R, step, place), names)
    for counts, chosen in ((True, np.flatnonzero(weighty)), (False, np.flatnonzero(~weighty))):
        together = "other modes" if counts else "modes that hardly count"
        alone = counts and chosen.size <= NAMED
        for i, k in enumerate(chosen):
            name = safe(mode_names[others[k]])
            legend = name if alone else together if i == 0 else ""
            _mode(
                figure,
                rounded(angles[k], "°"),
                _heights(R, step, len(kinds)),
                (float(mass[k]), counts, int(others[k])),
                names,
                name,
                legend,
            )
    ends = [part.max() for part in (*intervals.values(), angles) if part.size]
    farthest = max([SHORTEST, *map(float, ends)])
    figure.update_xaxes(title="angle (degrees)", range=[-0.02 * farthest, 1.05 * farthest])
    figure.update_yaxes(
        range=[R * step, 0],
        tickvals=[(r + 0.5) * step for r in range(R)],
        ticktext=[in_lines(name, room, 2) for name in names],
        showgrid=False,
        zeroline=False,
    )
    shapes = [_stripe(r * step, step) for r in range(1, R, 2)]
    return layout(
        figure,
        "Angles of components to the best mode",
        height=R * step + AROUND,
        margin={"l": room + 20, "t": 84},
        showlegend=True,
        shapes=shapes,
    )


def doubts(
    angles: Mapping[str, np.ndarray], chosen: str, farthest: float, height: int = 320
) -> go.Figure:
    """Points of angles in a row for each kind of doubt, one of them brought forward.

    Parameters
    ----------
    angles : "counts", "starts", "draws" → (K,) degrees. chosen : one of them.
    farthest : degrees that the axis reaches to.
    """
    figure = Sketch()
    for row, (kind, (label, color, symbol)) in enumerate(DOUBTS.items()):
        values = rounded(np.asarray(angles[kind], dtype=float), "°")
        figure.add_scatter(
            x=values,
            y=row + np.resize(SCATTERED, values.size),
            mode="markers",
            name=label,
            marker={
                "symbol": symbol,
                "size": 10,
                "color": color if kind == chosen else MUTED,
                "opacity": 0.6 if kind == chosen else 0.25,
            },
            hovertemplate=f"{label}: %{{x:.2g}}°<extra></extra>",
        )
    figure.update_xaxes(title="largest angle (degrees)", range=[-0.02 * farthest, farthest])
    labels = [in_lines(label, NAME, 2) for label, *_ in DOUBTS.values()]
    figure.update_yaxes(
        range=[len(DOUBTS) - 0.5, -0.5],
        tickvals=list(range(len(DOUBTS))),
        ticktext=labels,
        showgrid=False,
        zeroline=False,
    )
    title = "Largest angle to the best factorization"
    return layout(figure, title, height=height, margin={"l": NAME + 16}, showlegend=False)


def _heights(R: int, step: int, place: int) -> np.ndarray:
    """(R,) the line of one kind within the room of each component."""
    return np.arange(R) * step + 0.5 * APART + (place + 0.5) * ROW


def _interval(
    figure: Sketch, kind: str, interval: np.ndarray, heights: np.ndarray, names: Sequence[str]
) -> None:
    label, color, symbol = LOOKS[kind]
    low, median, high = interval.T
    figure.add_scatter(
        x=median,
        y=heights,
        error_x={
            "type": "data",
            "symmetric": False,
            "array": high - median,
            "arrayminus": median - low,
            "thickness": 3,
            "width": 0,
            "color": color,
        },
        mode="markers",
        name=label,
        marker={"symbol": symbol, "size": 8, "color": color},
        text=[
            f"<b>component {safe(name)}</b><br>{label}: {m:.2g}° ({a:.2g} to {b:.2g}°)"
            for name, a, m, b in zip(names, low, median, high, strict=True)
        ],
        hovertemplate="%{text}<extra></extra>",
    )


def _mode(
    figure: Sketch,
    angles: np.ndarray,
    heights: np.ndarray,
    summary: tuple[float, bool, int],
    names: Sequence[str],
    mode_name: str,
    legend: str,
) -> None:
    """The dots of a mode; ``summary`` : its mass, whether it is heavy, its number."""
    mass, weighty, number = summary
    size = SMALLEST + (LARGEST - SMALLEST) * float(np.sqrt(np.nan_to_num(mass)))
    weight = "posterior mass not known" if np.isnan(mass) else f"posterior mass {mass:.1%}"
    figure.add_scatter(
        x=angles,
        y=heights,
        mode="markers",
        name=legend or mode_name,
        marker={
            "symbol": "circle" if weighty else "circle-open",
            "size": size,
            "color": mode_color(number) if weighty else MUTED,
            "line": {"width": 1, "color": PAPER if weighty else MUTED},
        },
        showlegend=bool(legend),
        text=[
            f"<b>component {safe(name)}</b><br>{mode_name}: {angle:.2g}°<br>{weight}"
            for name, angle in zip(names, angles, strict=True)
        ],
        hovertemplate="%{text}<extra></extra>",
    )


def _stripe(top: float, step: float) -> dict[str, object]:
    """The ground of every other component."""
    return {
        "type": "rect",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": top,
        "y1": top + step,
        "fillcolor": MUTED,
        "opacity": 0.1,
        "line": {"width": 0},
        "layer": "below",
    }
