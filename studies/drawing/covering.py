"""Covering numbers over the radius as a small SVG: a line for the mean, a band for the range."""

from collections import Counter
from collections.abc import Mapping
from html import escape
from math import ceil, floor, log10
from types import MappingProxyType

import numpy as np

from benchmarks.svg import canvas
from bnmf_core.registry import ALGORITHMS

WIDTH, HEIGHT = 690, 360
LEFT, RIGHT, TOP, BOTTOM = 60, 260, 34, 48
# Lines of one algorithm have its colour and differ in their dashes.
DASHES, UNKNOWN = ("", "7 4", "2 3", "9 3 2 3"), "#777777"


def covering_curves(
    title: str,
    x_label: str,
    series: dict[str, np.ndarray],
    algorithms: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Both axes logarithmic.

    Parameters
    ----------
    series : name → (E, 4): radius, mean, least and largest covering number.
    algorithms : name → key of the algorithm that made it, whose colour it has.
    """
    x_low, x_high, y_high = _range(list(series.values()))

    def across(x: float) -> float:
        return LEFT + (log10(x) - x_low) / (x_high - x_low) * (WIDTH - LEFT - RIGHT)

    def up(y: float) -> float:
        return HEIGHT - BOTTOM - log10(y) / y_high * (HEIGHT - TOP - BOTTOM)

    lines = [
        *canvas(title, WIDTH, HEIGHT, LEFT),
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">'
        f"{escape(x_label)}</text>",
        f'<text transform="translate(16 {HEIGHT / 2}) rotate(-90)" text-anchor="middle">'
        "covering number</text>",
    ]
    for decade in range(ceil(x_low), floor(x_high) + 1):
        x = across(10.0**decade)
        lines.append(_line(x, TOP, x, HEIGHT - BOTTOM))
        lines.append(_text(x, HEIGHT - BOTTOM + 16, "middle", f"{10.0**decade:g}"))
    for decade in range(y_high + 1):
        y = up(10.0**decade)
        lines.append(_line(LEFT, y, WIDTH - RIGHT, y))
        lines.append(_text(LEFT - 6, y + 4, "end", f"{10**decade:g}"))
    drawn: Counter[str] = Counter()
    for i, (name, values) in enumerate(series.items()):
        key = algorithms.get(name, "")
        color = ALGORITHMS[key].color if key in ALGORITHMS else UNKNOWN
        stroke = f'stroke="{color}" stroke-dasharray="{DASHES[drawn[key] % len(DASHES)]}"'
        drawn[key] += 1
        shown = values[(values[:, 0] >= 10.0**x_low) & (values[:, 0] <= 10.0**x_high)]
        places = [(across(x), up(mean), up(least), up(most)) for x, mean, least, most in shown]
        above = [f"{x:.1f},{most:.1f}" for x, _, _, most in places]
        below = [f"{x:.1f},{least:.1f}" for x, _, least, _ in reversed(places)]
        lines.append(f'<polygon points="{" ".join(above + below)}" fill="{color}" opacity="0.2"/>')
        path = " ".join(f"{x:.1f},{mean:.1f}" for x, mean, _, _ in places)
        lines.append(f'<polyline points="{path}" fill="none" {stroke} stroke-width="2"/>')
        y = TOP + 14 + 18 * i
        x = WIDTH - RIGHT + 8
        lines.append(f'<path d="M{x} {y - 4}h22" {stroke} stroke-width="2"/>')
        lines.append(_text(x + 28, y, "start", escape(name)))
    return "\n".join([*lines, "</svg>", ""])


def _range(series: list[np.ndarray]) -> tuple[float, float, int]:
    """log10 of the radii where any curve still falls, and decades of covering numbers."""
    falling = [v[np.flatnonzero(v[:, 1] < v[0, 1] - 1e-9)[:1], 0] for v in series]
    ends = [v[np.flatnonzero(v[:, 3] > 1)[-1:], 0] for v in series]
    starts, stops = np.concatenate([*falling, [np.inf]]), np.concatenate([*ends, [0.0]])
    most = max((float(v[:, 3].max()) for v in series), default=1.0)
    y_high = max(1, ceil(log10(most) - 1e-9))
    if not np.isfinite(starts.min()) or stops.max() <= 0:  # nothing ever falls
        return -3.0, 2.0, y_high
    low, high = log10(starts.min()) - 0.1, log10(stops.max()) + 0.2
    return low, max(high, low + 1.0), y_high


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#DDDDDD"/>'


def _text(x: float, y: float, anchor: str, words: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'
