"""Trees of factorizations as they grew, beside what other runs found (paper 2, figures 1 to 3)."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import FALLBACK, HIGHLIGHT, MUTED, RunStyle, layout, safe

MOST_FRAMES = 40
# Triangles of one run that are drawn, evenly spaced; corners are drawn of all.
MOST_TRIANGLES = 60
FRAME_MILLISECONDS = 150
COLORS = "Viridis"


def tree_map(
    points: pd.DataFrame, styles: Mapping[str, RunStyle], distance: str, unit: str
) -> go.Figure:
    """Nodes and edges of every tree on a map, with play, pause and a slider over time.

    Parameters
    ----------
    points : one row per factorization: run (a key of ``styles``, "" for a known one), name, tree,
        ids, parent, parent_row, to_parent, seconds, x, y; x and y in the unit.
    distance, unit : what the map shows.
    """
    when = arrival(points)
    position = points[["x", "y"]].to_numpy()

    def grown(moment: float) -> list[go.Scatter]:
        traces = []
        for run_id, style in styles.items():
            rows = np.flatnonzero(((points["run"] == run_id) & (when <= moment)).to_numpy())
            if not points.loc[points["run"] == run_id, "tree"].any():
                traces.append(_particles(position, rows, points, style))
                continue
            parents = points["parent_row"].to_numpy()[rows]
            children, parents = rows[parents >= 0], parents[parents >= 0]
            ends = np.stack([position[parents], position[children]], axis=1)
            traces += [_lines(ends, style, 1.0), _nodes(position, rows, points, when, style)]
        return traces

    figure = go.Figure(grown(np.inf))
    starts = points["tree"] & (points["parent_row"] < 0)
    _marked(figure, position[starts], "start of a tree", "star", FALLBACK)
    known = points["run"] == ""
    _marked(
        figure,
        position[known],
        "known exact factorization",
        "circle-open",
        HIGHLIGHT,
        [safe(name) for name in points.loc[known, "name"]],
    )
    figure.update_xaxes(title=f"first direction of {safe(distance)} ({unit})", zeroline=False)
    figure.update_yaxes(
        title=f"second direction ({unit})", zeroline=False, scaleanchor="x", scaleratio=1
    )
    title = "The tree as it grew"
    found = position[~known]
    figure = _animated(figure, title, found, grown, points, when)
    _note_beyond(figure, position[known], points.loc[known, "name"].tolist(), unit)
    return figure


def tree_simplex(
    points: pd.DataFrame, bases: np.ndarray, data: np.ndarray, styles: Mapping[str, RunStyle]
) -> go.Figure:
    """Rank 3: the data, the triangle of each basis, and the known triangles, over time.

    Parameters
    ----------
    points : as for :func:`tree_map`. bases : (points, 3, 2). data : (N, 2).
    """
    when = arrival(points)

    def grown(moment: float) -> list[go.Scatter]:
        traces = []
        for run_id, style in styles.items():
            everything = np.flatnonzero((points["run"] == run_id).to_numpy())
            shown = everything[:: max(1, -(-everything.size // MOST_TRIANGLES))]
            triangles = bases[shown[when.to_numpy()[shown] <= moment]][:, [0, 1, 2, 0]]
            rows = everything[when.to_numpy()[everything] <= moment]
            traces += [
                _lines(triangles, style, 0.35),
                go.Scatter(
                    x=_small(bases[rows, :, 0].ravel()),
                    y=_small(bases[rows, :, 1].ravel()),
                    mode="markers",
                    name=style.label,
                    hoverinfo="skip",
                    marker={"color": style.color, "size": 5, "symbol": style.symbol},
                ),
            ]
        return traces

    figure = go.Figure(grown(np.inf))
    _marked(figure, data, "data", "x", MUTED)
    for row in np.flatnonzero((points["run"] == "").to_numpy()):
        triangle = bases[row][[0, 1, 2, 0]]
        figure.add_scatter(
            x=triangle[:, 0],
            y=triangle[:, 1],
            mode="lines",
            hoverinfo="skip",
            name=f"known: {safe(points['name'].iloc[row])}",
            line={"color": HIGHLIGHT, "width": 2, "dash": "dash"},
        )
    figure.update_xaxes(title="first coordinate in the simplex plane (no unit)", zeroline=False)
    figure.update_yaxes(title="second coordinate", scaleanchor="x", zeroline=False)
    corners = np.concatenate([data, bases.reshape(-1, 2)])
    title = "Triangles around the data, as they were found"
    return _animated(figure, title, corners, grown, points, when)


def growth(points: pd.DataFrame, styles: Mapping[str, RunStyle]) -> go.Figure:
    """Nodes of each tree against seconds; customdata holds each node's row among the members."""
    figure = Sketch()
    for run_id, style in styles.items():
        part = points[(points["run"] == run_id) & points["tree"]]
        if part.empty:
            continue
        members = [row if row >= 0 else None for row in part["member"].tolist()]
        figure.add_scatter(
            x=arrival(part),
            y=part["ids"] + 1,
            mode="lines+markers",
            name=style.label,
            customdata=np.array(members, dtype=object),
            line={"color": style.color, "width": 1},
            marker={"symbol": style.symbol, "size": 5},
            hovertemplate="node %{y:.0f} after %{x:.2f} s<extra>%{fullData.name}</extra>",
        )
    figure.update_xaxes(title="seconds since the run began", rangemode="tozero")
    figure.update_yaxes(title="nodes so far", rangemode="tozero")
    return layout(figure, "How fast the tree grew", height=380)


