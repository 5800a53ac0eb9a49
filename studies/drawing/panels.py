"""Small pictures in rows as one SVG file: points, lines, bars, intervals and images."""

import base64
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np

from benchmarks.svg import COLORS, canvas

SIDE, GAP, LEFT, TOP = 150, 46, 60, 56
# Pixels of the labels below, and of one name in the legend.
LEGEND, NAME = 20, 130
# Colours of an image at 0, ½ and 1.
SCALE = np.array([[255, 255, 255], [240, 200, 80], [0, 66, 130]], dtype=float)

ON_IMAGE = "#D01010"

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Panel:
    """One picture on linear axes.

    Attributes
    ----------
    title : above it. x, y : least and largest value of its axes. points, lines, bars : name →
        (x, y) pairs. stretches : name → (from, to, y). image : (h, w) in [0, 1], first row on top.
    """

    title: str
    x: tuple[float, float] = (0.0, 1.0)
    y: tuple[float, float] = (0.0, 1.0)
    points: Mapping[str, Points] = field(default_factory=dict)
    lines: Mapping[str, Points] = field(default_factory=dict)
    bars: Mapping[str, Points] = field(default_factory=dict)
    stretches: Mapping[str, Sequence[tuple[float, float, float]]] = field(default_factory=dict)
    image: np.ndarray | None = None

    @property
    def names(self) -> list[str]:
        """Names of the legend, in the order of the colours."""
        return [name for part in self._parts for name in part if name]

    @property
    def _parts(self) -> list[Mapping[str, object]]:
        return [self.points, self.lines, self.bars, self.stretches]

    def marks(self, side: float, height: float) -> list[str]:
        """Its marks, in a square of so many pixels that begins at (0, 0)."""

        def across(value: float) -> float:
            return side * (value - self.x[0]) / (self.x[1] - self.x[0])

        def up(value: float) -> float:
            return height * (1.0 - (value - self.y[0]) / (self.y[1] - self.y[0]))

        drawn = []
        if self.image is not None:
            drawn.append(
                f'<image width="{side}" height="{height}" preserveAspectRatio="none" '
                f'style="image-rendering:pixelated" href="{_png(self.image)}"/>'
            )
        keys = [key for part in self._parts for key in part]
        color = {key: COLORS[i % len(COLORS)] for i, key in enumerate(keys)}
        if self.image is not None:
            color |= dict.fromkeys(keys, ON_IMAGE)
        for name, pairs in self.bars.items():
            wide = side / max(len(pairs), 1)
            drawn += [
                f'<path d="M{across(x):.1f} {height}V{up(y):.1f}h{wide:.1f}V{height}z" '
                f'fill="{color[name]}" fill-opacity="0.6"/>'
                for x, y in pairs
            ]
        for name, pairs in self.lines.items():
            path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in pairs)
            drawn.append(f'<polyline points="{path}" fill="none" stroke="{color[name]}"/>')
        wide = 3 if self.image is None else 9
        for name, pairs in self.points.items():
            dots = "".join(f"M{across(x):.1f} {up(y):.1f}h0" for x, y in pairs)
            drawn.append(
                f'<path d="{dots}" stroke="{color[name]}" stroke-width="{wide}" '
                'stroke-linecap="round" stroke-opacity="0.6"/>'
            )
        for name, stretches in self.stretches.items():
            ends = "".join(
                f"M{across(a) - 1:.1f} {up(y):.1f}H{across(b) + 1:.1f}" for a, b, y in stretches
            )
            drawn.append(f'<path d="{ends}" stroke="{color[name]}" stroke-width="3"/>')
        return drawn


def panels(
    title: str,
    rows: Sequence[Sequence[Panel]],
    x_label: str = "",
    y_label: str = "",
    height: int = SIDE,
) -> str:
    """Rows of panels with shared axis labels."""
    across = max(len(row) for row in rows)
    names = next((panel.names for row in rows for panel in row if len(panel.names) > 1), [])
    width = LEFT + max(across * (SIDE + GAP), len(names) * NAME)
    whole = TOP + len(rows) * (height + GAP) + LEGEND
    drawn = canvas(title, width, whole, 10)
    for i, row in enumerate(rows):
        for j, panel in enumerate(row):
            drawn += _placed(panel, LEFT + j * (SIDE + GAP), TOP + i * (height + GAP), height)
    middle = TOP + (whole - TOP) / 2
    drawn.append(_text(width / 2, whole - 8, x_label, "middle"))
    drawn.append(
        f'<text transform="translate(14 {middle:.0f}) rotate(-90)" text-anchor="middle">'
        f"{escape(y_label)}</text>"
    )
    for i, name in enumerate(names):
        x = LEFT + NAME * i
        drawn.append(f'<circle cx="{x - 8}" cy="32" r="4" fill="{COLORS[i % len(COLORS)]}"/>')
        drawn.append(_text(x, 36, name, "start"))
    return "\n".join([*drawn, "</svg>", ""])


def _placed(panel: Panel, x: float, y: float, height: int) -> list[str]:
    frame = f'<rect width="{SIDE}" height="{height}" fill="none" stroke="#999"/>'
    ends = []
    if panel.image is None:
        ends = [
            _text(0, height + 12, f"{panel.x[0]:.3g}", "start"),
            _text(SIDE, height + 12, f"{panel.x[1]:.3g}", "end"),
            _text(-4, height, f"{panel.y[0]:.3g}", "end"),
            _text(-4, 9, f"{panel.y[1]:.3g}", "end"),
        ]
    return [
        f'<g transform="translate({x} {y})" font-size="10">',
        _text(0, -4, panel.title, "start"),
        *panel.marks(SIDE, height),
        frame,
        *ends,
        "</g>",
    ]


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _png(values: np.ndarray) -> str:
    """An image (h, w) in [0, 1] as a data URL of a PNG file."""
    at = np.clip(np.asarray(values, dtype=float), 0.0, 1.0) * (len(SCALE) - 1)
    low = np.minimum(at.astype(int), len(SCALE) - 2)
    part = (at - low)[..., None]
    pixels = np.rint(SCALE[low] * (1.0 - part) + SCALE[low + 1] * part).astype(np.uint8)
    height, width = pixels.shape[:2]
    lines = b"".join(b"\0" + row.tobytes() for row in pixels)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    file = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
    return "data:image/png;base64," + base64.b64encode(file).decode()
