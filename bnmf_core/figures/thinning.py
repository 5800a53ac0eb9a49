"""Charts of more points than a browser draws well: points that would cover each other become one.

Everything is drawn as shapes (SVG). Plotly's WebGL traces would draw more points, but they compile
programs with ``eval``, which the content policy of the pages and of reports forbids.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

# Maximum number of points that a browser draws as shapes in half a second.
MOST_POINTS = 4_000
# Points of all lines of one chart, and the fewest of a single one.
MOST_ON_LINES, FEWEST_ON_LINE = 8_000, 200
# Cells of the first grid, across and up, each about as large as the smallest step that is seen.
# They grow until few enough are occupied.
GRID = (350, 200)
GROWTH = 0.8


@dataclass(frozen=True, eq=False)
class Thinned:
    """Which points of a chart are drawn.

    Attributes
    ----------
    stands : (n,) index of the point that is drawn in place of each, its own where it is drawn.
    """

    stands: np.ndarray

    @property
    def drawn(self) -> np.ndarray:
        """(n,) bool, the points that are drawn."""
        return np.asarray(self.stands == np.arange(self.stands.size))

    @property
    def note(self) -> str:
        """Suffix of the title; "" where every point is drawn."""
        drawn, every = int(self.drawn.sum()), self.stands.size
        return f" ({drawn:,} of {every:,} points, others covered)" if drawn < every else ""

    def covered(self, points: np.ndarray) -> list[np.ndarray]:
        """The points that each of these drawn ones stands for, itself first."""
        order = np.argsort(self.stands, kind="stable")
        starts = np.searchsorted(self.stands[order], points, side="left")
        ends = np.searchsorted(self.stands[order], points, side="right")
        return [order[start:end] for start, end in zip(starts, ends, strict=True)]

    def customdata(
        self, points: np.ndarray, names: np.ndarray, *further: np.ndarray
    ) -> np.ndarray | list[object]:
        """Name of each of these drawn points, and its ``further`` values.

        ``names`` : (n,) whole numbers, of all points. ``further`` : values of these drawn points.
        Where any point is covered each gets a list, and a name becomes a list of names where it
        stands for several: :func:`named_by` reads either.
        """
        if not self.note:
            return np.column_stack([names[points], *further]) if further else names[points]
        listed = [
            int(names[rows[0]]) if rows.size == 1 else names[rows].tolist()
            for rows in self.covered(points)
        ]
        return [list(values) for values in zip(listed, *(f.tolist() for f in further), strict=True)]


def named_by(customdata: Any) -> list[int]:
    """The names that begin the customdata of one point; a browser may number what it lists.

    >>> named_by(7), named_by([7, 0.2]), named_by([[7, 8], 0.2]), named_by({"0": 7, "1": 2})
    ([7], [7], [7, 8], [7])
    >>> named_by([{"0": 7, "1": 8}, 2])
    [7, 8]
    """
    first = _listed(customdata)[0]
    return [int(name) for name in _listed(first)]


def _listed(values: Any) -> list[Any]:
    """A number, a list, or a list whose places have been numbered, as a list."""
    if np.isscalar(values):
        return [values]
    return list(values.values()) if isinstance(values, dict) else list(values)


def thinned(x: np.ndarray, y: np.ndarray, *looks: np.ndarray, most: int = MOST_POINTS) -> Thinned:
    """Few enough points: of those that look the same in one cell of a grid the first is drawn.

    No occupied place of the chart becomes empty, so single points far from all others stay.

    Parameters
    ----------
    x, y : (n,) places, as they are drawn; logarithms on a logarithmic axis.
    looks : (n,) each, what a point's look follows from: its run, whether it is in focus, …
    most : points that are drawn where the grid can be coarse enough.

    Examples
    --------
    >>> import numpy as np
    >>> crowd = np.append(np.linspace(0, 1e-6, 99), 1.0)
    >>> np.flatnonzero(thinned(crowd, crowd, most=50).drawn).tolist()
    [0, 99]
    """
    every = np.arange(x.size)
    if x.size <= most:
        return Thinned(every)
    across, up = _within_unit(x), _within_unit(y)
    kinds = [np.unique(look, return_inverse=True)[1].ravel() for look in looks]
    size = 1.0
    while True:
        columns, rows = (max(1, round(size * cells)) for cells in GRID)
        cell = np.minimum(across * columns, columns - 1).astype(int) * rows
        cell += np.minimum(up * rows, rows - 1).astype(int)
        places = np.stack([*kinds, cell], axis=1)
        _, first, inverse = np.unique(places, axis=0, return_index=True, return_inverse=True)
        if first.size <= most or columns == rows == 1:
            return Thinned(first[inverse.ravel()])
        size *= GROWTH


def _within_unit(values: np.ndarray) -> np.ndarray:
    """Values between 0 and 1, the unknown at 0."""
    known = values[np.isfinite(values)]
    low, high = (known.min(), known.max()) if known.size else (0.0, 0.0)
    return np.nan_to_num((values - low) / ((high - low) or 1.0), nan=0.0, posinf=1.0, neginf=0.0)


def envelope(values: np.ndarray, most: int) -> np.ndarray:
    """Rows of a long line that are drawn: of each stretch the least and the largest value.

    Parameters
    ----------
    values : (n,) along the line. most : rows at most, 4 or more.

    Returns
    -------
    (k,) rising, all rows where there are no more than ``most``; the first and the last are there.

    Examples
    --------
    >>> import numpy as np
    >>> spike = np.zeros(1000)
    >>> spike[617] = 9.0
    >>> rows = envelope(spike, 20)
    >>> rows.size <= 20, 617 in rows
    (True, True)
    """
    values = np.asarray(values, dtype=np.float64)
    if values.size <= most:
        return np.arange(values.size)
    edges = np.linspace(0, values.size, max(1, most // 2 - 1) + 1).astype(int)
    found = [0, values.size - 1]
    for start, end in pairwise(edges):
        part = values[start:end]
        if np.isfinite(part).any():
            found += [start + int(np.nanargmin(part)), start + int(np.nanargmax(part))]
    return np.unique(found)
