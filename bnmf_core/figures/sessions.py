"""Runs in columns on shared axes: covering curve, map, shares of modes, components of the best."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bnmf_core.analysis.sessions import Session
from bnmf_core.compare.topics import RELEVANCE, top_words
from bnmf_core.core.dataset import Dataset
from bnmf_core.figures.components import Profile, draw_profiles, has_profiles, pictures
from bnmf_core.figures.gallery import shares
from bnmf_core.figures.modes import mode_color
from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import (
    BESIDE,
    LINE,
    MUTED,
    ROUNDING,
    component_name,
    in_lines,
    ink,
    layout,
    safe,
    translucent,
)
from bnmf_core.figures.substitutions import substitutions
from bnmf_core.figures.thinning import thinned

# Pixels that the picture usually has: of all columns, of what rows are called, between columns.
WIDTH, LABEL, GAP = 960, 124, 16
# Pixels of the rows, from the top: curves, their ticks, map, modes, what chains did, components.
ROWS = {"curves": 118, "ticks": 28, "map": 150, "modes": 32, "chains": 34, "parts": 118}
HEIGHT, TOP, BAR = sum(ROWS.values()), 98, 22
# Columns side by side at most, and the fewest that share the width.
MOST, FEWEST = 6, 2
# Of what belongs to others.
PALE = 0.4
# Points behind each map; components and words drawn; pixels of a letter, of a line of words.
BEHIND, DRAWN, NAMED, LETTER, LINE_HEIGHT = 500, 16, 5, 6.0, 16.5
# A share that has room for its number, in pixels; profiles below each other.
WIDE, MOST_DOWN = 16, 5
# Pixels of a component's number next to its profile.
NUMBER = 32
# Pixels between the middles of two radii.
TICK = 38


@dataclass(frozen=True, eq=False)
class Shared:
    """Data shared by all columns.

    dataset : factorized. curves : of all runs, columns run, epsilon, covering.
    points : (m, 2) the map. runs, labels : (m,) run and mode of each factorization.
    focus : (m,) bool, the selected members. threshold : between modes, in the ``unit``.
    """

    dataset: Dataset
    curves: pd.DataFrame
    points: np.ndarray
    runs: np.ndarray
    labels: np.ndarray
    focus: np.ndarray
    threshold: float
    unit: str


def bands(count: int) -> list[slice]:
    """Which columns stand side by side, as even as can be.

    >>> bands(8)
    [slice(0, 4, None), slice(4, 8, None)]
    """
    each = math.ceil(count / math.ceil(count / MOST)) if count else 1
    return [slice(first, min(first + each, count)) for first in range(0, count, each)]


def session_columns(columns: Sequence[Session], names: Sequence[str], shared: Shared) -> go.Figure:
    """A column a run, called ``names``; customdata of points on the maps begins with their rows."""
    figure, notes = Sketch(), _labels(columns[0].A.shape[1], shared)
    images: list[dict[str, object]] = []
    for number, (column, name) in enumerate(zip(columns, names, strict=True)):
        place = _Place(figure, notes, number, len(columns))
        heading = f"<b>{in_lines(name, place.pixels, 2)}</b><br>{column.made}<br>{_state(column)}"
        place.note(heading, place.left, 1.0, anchor="bottom")
        _covering(place, column, shared)
        _map(place, column, shared)
        _shares(place, column)
        images += _components(place, column, shared.dataset)
    figure.update_layout(annotations=notes, images=images)
    margin: dict[str, object] = {"l": 0, "r": BESIDE, "t": TOP, "b": 4}
    title = "Covering, map, modes and components, run by run"
    return layout(figure, title, HEIGHT + TOP + 4, margin=margin, showlegend=False)


def _state(column: Session) -> str:
    if column.verdict is None:
        return column.kind
    return "● settled" if column.verdict.settled else "○ not settled"


class _Place:
    """Where a column stands: its axes, and what is written there."""

    def __init__(self, figure: Sketch, notes: list[dict[str, object]], number: int, count: int):
        self.figure, self.notes, self.number = figure, notes, number
        wide = (WIDTH - LABEL) / max(count, FEWEST)
        self.pixels = wide - GAP
        self.left = (LABEL + number * wide) / WIDTH
        self.domain = [self.left, self.left + self.pixels / WIDTH]

    def axes(
        self, row: str, x: dict[str, object], y: dict[str, object], linked: bool = False
    ) -> dict[str, str]:
        """Lay axes out in a row; how a trace names them. ``linked`` : zoomed as the first ones."""
        numbers = (4 * n + [*ROWS].index(row) for n in (0, self.number))
        first, own = (str(number + 1) if number else "" for number in numbers)
        low, high = _edges(row)
        common: dict[str, object] = {"showgrid": False, "zeroline": False}
        if not linked:
            common["fixedrange"] = True
        for kind, other, changes in (("x", "y", x), ("y", "x", y)):
            domain = self.domain if kind == "x" else [low, high]
            match = {"matches": f"{kind}{first}"} if linked and self.number else {}
            axis = common | {"domain": domain, "anchor": f"{other}{own}"} | changes | match
            self.figure.update_layout({f"{kind}axis{own}": axis})
        return {"xaxis": f"x{own}", "yaxis": f"y{own}"}

    def note(self, text: str, x: float, y: float, anchor: str = "top") -> None:
        """Small text from its left end on, on the paper."""
        self.notes.append(_note(text, x, y, anchor))


def _edges(row: str) -> tuple[float, float]:
    """Lower and upper edge of a row, as parts of the height."""
    before = sum(list(ROWS.values())[: [*ROWS].index(row)])
    return 1 - (before + ROWS[row]) / HEIGHT, 1 - before / HEIGHT


def _note(text: str, x: float, y: float, anchor: str = "top") -> dict[str, object]:
    at = {"x": x, "y": y, "xref": "paper", "yref": "paper"}
    look = {"showarrow": False, "xanchor": "left", "align": "left", "yanchor": anchor}
    return {"text": text, "font": {"size": 12}} | at | look


def _labels(R: int, shared: Shared) -> list[dict[str, object]]:
    """Titles of the rows, at their left."""
    shown = _shown(R, shared.dataset)
    parts = "of the best fit" + (f",<br>{shown} of {R}" if shown < R else "")
    classes = substitutions(shared.dataset.features)
    if classes is not None and has_profiles(shared.dataset):
        parts += f";<br>bars from<br>the left:<br>{classes.key(2)}"
    titles = {
        "curves": "<b>Covering</b><br>balls needed,<br>by radius",
        "map": "<b>Map</b><br>the same for<br>all; pale:<br>other runs",
        "modes": "<b>Modes</b><br>share of its<br>factorizations",
        "parts": f"<b>Components</b><br>{parts}",
    }
    return [_note(text, 0.0, _edges(row)[1]) for row, text in titles.items()]


def _covering(place: _Place, column: Session, shared: Shared) -> None:
    """The run's curve before those of the others, and its number at the threshold."""
    curves = shared.curves
    # Differences far below the threshold are not made to look large, here or on the map.
    upper = max(float(curves["epsilon"].max()), 2 * shared.threshold)
    ticks = [0.0]
    for tick in (shared.threshold, 3 * shared.threshold):
        if tick <= upper and place.pixels * (tick - ticks[-1]) >= TICK * upper:
            ticks.append(tick)
    mark = shared.unit if shared.unit == "°" else ""
    top = math.log10(max(float(curves["covering"].max()), 2.0))
    counts = [1, 3, 10, 30, 100, 300]
    axes = place.axes(
        "curves",
        {
            "range": [0, upper],
            "tickvals": ticks,
            "ticktext": [f"{tick:.3g}{mark}" for tick in ticks],
            "tickangle": 0,
        },
        {
            "type": "log",
            "range": [-0.08, top + 0.1],
            "tickvals": counts,
            "showticklabels": place.number == 0,
            "showgrid": True,
        },
        linked=True,
    )
    gap = pd.DataFrame({"epsilon": [None], "covering": [None]})
    others = [
        pd.concat([part, gap])
        for run, part in curves.groupby("run", sort=False)
        if run != column.run
    ]
    line = {"width": 1.5, "color": MUTED, "shape": "hv"}
    common = {"mode": "lines", "showlegend": False, **axes}
    if others:
        behind = pd.concat([part[["epsilon", "covering"]] for part in others]).astype(float)
        x, y = behind["epsilon"].to_numpy(), behind["covering"].to_numpy()
        place.figure.add_scatter(x=x, y=y, line=line, opacity=PALE, hoverinfo="skip", **common)
    own = curves[curves["run"] == column.run]
    place.figure.add_scatter(
        x=own["epsilon"],
        y=own["covering"],
        line=line | {"width": 3, "color": LINE},
        hovertemplate=f"%{{y}} balls of %{{x:.3g}}{mark}<extra></extra>",
        **common,
    )
    label = f"<b>{column.covering}</b>"
    if column.pooled:
        low, high = min(column.each_chain), max(column.each_chain)
        label += f" ({low}{f' to {high}' if high > low else ''} each)"
    place.figure.add_scatter(
        x=[shared.threshold],
        y=[column.covering],
        mode="markers+text",
        text=[label],
        # Above a high one is the heading.
        textposition="bottom right" if math.log10(column.covering) > 0.8 * top else "top right",
        textfont={"size": 14},
        marker={"size": 8, "color": LINE},
        cliponaxis=False,
        hoverinfo="skip",
        showlegend=False,
        **axes,
    )


