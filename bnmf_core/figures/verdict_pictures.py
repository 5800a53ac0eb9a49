"""The small pictures of the four verdicts: modes by error, components, chains, classes."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bnmf_core.compare.conclusions import SAME
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.figures.modes import mode_color
from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import INK, LINE, MIDDLE, MUTED, component_color, safe

HEIGHT = 120
# Diameter of the largest circle, pixels.
LARGEST, SMALLEST = 34.0, 6.0
# Classes with names beside their line, where each has room for one.
MOST_NAMED = 7
# Numbers of components below the bars, where two digits have room.
MOST_NUMBERS = 10
# Widths of what R̂ may have, above which its ends have no room for a number each.
FEW = 5.0
# What passes.
ALLOWED = "rgba(0, 158, 115, 0.25)"


def by_error(
    table: pd.DataFrame, measure: str = SQUARED_ERROR.measure, explains: str = ""
) -> go.Figure:
    """Modes on the axis of the measure of fit, the area the restarts that end in each.

    table : a row per mode, columns best_error and found_by. measure : what these errors are; the
    relative error is shown in percent. explains : of what they leave a part unexplained; shown is
    then the part that is explained.
    """
    word = measure.removeprefix("relative ")
    whole, unit = (100, " %") if measure == SQUARED_ERROR.measure else (1, "")
    errors = whole * np.nan_to_num(table["best_error"].to_numpy(dtype=float))
    if explains:
        word, unit, errors = f"{explains} explained", " %", 100 * (1.0 - errors)
    found = table["found_by"].fillna(0.0).to_numpy(dtype=float)
    order = np.argsort(-found, kind="stable")
    figure = Sketch()
    figure.add_scatter(
        x=errors[order],
        y=np.zeros(len(table)),
        mode="markers",
        marker={
            "size": np.maximum(LARGEST * np.sqrt(found[order]), SMALLEST),
            "color": [mode_color(int(k)) for k in order],
            "opacity": 0.85,
            "line": {"width": 1, "color": "#FFFFFF"},
        },
        text=[f"mode {k + 1}" for k in order],
        hovertemplate=f"%{{text}}: {word} %{{x:{'.3f' if unit else '.4g'}}}{unit}<extra></extra>",
        showlegend=False,
    )
    figure.update_yaxes(visible=False, range=[-1, 1])
    ends = [float(errors.min()), float(errors.max())]
    extent = ends[1] - ends[0]
    # Just as many digits as tell the largest from the smallest.
    digits = 2 if extent <= 0 else int(np.clip(np.ceil(-np.log10(extent)) + 1, 1, 4))
    near = extent < 10.0 ** -(digits + 1)
    ticks = ends[:1] if near else ends
    room = 0.15 * extent if not near else 10.0**-digits
    figure.update_xaxes(
        tickvals=ticks,
        ticktext=[f"{tick:.{digits}f} %" if unit else f"{tick:.4g}" for tick in ticks],
        tickangle=0,
        ticklabeloverflow="allow",
        range=[ends[0] - room, ends[1] + room],
        showgrid=False,
        zeroline=False,
    )
    # An axis title would stand between long tick labels.
    title = {"text": word if explains else measure, "yshift": -22, "yanchor": "top"}
    figure.update_layout(
        annotations=[
            title | {"x": 0.5, "y": 0, "xref": "paper", "yref": "paper", "showarrow": False}
        ]
    )
    return _small(figure, bottom=42)


def found_again(
    found: np.ndarray, held: np.ndarray, turned: np.ndarray, agreed: float, apart: float
) -> go.Figure:
    """For every component the part of restarts that find it again, and of the posterior mass.

    found, held : (R,), NaN where not known. turned : (R,) degrees by which draws turn it; a cross
    stands for a ring where these are more than ``apart``. agreed : the part that is enough.
    """
    R = found.size
    x = list(range(1, R + 1))
    figure = Sketch()
    figure.add_bar(
        x=x,
        y=np.nan_to_num(found),
        marker={"color": [component_color(r) for r in range(R)]},
        hovertemplate="%{x}: %{y:.0%} of restarts<extra></extra>",
        showlegend=False,
    )
    if np.isfinite(held).any():
        figure.add_scatter(
            x=x,
            y=held,
            mode="markers",
            marker={
                "size": 8,
                "color": "#FFFFFF",
                "symbol": ["x-thin" if angle > apart else "circle" for angle in turned],
                "line": {"width": 2, "color": INK},
            },
            customdata=["" if np.isnan(a) else f"<br>draws turn it by {a:.0f}°" for a in turned],
            hovertemplate="%{x}: %{y:.1%} of the mass%{customdata}<extra></extra>",
            showlegend=False,
        )
    across = {"x0": 0.4, "x1": R + 0.6, "y0": agreed, "y1": agreed}
    figure.add_shape(type="line", line={"color": MIDDLE, "width": 1, "dash": "dot"}, **across)
    every = 1 + (R - 1) // MOST_NUMBERS
    figure.update_xaxes(tickvals=x[::every], range=[0.4, R + 0.6], showgrid=False, tickangle=0)
    figure.update_yaxes(range=[0, 1.08], tickvals=[0, 1], tickformat=".0%", showgrid=False)
    return _small(figure, left=38, bottom=22)


def chain_angles(angles: np.ndarray, chain: np.ndarray) -> go.Figure:
    """The angle of the worst component to the best mode, draw by draw; a line for each chain.

    angles, chain : (M,), in the order in which draws were made.
    """
    figure = Sketch()
    shades = (LINE, mode_color(1), mode_color(2), mode_color(6))
    for i, number in enumerate(np.unique(chain)):
        values = angles[chain == number]
        figure.add_scatter(
            x=np.arange(1, values.size + 1),
            y=values,
            mode="lines",
            line={"width": 1.2, "color": shades[i] if i < len(shades) else MUTED},
            hovertemplate=f"chain {i + 1}, draw %{{x}}: %{{y:.1f}}°<extra></extra>",
            showlegend=False,
        )
    top = float(angles.max())
    figure.update_xaxes(showticklabels=False, showgrid=False, zeroline=False)
    figure.update_yaxes(
        range=[0, 1.1 * max(top, 1.0)],
        tickvals=[0, top],
        ticktext=["0°", f"{top:.0f}°"],
        showgrid=False,
    )
    return _small(figure, left=38, bottom=8)


def worst_r_hat(r_hat: np.ndarray, modes: np.ndarray, limit: float) -> go.Figure:
    """The worst R̂ of the chains within each mode, on an axis that is green up to the limit.

    r_hat, modes : (k,), modes 0-based. limit : what settled chains may have.
    """
    figure = Sketch()
    end = max(float(r_hat.max()) - 1.0, 2 * (limit - 1.0))
    allowed = {"x0": 1.0, "x1": limit, "y0": -0.5, "y1": 0.5, "layer": "below"}
    figure.add_shape(type="rect", fillcolor=ALLOWED, line={"width": 0}, **allowed)
    figure.add_scatter(
        x=r_hat,
        y=np.zeros(r_hat.size),
        mode="markers",
        marker={
            "size": 13,
            "color": [mode_color(int(k)) for k in modes],
            "line": {"width": 1, "color": "#FFFFFF"},
        },
        text=[f"mode {k + 1}" for k in modes],
        hovertemplate="chains in %{text}: R̂ %{x:.3f}<extra></extra>",
        showlegend=False,
    )
    figure.update_yaxes(visible=False, range=[-1, 1])
    # Far from the limit both ends of what is allowed are in one place.
    near = end <= FEW * (limit - 1.0)
    figure.update_xaxes(
        tickvals=[1.0, limit] if near else [limit, 1.0 + end],
        ticktext=["R̂ 1", f"{limit:g}"] if near else [f"R̂ {limit:g}", f"{1.0 + end:.3g}"],
        tickangle=0,
        range=[1.0 - 0.08 * end, 1.0 + 1.1 * end],
        showgrid=False,
        zeroline=False,
    )
    return _small(figure, bottom=26)


def class_ranges(table: pd.DataFrame) -> go.Figure:
    """For every class the range of its AUC over the explanations; what differs stands out.

    table : columns task, lowest, highest and verdict.
    """
    rows = table.reset_index(drop=True)
    named = len(rows) <= MOST_NAMED
    figure = Sketch()
    for same, color in ((True, MUTED), (False, mode_color(1))):
        part = rows[(rows["verdict"] == SAME) == same]
        if part.empty:
            continue
        gap = [None] * len(part)
        figure.add_scatter(
            x=np.array([part["lowest"], part["highest"], gap], dtype=object).T.ravel().tolist(),
            y=np.array([part.index, part.index, gap], dtype=object).T.ravel().tolist(),
            mode="lines+markers",
            line={"width": 3, "color": color},
            marker={"size": 6, "color": color},
            hovertemplate="AUC %{x:.3f}<extra></extra>",
            showlegend=False,
        )
    low = float(rows["lowest"].min())
    figure.update_xaxes(
        range=[low - 0.03 * (1 - low) - 1e-3, 1.002],
        tickvals=[low, 1.0],
        ticktext=[f"AUC {low:.2f}", "1"],
        ticklabeloverflow="allow",
        showgrid=False,
    )
    figure.update_yaxes(
        tickvals=list(rows.index) if named else [],
        ticktext=[safe(task, 12) for task in rows["task"]] if named else [],
        autorange="reversed",
        tickfont={"size": 9},
        showgrid=False,
    )
    return _small(figure, left=70 if named else 28, bottom=24)


def _small(figure: Sketch, left: int = 10, bottom: int = 20) -> go.Figure:
    margin = {"l": left, "r": 10, "t": 6, "b": bottom}
    return figure.update_layout(height=HEIGHT, margin=margin, font={"size": 11}, bargap=0.3)