def arrival(points: pd.DataFrame) -> pd.Series:
    """When each factorization came, seconds; −∞ where nothing is known.

    What one step of an algorithm has made is noted at its end: here it is spread over the step.
    """
    when = pd.Series(-np.inf, index=points.index)
    for _, part in points[points["seconds"].notna()].groupby("run", sort=False):
        ends, step, count = np.unique(part["seconds"], return_inverse=True, return_counts=True)
        begins = np.append(ends[0], ends[:-1])
        turn = part.groupby("seconds").cumcount().to_numpy() + 1
        when[part.index] = begins[step] + (ends - begins)[step] * turn / count[step]
    return when


def _animated(
    figure: go.Figure,
    title: str,
    around: np.ndarray,
    grown: Callable[[float], Sequence[go.Scatter]],
    points: pd.DataFrame,
    when: pd.Series,
) -> go.Figure:
    """Give the figure frames of its first traces, the buttons, the slider and fixed limits."""
    known = np.sort(when[np.isfinite(when)].to_numpy())
    chosen = np.linspace(0, len(known) - 1, min(MOST_FRAMES, len(known))).round().astype(int)
    moments = np.unique(known[chosen])
    steps, frames = [], []
    for number, moment in enumerate(moments):
        data = grown(moment)
        frames.append(go.Frame(data=data, traces=list(range(len(data))), name=str(number)))
        nodes = int((points["tree"] & (when <= moment)).sum())
        steps.append(
            {
                "label": f"{moment:.2f} s: {nodes} nodes",
                "method": "animate",
                "args": [[str(number)], _pace(0, "immediate")],
            }
        )
    figure.frames = frames
    buttons = [
        {"label": "▶ Play", "method": "animate", "args": [None, _pace(FRAME_MILLISECONDS)]},
        {"label": "❚❚ Pause", "method": "animate", "args": [[None], _pace(0, "immediate")]},
    ]
    menu = {
        "type": "buttons",
        "buttons": buttons,
        "direction": "left",
        "showactive": False,
        "x": 0,
        "xanchor": "left",
        "y": -0.18,
        "yanchor": "top",
    }
    # The steps' own labels would lie over each other: only the current one is shown.
    slider = {
        "steps": steps,
        "active": len(steps) - 1,
        "y": -0.17,
        "ticklen": 0,
        "minorticklen": 0,
        "currentvalue": {"prefix": "after ", "xanchor": "right"},
        "font": {"color": "rgba(0,0,0,0)"},
    }
    for axes, values in ((figure.update_xaxes, around[:, 0]), (figure.update_yaxes, around[:, 1])):
        low, high = np.nanmin(values), np.nanmax(values)
        room = 0.06 * (high - low) or 1.0
        axes(range=[low - room, high + room])
    return layout(
        figure,
        title,
        height=610,
        margin={"b": 165},
        updatemenus=[menu],
        sliders=[slider],
    )


