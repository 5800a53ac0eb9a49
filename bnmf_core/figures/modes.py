"""Modes: their map, their number at every threshold, what runs and restarts found of them."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from bnmf_core.compare.unseen import Unseen
from bnmf_core.core.names import percent
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import (
    HIGHLIGHT,
    LINE,
    MIDDLE,
    MUTED,
    ROUNDING,
    RunStyle,
    component_color,
    count_axis,
    layout,
    rounded,
    safe,
)
from bnmf_core.figures.thinning import thinned

# The first six are from Okabe and Ito (2008); modes beyond the last colour are grey.
MODE_COLORS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#7E57A5",
    "#8C6D31",
)
# Pixels: of the map, of the smallest circle, and per root of the share of restarts.
WIDTH, HEIGHT, ROOM = 520, 540, 60
SMALLEST, LARGEST = 12.0, 96.0
# A circle at least so wide has its number inside. Modes that are labelled.
WIDE, LABELLED = 20.0, 8
LETTER, ROW = 7.0, 15.0
# Pixels between two labels side by side, so that they are not read as one.
APART = 16.0
# Candidate positions of a label, in half widths from the middle of its circle.
AROUND = ((1, 0), (-1, 0), (0, 1), (0, -1), (0.8, 0.8), (-0.8, 0.8), (0.8, -0.8), (-0.8, -0.8))


def mode_color(mode: int) -> str:
    """The colour of a mode, 0-based."""
    return MODE_COLORS[mode] if mode < len(MODE_COLORS) else MUTED


def mode_map(
    points: np.ndarray,
    members: pd.DataFrame,
    mode_labels: np.ndarray,
    representatives: np.ndarray,
    optima: np.ndarray,
    masses: Sequence[str],
    heavy: np.ndarray,
    names: Sequence[str],
    unit: str,
    focus: np.ndarray,
    measure: str = SQUARED_ERROR.measure,
    dots_are: str = "factorizations",
    one_family: bool = False,
) -> go.Figure:
    """Modes and draws in the plane, each circle's area the number of restarts that end there.

    Customdata begins with the rows of ``members`` that a mark stands for.

    Parameters
    ----------
    points : (m, 2) positions in the distance's unit. members : the table of a comparison.
    mode_labels : (m,) mode of each, 0-based. representatives : (K,) rows of ``members``.
    optima : (m,) bool, converged restarts. masses : K words for the posterior mass, "" for unknown;
        written beside the modes that are ``heavy`` (K,) bool.
    names : K names of modes. unit : of the distance. focus : (m,) bool, the selected members.
    measure : what the errors of members are. dots_are : what is no converged restart.
    one_family : whether the modes are pieces of one family.
    """
    points = np.where(np.abs(points) < ROUNDING, 0.0, points)
    K = len(representatives)
    count = np.bincount(mode_labels[optima], minlength=K)
    figure = Sketch()
    dots = np.flatnonzero(~optima)
    thin = thinned(*points[dots].T, mode_labels[dots], np.ones(dots.size, bool), focus[dots])
    drawn = np.flatnonzero(thin.drawn)
    if drawn.size:
        which = mode_labels[dots[drawn]]
        figure.add_scatter(
            x=points[dots[drawn], 0],
            y=points[dots[drawn], 1],
            mode="markers",
            customdata=thin.customdata(drawn, dots, which + 1),
            marker={
                "size": 5,
                "color": [mode_color(int(k)) for k in which],
                "opacity": np.where(focus[dots[drawn]], 0.5, 0.15).tolist(),
            },
            showlegend=False,
            # A click on a circle is one on it, whatever draws lie there; a lasso takes draws, too.
            hoverinfo="skip",
        )
    order = np.argsort(-count, kind="stable")
    size = np.maximum(LARGEST * np.sqrt(count / max(count.sum(), 1)), SMALLEST)
    error = members["error"].groupby(mode_labels).min().reindex(range(K)).to_numpy()
    in_focus = np.array([focus[mode_labels == k].any() for k in range(K)])
    hover = [
        f"<b>{safe(names[k])}</b><br>{count[k]} of {count.sum()} restarts"
        f"<br>{measure} {error[k]:.4f}" + (f"<br>posterior mass {masses[k]}" * bool(masses[k]))
        for k in range(K)
    ]
    figure.add_scatter(
        x=points[representatives[order], 0],
        y=points[representatives[order], 1],
        mode="markers+text",
        text=[f"<b>{k + 1}</b>" if size[k] >= WIDE else "" for k in order],
        textfont={"color": "#FFFFFF", "size": 14},
        hovertext=[hover[k] for k in order],
        hovertemplate="%{hovertext}<extra></extra>",
        customdata=[[np.flatnonzero(mode_labels == k).tolist(), int(k) + 1] for k in order],
        marker={
            "size": size[order].tolist(),
            "color": [mode_color(int(k)) for k in order],
            "opacity": np.where(in_focus[order], 0.92, 0.25).tolist(),
            "line": {"width": 1.5, "color": "#FFFFFF"},
        },
        showlegend=False,
    )
    extent = np.ptp(points, axis=0) / (np.array([WIDTH, HEIGHT]) - 2 * ROOM)
    scale = float(max(extent.max(), 1e-9))  # units of the distance per pixel
    labels = {
        k: "<br>".join(
            ([] if size[k] >= WIDE else [f"<b>{k + 1}</b>"])
            + ([f"{masses[k]} of the mass"] if heavy[k] else [])
            + (
                [f"{percent(count[k] / count.sum())} of restarts"]
                if count.sum() and k in order[:3]
                else []
            )
        )
        for k in list(dict.fromkeys([*np.flatnonzero(heavy).tolist(), *range(K)]))[:LABELLED]
    }
    notes = placed_labels(points[representatives] / scale, size / 2, labels, scale)
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False, scaleanchor="x", scaleratio=1)
    # A single circle, or everything in one place, in the middle: there is nothing to measure.
    if (K == 1 and not dots.size) or not extent.any():
        x, y = points[representatives[0]]
        figure.update_xaxes(range=[x - 1, x + 1])
        figure.update_yaxes(range=[y - 1, y + 1])
    else:
        notes.append(_scale_bar(figure, points, scale, unit))
    figure.update_layout(annotations=notes)
    made = [f"{int(count.sum())} restarts"] if count.any() else []
    made += [f"{dots.size} {dots_are}"] if dots.size else []
    title = f"{K} mode{'s' * (K > 1)} of {', '.join(made)}"
    if one_family:
        title = f"One family, cut into {title}"
    margin: dict[str, object] = {"l": 8, "r": 40, "b": 8}
    return layout(figure, title, HEIGHT, margin=margin)


def placed_labels(
    places: np.ndarray, radii: np.ndarray, labels: dict[int, str], scale: float
) -> list[dict[str, object]]:
    """Labels where they hide no circle and no other label, as annotations; all in pixels."""
    taken = [(x - r, y - r, x + r, y + r) for (x, y), r in zip(places, radii, strict=True)]
    notes = []
    for k, text in labels.items():
        if not text:
            continue
        lines = text.replace("<b>", "").replace("</b>", "").split("<br>")
        w, h = LETTER * max(map(len, lines)) + APART, ROW * len(lines)
        (x, y), r = places[k], radii[k]
        away = [(a * (r + w / 2 + 4), b * (r + h / 2 + 2)) for a, b in AROUND]
        boxes = [(x + u - w / 2, y + v - h / 2, x + u + w / 2, y + v + h / 2) for u, v in away]
        best = int(np.argmin([_overlap(box, taken) for box in boxes]))
        taken.append(boxes[best])
        note = {"x": x * scale, "y": y * scale, "text": text, "showarrow": False}
        # Beside a circle text begins, or ends, where the circle does, however long it is.
        side = AROUND[best][0]
        anchor = "center" if not side else "left" if side > 0 else "right"
        shift = {"xshift": float(side * (r + 4)), "yshift": float(away[best][1])}
        notes.append(note | shift | {"xanchor": anchor, "font": {"size": 13}})
    return notes


def _overlap(box: tuple[float, ...], taken: Sequence[tuple[float, ...]]) -> float:
    return sum(
        max(0.0, min(box[2], other[2]) - max(box[0], other[0]))
        * max(0.0, min(box[3], other[3]) - max(box[1], other[1]))
        for other in taken
    )


def _scale_bar(figure: Sketch, points: np.ndarray, scale: float, unit: str) -> dict[str, object]:
    """Draw a round distance below at the left; the annotation that says how long it is."""
    wanted = 80 * scale
    power = 10.0 ** np.floor(np.log10(wanted))
    length = float(max(step * power for step in (1, 2, 5) if step * power <= wanted))
    x = float(points[:, 0].min())
    ends = {"x0": x, "x1": x + length, "y0": 0.02, "y1": 0.02, "xref": "x", "yref": "paper"}
    figure.add_shape(type="line", line={"color": MIDDLE, "width": 2}, **ends)
    note = {"x": x, "y": 0.02, "yref": "paper", "xanchor": "left", "yanchor": "bottom"}
    caption = {"text": f"{length:g}{unit if unit == '°' else f' {unit}'}", "showarrow": False}
    return note | caption | {"font": {"size": 12}}


def mode_count(linkage: np.ndarray, threshold: float, distance_label: str, unit: str) -> go.Figure:
    """Staircase of the number of modes over the threshold, with the chosen one marked.

    Parameters
    ----------
    linkage : (m − 1, 4) complete linkage. threshold : in the distance's unit.
    """
    thresholds, count = mode_counts(linkage)
    thresholds = rounded(thresholds, unit)
    if not thresholds.any():  # one mode at every threshold that is seen
        thresholds[-1] = threshold or 1.0
    figure = Sketch()
    figure.add_scatter(
        x=thresholds,
        y=count,
        mode="lines",
        line={"shape": "hv", "color": LINE, "width": 2},
        showlegend=False,
        hovertemplate="threshold %{x:.3g}: %{y} modes<extra></extra>",
    )
    figure.add_vline(x=threshold, line={"color": HIGHLIGHT, "width": 2, "dash": "dash"})
    figure.update_xaxes(title=f"threshold on {distance_label} ({unit})", rangemode="tozero")
    figure.update_yaxes(title="number of modes", **count_axis(count.max(), True))
    return layout(figure, "Number of modes at every threshold", height=300)


def mode_counts(linkage: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Thresholds at which the number of modes changes, and the number from there on."""
    heights = np.concatenate([[0.0], linkage[:, 2]])
    count = len(linkage) + 1 - np.arange(len(heights))
    end = heights[-1] * 1.05 if heights[-1] > 0 else 1.0
    return np.append(heights, end), np.append(count, 1)


