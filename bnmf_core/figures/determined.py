"""How far components are determined: bands of their contributions, and regions in the plane."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from bnmf_core.compare.feasible import Feasible, Region
from bnmf_core.core.axis import Axis
from bnmf_core.core.names import numbered
from bnmf_core.figures.modes import mode_color
from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.spectra import along
from bnmf_core.figures.style import (
    INK,
    MIDDLE,
    MUTED,
    component_color,
    from_zero,
    layout,
    safe,
    translucent,
)

# Pixels of a component's row, and of the picture of regions.
ROW, REGIONS = 34, 520
# Number of features that are named along an axis.
MOST_TICKS = 12
# Number of features whose bars are drawn.
MOST_BARS = 16
# Colour where the regions of several components overlap.
TOGETHER = "#C4CBD2"


def contribution_bands(
    lower: np.ndarray,
    value: np.ndarray,
    upper: np.ndarray,
    others: Mapping[str, np.ndarray],
    allowed: Mapping[str, bool],
    called: Sequence[str] = (),
) -> go.Figure:
    """A bar for each component: what it may account for in its mode, and a dot for each other mode.

    Parameters
    ----------
    lower, value, upper : (R,) shares of the total; NaN where a band is not known yet.
    others : name of a mode → (R,) contributions of the partners there, NaN without counterpart.
    allowed : by the same names, whether the mode's own error is within what is allowed; the dots
        of others are hollow. called : R names.
    """
    names = [safe(f"component {name}", 28) for name in numbered(called, value.size)]
    figure = Sketch()
    for r, name in enumerate(names):
        if np.isnan(lower[r]):
            continue
        figure.add_scatter(
            x=[lower[r], upper[r]],
            y=[name, name],
            mode="lines",
            line={"color": component_color(r), "width": 11},
            opacity=0.55,
            name="within the allowed error",
            showlegend=bool(r == 0),
            hoverinfo="skip",
        )
    figure.add_scatter(
        x=value,
        y=names,
        mode="markers",
        name="this factorization",
        marker={"color": INK, "size": 13, "symbol": "line-ns-open", "line": {"width": 2}},
        customdata=np.column_stack([lower, upper]),
        hovertemplate="%{y}: %{x:.2%}, from %{customdata[0]:.2%} to %{customdata[1]:.2%}"
        "<extra></extra>",
    )
    for k, (name, places) in enumerate(others.items(), start=1):
        figure.add_scatter(
            x=places,
            y=names,
            mode="markers",
            name=safe(name) + ("" if allowed[name] else " (larger error)"),
            marker={
                "color": mode_color(k),
                "size": 9,
                "symbol": "circle" if allowed[name] else "circle-open",
            },
            hovertemplate=f"{safe(name)}, %{{y}}: %{{x:.2%}}<extra></extra>",
        )
    figure.update_xaxes(title="share of the sum of AW", tickformat=".0%", **from_zero(upper))
    figure.update_yaxes(autorange="reversed", automargin=True)
    title = "How much each component may account for"
    return layout(figure, title, 150 + ROW * len(names), margin={"l": 130, "t": 84})


def extreme_shapes(
    features: Sequence[str], shapes: Mapping[str, np.ndarray], component: int, title: str
) -> go.Figure:
    """A component along its features, as it stands and at both ends of its band: a line each.

    shapes : name → (D,) shares of the component's sum; the first and the last are dashed.
    """
    figure, names = Sketch(), [safe(name, 24) for name in features]
    for i, (name, shares) in enumerate(shapes.items()):
        figure.add_scatter(
            x=np.arange(len(names)),
            y=shares,
            mode="lines",
            name=name,
            line={
                "color": component_color(component) if i == 1 else (MIDDLE, INK)[i > 0],
                "width": 3 if i == 1 else 1.5,
                "dash": ("dot", "solid", "dash")[i],
            },
            text=names,
            hovertemplate="%{text}: %{y:.3%}<extra></extra>",
        )
    shown = np.unique(np.linspace(0, len(names) - 1, min(len(names), MOST_TICKS)).astype(int))
    figure.update_xaxes(tickvals=shown, ticktext=[names[d] for d in shown], showgrid=False)
    figure.update_yaxes(title="share of the component's sum", tickformat=".1%", rangemode="tozero")
    return layout(figure, title, 320, margin={"t": 76})


def shape_bands(
    features: Sequence[str],
    lower: np.ndarray,
    value: np.ndarray,
    upper: np.ndarray,
    called: Sequence[str] = (),
    axis: Axis | None = None,
) -> go.Figure:
    """Range of each component: bands along an axis, bars of the strongest features else.

    lower, value, upper : (D, R), columns of ``value`` sum to 1. called : R names.
    """
    names = [f"component {safe(name, 24)}" for name in numbered(called, value.shape[1])]
    figure = Sketch()
    rows = np.arange(len(value))
    if axis is None:
        rows = np.sort(np.argsort(-upper.max(axis=1), kind="stable")[:MOST_BARS])
        shown = [safe(features[d], 24) for d in rows.tolist()]
    for r, name in enumerate(names):
        color = component_color(r)
        if axis is not None:
            figure.add_band(axis.values, lower[:, r], upper[:, r], translucent(color, 0.25))
            mark: dict[str, object] = {"mode": "lines", "line": {"color": color, "width": 2.5}}
            x = axis.values
        else:
            up, down = upper[rows, r] - value[rows, r], value[rows, r] - lower[rows, r]
            bars = {"type": "data", "symmetric": False, "array": up, "arrayminus": down}
            mark = {"mode": "markers", "marker": {"color": color, "size": 7}}
            mark["error_y"] = bars | {"color": color, "thickness": 3, "width": 0}
            x = np.arange(len(rows)) + 0.25 * (r - (len(names) - 1) / 2)
        figure.add_scatter(
            x=x,
            y=value[rows, r],
            name=name,
            customdata=np.column_stack([lower[rows, r], upper[rows, r]]),
            hovertemplate=f"{name}: %{{y:.2%}}, from %{{customdata[0]:.2%}} to "
            "%{customdata[1]:.2%}<extra></extra>",
            **mark,
        )
    if axis is None:
        figure.update_xaxes(tickvals=np.arange(len(rows)), ticktext=shown, showgrid=False)
    else:
        along(figure, axis)
    figure.update_yaxes(title="share of the component", tickformat=".1%", rangemode="tozero")
    return layout(figure, "What each component can look like", 360, margin={"t": 80})


def feasible_regions(
    feasible: Feasible,
    found: Region,
    called: Sequence[str] = (),
    others: Mapping[str, np.ndarray] | None = None,
    locked: Mapping[int, np.ndarray] | None = None,
) -> go.Figure:
    """Where each of three components may lie: the room, the data, and a region for each.

    Parameters
    ----------
    others : name of a mode → (3, 2) places of its components. locked : number → place (2,).
    called : 3 names. Every place of a region can be picked: ``customdata`` is x and y.
    """
    locked, names = locked or {}, [safe(name, 18) for name in numbered(called, feasible.R)]
    figure = Sketch()
    colors = [*map(component_color, range(feasible.R)), TOGETHER]
    for r in np.unique(found.of).tolist():
        places = found.places[found.of == r]
        figure.add_scatter(
            x=places[:, 0],
            y=places[:, 1],
            mode="markers",
            name="may be several" if r == feasible.R else f"region of {names[r]}",
            marker={"color": colors[r], "size": 4, "symbol": "square", "opacity": 0.5},
            customdata=places,
            hoverinfo="skip",
        )
    for corners, name, width in (
        (feasible.room(), "no entry below 0", 1.5),
        (feasible.hull, "data", 2.5),
    ):
        closed = np.vstack([corners, corners[:1]])
        figure.add_scatter(
            x=closed[:, 0],
            y=closed[:, 1],
            mode="lines",
            name=name,
            line={"color": MUTED if width < 2 else INK, "width": width},
            hoverinfo="skip",
        )
    for k, (name, places) in enumerate((others or {}).items(), start=1):
        figure.add_scatter(
            x=places[:, 0],
            y=places[:, 1],
            mode="markers",
            name=safe(name),
            marker={"color": mode_color(k), "size": 9, "symbol": "diamond-open"},
            hovertemplate=f"{safe(name)}<extra></extra>",
        )
    own = feasible.places(np.eye(feasible.R))
    for r, place in locked.items():
        own[r] = place
    figure.add_scatter(
        x=own[:, 0],
        y=own[:, 1],
        mode="markers+text",
        text=[f"{name} (locked)" if r in locked else name for r, name in enumerate(names)],
        textposition="top center",
        name="components",
        marker={
            "color": colors[: feasible.R],
            "size": [15 if r in locked else 11 for r in range(feasible.R)],
            "line": {"color": INK, "width": 1.5},
        },
        showlegend=False,
        hoverinfo="skip",
    )
    span = np.ptp(feasible.room(), axis=0).max()
    middle = 0.5 * (feasible.room().min(axis=0) + feasible.room().max(axis=0))
    for axis, centre in ((figure.update_xaxes, middle[0]), (figure.update_yaxes, middle[1])):
        axis(
            showgrid=False,
            zeroline=False,
            showticklabels=False,
            range=[centre - 0.6 * span, centre + 0.6 * span],
        )
    figure.update_yaxes(scaleanchor="x")
    return layout(figure, "Where each component may lie", REGIONS)