def _note_beyond(figure: go.Figure, known: np.ndarray, names: Sequence[str], unit: str) -> None:
    """Say at the border where known factorizations lie that the picture does not reach."""
    (left, right), (low, high) = figure.layout.xaxis.range, figure.layout.yaxis.range
    for number, ((x, y), name) in enumerate(zip(known, names, strict=True)):
        if left <= x <= right and low <= y <= high:
            continue
        figure.add_annotation(
            text=f"known: {safe(name)}, far outside at ({x:.3g}{unit}, {y:.3g}{unit})",
            xref="paper",
            yref="paper",
            x=1,
            y=1 - 0.05 * number,
            xanchor="right",
            yanchor="top",
            showarrow=False,
            font={"color": HIGHLIGHT},
            bgcolor="#FFFFFF",
        )


def _pace(milliseconds: int, mode: str = "afterall") -> dict[str, object]:
    return {
        "frame": {"duration": milliseconds, "redraw": False},
        "transition": {"duration": 0},
        "fromcurrent": True,
        "mode": mode,
    }


def _small(values: np.ndarray) -> np.ndarray:
    # A picture needs no more digits, and there are many frames.
    return np.asarray(values, dtype=np.float32)


def _lines(paths: np.ndarray, style: RunStyle, opacity: float) -> go.Scatter:
    """Paths (k, n, 2) as one trace, with a gap after each."""
    gap = np.full((len(paths), 1, 2), np.nan)
    x, y = np.concatenate([paths, gap], axis=1).reshape(-1, 2).T
    return go.Scatter(
        x=_small(x),
        y=_small(y),
        mode="lines",
        showlegend=False,
        hoverinfo="skip",
        line={"color": style.color, "width": 1},
        opacity=opacity,
    )


def _nodes(
    position: np.ndarray, rows: np.ndarray, points: pd.DataFrame, when: pd.Series, style: RunStyle
) -> go.Scatter:
    part = points.iloc[rows]
    seconds = when.to_numpy()
    of_run = (
        seconds[(points["run"] == points["run"].iloc[rows[0]]).to_numpy()] if rows.size else [0]
    )
    return go.Scatter(
        x=_small(position[rows, 0]),
        y=_small(position[rows, 1]),
        mode="markers",
        name=style.label,
        customdata=_small(part[["ids", "parent", "to_parent"]].to_numpy()),
        marker={
            "color": _small(seconds[rows]),
            "colorscale": COLORS,
            "size": 7,
            "cmin": float(np.min(of_run)),
            "cmax": float(np.max(of_run)),
            "symbol": style.symbol,
            "line": {"width": 0.5, "color": "white"},
            "colorbar": {"title": {"text": "seconds"}, "thickness": 12, "len": 0.8},
        },
        hovertemplate="node %{customdata[0]:.0f} of " + style.label + "<br>from node "
        "%{customdata[1]:.0f}, %{customdata[2]:.3g}° away<br>after %{marker.color:.2f} s"
        "<extra></extra>",
    )


def _particles(
    position: np.ndarray, rows: np.ndarray, points: pd.DataFrame, style: RunStyle
) -> go.Scatter:
    return go.Scatter(
        x=_small(position[rows, 0]),
        y=_small(position[rows, 1]),
        mode="markers",
        name=style.label,
        customdata=_small(points["ids"].iloc[rows].to_numpy()),
        marker={"color": style.color, "symbol": style.symbol, "size": 7, "opacity": 0.6},
        hovertemplate="factorization %{customdata:.0f} of " + style.label + "<extra></extra>",
    )


def _marked(
    figure: go.Figure, at: np.ndarray, name: str, symbol: str, color: str, text: Sequence[str] = ()
) -> None:
    """Points that are there from the first frame to the last."""
    if not len(at):
        return
    figure.add_scatter(
        x=at[:, 0],
        y=at[:, 1],
        mode="markers",
        name=name,
        text=list(text) or None,
        hovertemplate=name + ("<br>%{text}" if len(text) else "") + "<extra></extra>",
        marker={
            "symbol": symbol,
            "size": 13 if len(text) else 10,
            "color": color,
            "line": {"width": 2 if symbol.endswith("open") else 0.5},
        },
    )