def _map(place: _Place, column: Session, shared: Shared) -> None:
    """The run's factorizations in the colours of their modes, before those of all others."""
    points = np.where(np.abs(shared.points) < ROUNDING, 0.0, shared.points)
    low, high = points.min(axis=0), points.max(axis=0)
    extent = float((high - low).max())
    room = max(0.06 * max(extent, ROUNDING), shared.threshold - extent)
    axes = place.axes(
        "map",
        {"visible": False, "range": [low[0] - room, high[0] + room]},
        {"visible": False, "range": [low[1] - room, high[1] + room]},
        linked=True,
    )
    if not place.number:
        place.figure.update_layout(
            {f"yaxis{axes['yaxis'][1:]}": {"scaleanchor": axes["xaxis"], "scaleratio": 1}}
        )
    bottom, top = _edges("map")
    ground = {"xref": "paper", "yref": "paper", "x0": place.domain[0], "x1": place.domain[1]}
    color = {"fillcolor": translucent(MUTED, 0.1), "line": {"width": 0}, "layer": "below"}
    place.figure.add_shape(type="rect", y0=bottom, y1=top, **ground, **color)
    mine, every = shared.runs == column.run, np.arange(len(points))
    behind = thinned(*points.T, mine, most=BEHIND).drawn & ~mine
    common = {"mode": "markers", "showlegend": False, **axes}
    place.figure.add_scatter(
        x=points[behind, 0],
        y=points[behind, 1],
        hoverinfo="skip",
        marker={"size": 5, "color": MUTED},
        opacity=PALE,
        **common,
    )
    own = every[mine]
    thin = thinned(*points[own].T, shared.labels[own], shared.focus[own], most=BEHIND)
    drawn = np.flatnonzero(thin.drawn)
    rows = own[drawn]
    place.figure.add_scatter(
        x=points[rows, 0],
        y=points[rows, 1],
        customdata=thin.customdata(drawn, own, shared.labels[rows] + 1),
        marker={
            "size": 8,
            "color": [mode_color(int(mode)) for mode in shared.labels[rows]],
            "opacity": np.where(shared.focus[rows], 0.8, 0.15).tolist(),
            "line": {"width": 0.6, "color": "#FFFFFF"},
        },
        hovertemplate="mode %{customdata[1]}<extra></extra>",
        **common,
    )


