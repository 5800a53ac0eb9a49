"""Shared style of figures: colours, markers, safe text, a plain layout."""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle

import numpy as np
import plotly.graph_objects as go

from bnmf_core.core.names import numbered
from bnmf_core.registry import ALGORITHMS

MUTED = "#8A949E"
# An empty cell, and what is written or drawn darkest.
PAPER, INK = "#EEF1F4", "#1F2933"
HIGHLIGHT = "#E6007A"
FALLBACK = "#7A7A7A"
# A line that is nobody's, and a bar across points.
LINE = "#4C6E8F"
MIDDLE = "#5F6972"
# Components side by side, also for eyes that see few colours: any of the first five differ by 18 or
# more (CIEDE2000) in each of three kinds of colour blindness, any of the first eight by 13.
COMPONENT_COLORS = (
    "#517DA8",
    "#DE9D05",
    "#DE315C",
    "#05BEB3",
    "#724605",
    "#9DA8FF",
    "#5C3B9D",
    "#A8B387",
    "#A81051",
    "#B37D87",
    "#B3517D",
    "#517D05",
    "#7D7DFF",
    "#675CC9",
    "#DE7251",
    "#679DBE",
)
# Markers, each with the dashes of its lines: runs stay distinguishable without colour.
DASHES = {
    "circle": "solid",
    "diamond": "dash",
    "square": "dot",
    "triangle-up": "longdash",
    "cross": "dashdot",
    "x": "longdashdot",
    "triangle-down": "2px,6px",
    "pentagon": "12px,3px,3px,3px,3px,3px",
}
# Pixels of a letter in a label, and between lines of labels; letters of a line that is narrow.
LETTER, LINE_HEIGHT, SHORTEST_LINE = 7, 16, 6
MOST_LINES = 4
LONGEST_LABEL = 60
# Degrees below which angles between factorizations are rounding, not a difference.
ROUNDING = 1e-3
# Pixels of a title, and above a plot that has nothing but its title there.
TITLE, TOP = 30, 44
# Pixels to the right of a plot, where a browser draws its toolbar.
BESIDE = 40


@dataclass(frozen=True)
class RunStyle:
    """How one run looks everywhere: its algorithm's colour, a marker, and the marker's dashes."""

    label: str
    color: str
    symbol: str
    dash: str


def run_styles(runs: Sequence[tuple[str, str, str]]) -> dict[str, RunStyle]:
    """Styles by run id for (run id, algorithm key, label) triples.

    The first run of an algorithm has its colour and its marker; further ones have its colour, and
    markers that are no algorithm's of these, as long as there are any.
    """
    own = {key: _symbol(key) for _, key, _ in runs}
    spare = cycle([symbol for symbol in DASHES if symbol not in own.values()] or DASHES)
    first = {key: run_id for run_id, key, _ in reversed(runs)}
    styles = {}
    for run_id, key, label in runs:
        color = ALGORITHMS[key].color if key in ALGORITHMS else FALLBACK
        symbol = own[key] if first[key] == run_id else next(spare)
        styles[run_id] = RunStyle(safe(label), color, symbol, DASHES[symbol])
    return styles


def _symbol(key: str) -> str:
    """An algorithm's marker; a circle where it has none that there is."""
    symbol = ALGORITHMS[key].symbol if key in ALGORITHMS else ""
    return symbol if symbol in DASHES else next(iter(DASHES))


def component_color(identity: int) -> str:
    """The colour of a component; a component that is the same elsewhere has the same there."""
    return COMPONENT_COLORS[identity % len(COMPONENT_COLORS)]


def ink(color: str) -> str:
    """Black or white, whichever stands out more on a colour such as ``#0072B2``."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    # Where both have the same contrast, as WCAG 2 defines it.
    return "#000000" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 else "#FFFFFF"


def translucent(color: str, opacity: float) -> str:
    """A colour such as ``#0072B2`` that lets through what lies below."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity:g})"


def component_name(identity: int, label: str = "") -> str:
    """A dot of the component's colour, then ``label`` or the number."""
    dot = f'<span style="color:{component_color(identity)}">●</span>'
    return f"{dot} {label or identity + 1}"


def component_titles(
    count: int, called: Sequence[str], pixels: float, most: int = MOST_LINES
) -> list[str]:
    """Names of ``count`` components, or their numbers, in lines as :func:`in_lines`.

    ``called`` : names, "" for components without one; empty if none has a name.
    """
    names = numbered(called, count)
    return [component_name(r, in_lines(names[r], pixels - 2 * LETTER, most)) for r in range(count)]


def in_lines(text: str, pixels: float, most: int = MOST_LINES) -> str:
    """Text as :func:`safe` shows it, in at most so many lines of about so many pixels.

    What a dot parts from the rest begins a line.
    """
    width = max(SHORTEST_LINE, int(pixels / LETTER))
    lines = [line for part in text.split(" · ") for line in textwrap.wrap(part, width)]
    if len(lines) > most:
        lines = [*lines[: most - 1], f"{lines[most - 1][: width - 1]}…"]
    return "<br>".join(safe(line) for line in lines)


def lines_of(titles: Sequence[str]) -> int:
    """How many lines the longest of them has below its first one."""
    return max((title.count("<br>") for title in titles), default=0)


def picture_at(
    source: str, x: float, y: float, width: float, height: float, **place: str
) -> dict[str, object]:
    """An image of a layout whose upper edge has its middle at a place of the first axes."""
    return {
        "source": source,
        "xref": "x",
        "yref": "y",
        "x": x,
        "y": y,
        "sizex": width,
        "sizey": height,
        "xanchor": "center",
        "yanchor": "top",
        "sizing": "contain",
        "layer": "below",
        **place,
    }