def mode_share(table: pd.DataFrame, styles: Mapping[str, RunStyle]) -> go.Figure:
    """Grouped bars: share of every run's factorizations in every mode.

    Parameters
    ----------
    table : columns mode (1-based), run, share (0 to 1).
    """
    figure = Sketch()
    for run_id, style in styles.items():
        part = table[table["run"] == run_id]
        figure.add_bar(
            x=[str(mode) for mode in part["mode"]],
            y=part["share"],
            name=style.label,
            marker={"color": style.color},
            hovertemplate="mode %{x}: %{y:.1%} of " + style.label + "<extra></extra>",
        )
    figure.update_yaxes(title="share of the run", tickformat=".0%", range=[0, 1.02])
    figure.update_xaxes(title="mode", type="category")
    return layout(figure, "Share of each run in each mode", height=330, barmode="group")


BAND = "rgba(76, 110, 143, 0.2)"


def discovery_curve(unseen: Unseen) -> go.Figure:
    """The expected number of modes among the first n restarts, with its interval."""
    curve = unseen.curve
    figure = Sketch()
    figure.add_band(curve["restarts"], curve["lower"], curve["upper"], BAND)
    for extrapolated, dash in ((False, "solid"), (True, "dot")):
        part = curve[curve["extrapolated"] == extrapolated]
        figure.add_scatter(
            x=part["restarts"],
            y=part["modes"],
            mode="lines",
            line={"color": LINE, "width": 2, "dash": dash},
            showlegend=False,
            hovertemplate="%{x} restarts: %{y:.1f} modes<extra></extra>",
        )
    figure.add_vline(x=unseen.restarts, line={"color": HIGHLIGHT, "width": 2, "dash": "dash"})
    figure.update_xaxes(title="restarts", rangemode="tozero")
    figure.update_yaxes(title="modes found", rangemode="tozero")
    return layout(figure, "Modes found over restarts", height=300)