def _shares(place: _Place, column: Session) -> None:
    """One bar, cut into the shares of the modes; below it how many chains change mode."""
    held = np.flatnonzero(column.shares > 0)
    part = column.shares[held]
    bottom, _ = _edges("modes")
    axes = place.axes(
        "modes",
        {"visible": False, "range": [0, 1]},
        {"visible": False, "range": [0, 1], "domain": [bottom, bottom + BAR / HEIGHT]},
    )
    colors = [mode_color(int(mode)) for mode in held]
    place.figure.add_bar(
        x=part,
        base=(np.cumsum(part) - part).tolist(),
        y=np.full(held.size, 0.5),
        width=1,
        orientation="h",
        marker={"color": colors, "line": {"width": 0.5, "color": "#FFFFFF"}},
        text=np.where(part * place.pixels > WIDE, [f"<b>{k + 1}</b>" for k in held], ""),
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        textfont={"size": 12, "color": [ink(color) for color in colors]},
        customdata=held + 1,
        hovertemplate="mode %{customdata}: %{x:.1%} of its factorizations<extra></extra>",
        showlegend=False,
        **axes,
    )
    if column.changes:
        place.note(in_lines(column.changes, place.pixels), place.left, bottom)


def _shown(R: int, dataset: Dataset) -> int:
    """How many components have room."""
    return min(R, int(ROWS["parts"] / LINE_HEIGHT) if _by_words(dataset) else DRAWN)