def markers(
    style: RunStyle, converged: np.ndarray, focus: np.ndarray, sizes: tuple[int, int] = (8, 6)
) -> dict[str, object]:
    """The markers of m factorizations: those in ``focus`` (m,) bool are larger and darker."""
    width = np.where(converged, 0.5, 1.5)
    return {
        "color": style.color,
        "symbol": _once(np.where(converged, style.symbol, f"{style.symbol}-open")),
        "size": _once(np.where(focus, *sizes)),
        "opacity": _once(np.where(focus, 0.85, 0.2)),
        # An edge that is seen on a light and on a dark ground; a hollow one is all edge.
        "line": {"width": _once(width), "color": "rgba(95, 105, 114, 0.7)"},
    }


def _once(values: np.ndarray) -> object:
    """One value where all points share it, else the array."""
    return values[0].item() if values.size and (values == values[0]).all() else values


def rounded(values: np.ndarray, unit: str) -> np.ndarray:
    """Distances in a unit, those below rounding as 0: of angles below ``ROUNDING`` degrees.

    Optima that restarts find again and again differ in the digits that a solver leaves open.
    """
    return np.where(np.abs(values) < ROUNDING, 0.0, values) if unit == "°" else values


def safe(text: object, longest: int = LONGEST_LABEL) -> str:
    """Text that a chart shows as it is: no HTML, no formulas, shortened."""
    shown = "".join(character for character in str(text) if character.isprintable())
    if len(shown) > longest:
        shown = shown[: longest - 1] + "…"
    # Plotly reads a little HTML, and MathJax where a text begins and ends with a dollar sign.
    for plain, escaped in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("$", "&#36;")):
        shown = shown.replace(plain, escaped)
    return shown


def layout(
    figure: go.Figure,
    title: str,
    height: int = 420,
    *,
    margin: dict[str, object] | None = None,
    legend: dict[str, object] | None = None,
    **changes: object,
) -> go.Figure:
    """Give a figure its title and the common margins; returns the same figure.

    ``margin`` and ``legend`` are laid over the common ones; ``margin`` leaves the toolbar its room.
    """
    common = {
        "title": {
            "text": title,
            "x": 0,
            "xanchor": "left",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"t": 6},
            "font": {"size": 16},
        },
        "height": height,
        "margin": {"l": 60, "r": BESIDE, "t": TOP if title else 30, "b": 50} | (margin or {}),
        # Under the title, where it pushes the plot down by as many lines as it has.
        "legend": {
            "orientation": "h",
            "yref": "container",
            "y": 1 - TITLE / height,
            "yanchor": "top",
            "x": 0,
            "xanchor": "left",
        }
        | (legend or {}),
        "modebar": {"orientation": "v"},
        "font": {"size": 13},
        "hoverlabel": {"align": "left"},
    }
    # Overwriting is several times faster than Plotly's merging of nested values.
    return figure.update_layout(common | changes, overwrite=True)


def from_zero(ends: np.ndarray) -> dict[str, object]:
    """An axis from 0 to beyond these ends of bars, so that none looks cut off; NaN: no bar."""
    return {"rangemode": "tozero", "autorangeoptions": {"include": 1.04 * float(np.nanmax(ends))}}


# Over fewer decades 1, 2 and 5 are too far apart to be ticks.
CLOSE = 0.6


def logarithmic_axis(smallest: float, largest: float) -> dict[str, object]:
    """A logarithmic axis: ticks at 1, 2, 5, 10 … over a few decades, at powers of ten over many."""
    if not 0 < smallest <= largest < math.inf:
        return {"type": "log"}
    decades = math.log10(largest / smallest)
    if decades >= 3:
        return {"type": "log", "exponentformat": "power", "dtick": max(1, round(decades / 6))}
    if 0 < decades < CLOSE:
        # Three to seven round numbers from about the smallest to the largest.
        span = largest - smallest
        unit = 10.0 ** math.floor(math.log10(span))
        apart = next(size * unit for size in (0.2, 0.5, 1, 2, 5) if span / (size * unit) <= 5)
        first, last = math.floor(smallest / apart), math.ceil(largest / apart)
        values = [number * apart for number in range(max(first, 1), last + 1)]
    else:
        powers = range(math.floor(math.log10(smallest)) - 1, math.ceil(math.log10(largest)) + 2)
        values = [step * 10.0**power for power in powers for step in (1, 2, 5)]
    # Written out: Plotly says "2" and "5" of any decade, also where no power of ten is near.
    return {"type": "log", "tickvals": values, "ticktext": list(map(_in_short, values))}


def _in_short(value: float) -> str:
    power = math.floor(math.log10(value) + 1e-9)
    if -4 <= power <= 4:
        return f"{value:,.6g}"
    step = f"{value / 10.0**power:.3g}"
    return f"{'' if step == '1' else f'{step}·'}10<sup>{power}</sup>"


def count_axis(largest: float, logarithmic: bool) -> dict[str, object]:
    """An axis for counts from 1 on: ticks at 1, 2, 5, 10, 20, … when logarithmic."""
    if not logarithmic:
        return {"type": "linear", "rangemode": "tozero"}
    ticks = [step * 10**power for power in range(7) for step in (1, 2, 5)]
    shown = [tick for tick in ticks if tick <= 2 * largest]
    limits = [-0.06, math.log10(max(largest, 2)) + 0.08]
    return {"type": "log", "tickvals": shown, "range": limits}