def three_answers(
    restarts: np.ndarray,
    relative_height: np.ndarray,
    mass: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> go.Figure:
    """Bars of K modes, side by side for each measure.

    Parameters
    ----------
    restarts : (K,) shares of restarts, sum 1. relative_height : (K,) density at the best place
        over that of the best of all. mass, low, high : (K,) shares of the posterior with limits.
    """
    titles = ("Basin:<br>restarts", "Height:<br>density", "Mass:<br>posterior")
    figure = make_subplots(cols=3, subplot_titles=titles, horizontal_spacing=0.07)
    names = [f"mode {k + 1}" for k in range(restarts.size)]
    colors = [component_color(k) for k in range(restarts.size)]
    for column, values in enumerate((restarts, relative_height, mass), 1):
        tops = np.maximum(values, high) if column == 3 else values
        figure.add_bar(
            x=names,
            y=values,
            marker_color=colors,
            error_y={"array": high - mass, "arrayminus": mass - low} if column == 3 else None,
            hovertemplate="%{x}: %{y:.3g}<extra></extra>",
            col=column,
            row=1,
        )
        # Above the bars, and above what is drawn of their errors.
        figure.add_scatter(
            x=names,
            y=tops,
            text=[f"{value:.3g}" if column == 2 else f"{value:.1%}" for value in values],
            mode="text",
            textposition="top center",
            cliponaxis=False,
            hoverinfo="skip",
            col=column,
            row=1,
        )
    figure.update_yaxes(range=[0, 1.15], tickvals=[0, 0.5, 1], tickformat=".0%")
    figure.update_yaxes(col=2, tickformat=".2g")
    annotations = figure.layout.annotations
    layout(figure, "", height=255, margin={"l": 40, "t": 52, "b": 30})
    return figure.update_layout(annotations=annotations, showlegend=False)
