"""Curves on logarithmic axes as a small SVG file."""

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor, log10

WIDTH, HEIGHT = 560, 360
LEFT, RIGHT, TOP, BOTTOM = 70, 150, 34, 48
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")

Points = list[tuple[float, float]]


def curves(
    title: str,
    x_label: str,
    y_label: str,
    series: dict[str, Points],
    colors: Mapping[str, str] | None = None,
) -> str:
    """One line with markers for each named series of (x, y), x and y above zero.

    ``colors`` : name of a series → its colour; None: one after the other.
    """
    everything = [point for points in series.values() for point in points]
    x_low, x_high = _decades([x for x, _ in everything])
    y_low, y_high = _decades([y for _, y in everything])

    def across(x: float) -> float:
        return LEFT + (log10(x) - x_low) / (x_high - x_low) * (WIDTH - LEFT - RIGHT)

    def up(y: float) -> float:
        return HEIGHT - BOTTOM - (log10(y) - y_low) / (y_high - y_low) * (HEIGHT - TOP - BOTTOM)

    middle_x, middle_y = (LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2
    lines = [
        *canvas(title, WIDTH, HEIGHT, LEFT),
        f'<text x="{middle_x}" y="{HEIGHT - 10}" text-anchor="middle">{escape(x_label)}</text>',
        f'<text transform="translate(18 {middle_y}) rotate(-90)" text-anchor="middle">'
        f"{escape(y_label)}</text>",
    ]
    for decade in range(x_low, x_high + 1):
        x = across(10.0**decade)
        lines.append(_line(x, TOP, x, HEIGHT - BOTTOM))
        lines.append(_power(x, HEIGHT - BOTTOM + 16, "middle", decade))
    for decade in range(y_low, y_high + 1):
        y = up(10.0**decade)
        lines.append(_line(LEFT, y, WIDTH - RIGHT, y))
        lines.append(_power(LEFT - 8, y + 4, "end", decade))
    for i, (name, points) in enumerate(series.items()):
        color = COLORS[i % len(COLORS)] if colors is None else colors[name]
        places = [(across(x), up(y)) for x, y in sorted(points)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        lines.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        lines += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>' for x, y in places]
        y = TOP + 14 + 18 * i
        lines.append(f'<circle cx="{WIDTH - RIGHT + 14}" cy="{y - 4}" r="4" fill="{color}"/>')
        lines.append(f'<text x="{WIDTH - RIGHT + 24}" y="{y}">{escape(name)}</text>')
    return "\n".join([*lines, "</svg>", ""])


def canvas(title: str, width: int, height: int, left: int) -> list[str]:
    """The first lines of a drawing: white, with a title that begins ``left`` from its side."""
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{left}" y="20" font-size="14">{escape(title)}</text>',
    ]


def side_by_side(title: str, drawings: Sequence[str]) -> str:
    """Drawings of :func:`curves` in one file, from left to right."""
    inner = [
        drawing.replace("<svg ", f'<svg x="{i * WIDTH}" width="{WIDTH}" height="{HEIGHT}" ', 1)
        for i, drawing in enumerate(drawings)
    ]
    return "\n".join(
        [
            '<svg xmlns="http://www.w3.org/2000/svg" '
            f'viewBox="0 0 {len(drawings) * WIDTH} {HEIGHT}">',
            f"<title>{escape(title)}</title>",
            *inner,
            "</svg>",
            "",
        ]
    )


def _decades(values: list[float]) -> tuple[int, int]:
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    return low, max(high, low + 1)


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="#ddd"/>'


def _power(x: float, y: float, anchor: str, decade: int) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">10'
        f'<tspan dy="-4" font-size="9">{decade}</tspan></text>'
    )
