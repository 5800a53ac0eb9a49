"""Data and rank-3 bases in the plane of the data as a small SVG panel (paper 2, figures 1 to 3)."""

import numpy as np

from benchmarks.svg import HEIGHT, WIDTH, canvas

MARGIN, TOP = 20, 34
KNOWN, DATA = "#D55E00", "#999999"
DASHES = ("", "6 4")


def simplex(
    title: str,
    data: np.ndarray,
    known: np.ndarray,
    bases: np.ndarray,
    color: str,
    within: np.ndarray,
) -> str:
    """Crosses for data, a triangle for each known basis, dots for the columns of found ones.

    Parameters
    ----------
    data : (N, 2). known : (K, 3, 2), the first one drawn through, the others dashed.
    bases : (M, 3, 2). within : (P, 2) points that must be within the panel.
    """
    low, high = np.nanmin(within, axis=0), np.nanmax(within, axis=0)
    scale = min((WIDTH - 2 * MARGIN) / (high - low)[0], (HEIGHT - TOP - MARGIN) / (high - low)[1])

    left = (WIDTH - (high - low)[0] * scale) / 2

    def place(points: np.ndarray) -> list[tuple[float, float]]:
        moved = (points.reshape(-1, 2) - low) * scale
        moved = moved[np.isfinite(moved).all(axis=1)]
        return [(left + x, HEIGHT - MARGIN - y) for x, y in moved]

    lines = [*canvas(title, WIDTH, HEIGHT, MARGIN)]
    path = " ".join(f"M{x - 2:.1f} {y:.1f}h4m-2 -2v4" for x, y in place(data))
    lines.append(f'<path d="{path}" stroke="{DATA}" fill="none"/>')
    for k, triangle in enumerate(known):
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in place(triangle))
        lines.append(
            f'<polygon points="{corners}" fill="none" stroke="{KNOWN}" '
            f'stroke-dasharray="{DASHES[min(k, 1)]}"/>'
        )
    lines += [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{color}" fill-opacity="0.5"/>'
        for x, y in place(bases)
    ]
    return "\n".join([*lines, "</svg>", ""])
