"""Distributions side by side as a small SVG file: quartiles, range, and lines across."""

from collections.abc import Mapping
from html import escape
from math import floor, log10

import numpy as np

from benchmarks.svg import canvas

WIDTH, ROW = 560, 34
LEFT, RIGHT, TOP, BOTTOM = 150, 30, 56, 46
TICKS = 5


def boxes(
    title: str, x_label: str, series: Mapping[str, np.ndarray], lines: Mapping[str, float]
) -> str:
    """A box from quartile to quartile for each named set of values, on a linear axis from 0.

    ``lines`` : name → a value that is drawn across all of them.
    """
    height = TOP + ROW * len(series) + BOTTOM
    largest = max([float(np.max(values)) for values in series.values()] + list(lines.values()))
    step = _step(largest)
    end = step * np.ceil(largest / step)

    def across(x: float) -> float:
        return LEFT + x / end * (WIDTH - LEFT - RIGHT)

    drawn = [
        *canvas(title, WIDTH, height, 10),
        _text((LEFT + WIDTH - RIGHT) / 2, height - 10, x_label),
    ]
    for i in range(round(end / step) + 1):
        x = across(i * step)
        drawn.append(_line(x, TOP, x, height - BOTTOM, "#ddd"))
        drawn.append(_text(x, height - BOTTOM + 16, f"{i * step:g}"))
    for i, (name, values) in enumerate(series.items()):
        least, lower, median, upper, most = np.quantile(values, [0, 0.25, 0.5, 0.75, 1])
        y = TOP + ROW * (i + 0.5)
        drawn.append(_text(LEFT - 8, y + 4, name, "end"))
        drawn.append(_line(across(least), y, across(most), y, "#0072B2"))
        drawn.append(
            f'<rect x="{across(lower):.1f}" y="{y - 9:.1f}" height="18" fill="#9cc8e3" '
            f'width="{max(across(upper) - across(lower), 1):.1f}" stroke="#0072B2"/>'
        )
        drawn.append(_line(across(median), y - 9, across(median), y + 9, "black", 2))
    for i, (name, value) in enumerate(lines.items()):
        dash = "" if i == 0 else "6 4"
        drawn.append(_line(across(value), TOP - 4, across(value), height - BOTTOM, "#444", 1, dash))
        drawn.append(_text(across(value), TOP - 8, name))
    return "\n".join([*drawn, "</svg>", ""])


def _step(largest: float) -> float:
    """A round tick distance."""
    rough = largest / TICKS
    decade = 10.0 ** floor(log10(rough))
    return next(decade * factor for factor in (1, 2, 5, 10) if decade * factor >= rough)


def _line(
    x1: float, y1: float, x2: float, y2: float, color: str, width: float = 1, dash: str = ""
) -> str:
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{color}" '
        f'stroke-width="{width:g}"{dashed}/>'
    )


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