def _by_words(dataset: Dataset) -> bool:
    return dataset.image_shape is None and not has_profiles(dataset)


def _components(place: _Place, column: Session, dataset: Dataset) -> list[dict[str, object]]:
    """Draw profiles, or a line of words each, of the run's best factorization; or its images."""
    count = _shown(column.A.shape[1], dataset)
    A = column.A[:, :count]
    if _by_words(dataset):
        lines = _words(column.A, count, dataset, place.pixels)
        place.note("<br>".join(lines), place.left, _edges("parts")[1])
        return []
    across = _across(count, dataset.image_shape, place.pixels)
    down = math.ceil(count / across)
    ends = {"visible": False}
    axes = place.axes("parts", ends | {"range": [0, across]}, ends | {"range": [down, 0]})
    at = [(r % across, r // across) for r in range(count)]
    if dataset.image_shape is None:
        _profiles(place, A, dataset, at, (across, down), axes)
        return []
    size = {"sizex": 0.94, "sizey": 0.94, "sizing": "contain", "layer": "below"}
    refs = {"xref": axes["xaxis"], "yref": axes["yaxis"], "xanchor": "left", "yanchor": "top"}
    return [
        {"source": source, "x": x, "y": y + 0.03, **refs, **size}
        for source, (x, y) in zip(pictures(A, dataset.image_shape), at, strict=True)
    ]


def _profiles(
    place: _Place,
    A: np.ndarray,
    dataset: Dataset,
    at: Sequence[tuple[int, int]],
    grid: tuple[int, int],
    axes: dict[str, str],
) -> None:
    """Profiles in the cells ``at`` of a grid; numbered where colours are of substitutions."""
    across, down = grid
    heights = shares(A[None])[0]
    heights = heights / max(heights.max(), 1e-300)
    classes = substitutions(dataset.features)
    margin = 0.0 if classes is None else NUMBER * across / place.pixels
    profiles = [Profile(heights[:, r], r, (x + margin, y + 0.92)) for r, (x, y) in enumerate(at)]
    draw_profiles(place.figure, profiles, (0.92 - margin, 0.86), classes, **axes)
    if classes is None:
        return
    bottom, top = _edges("parts")
    for r, (x, y) in enumerate(at):
        left = place.left + x / across * place.pixels / WIDTH
        place.note(component_name(r), left, top - (y + 0.5) / down * (top - bottom), "middle")


def _across(count: int, image_shape: tuple[int, int] | None, pixels: float) -> int:
    """As many images side by side as make them largest; profiles below each other."""
    if image_shape is None:
        return math.ceil(count / MOST_DOWN)
    height, width = image_shape
    return max(
        range(1, count + 1),
        key=lambda n: min(pixels / n / width, ROWS["parts"] / math.ceil(count / n) / height),
    )


def _words(A: np.ndarray, count: int, dataset: Dataset, pixels: float) -> list[str]:
    """A line for each of the first components: its strongest features, as many as have room."""
    lines = []
    for r, words in enumerate(top_words(A, dataset.features, NAMED, RELEVANCE)[:count]):
        shown: list[str] = []
        room = pixels / LETTER - 3
        for word in map(str, words):
            if not word or (shown and len(word) + 3 > room):
                break
            shown.append(safe(word, 18))
            room -= min(len(word), 18) + 3
        lines.append(component_name(r, " · ".join(shown)))
    return lines
