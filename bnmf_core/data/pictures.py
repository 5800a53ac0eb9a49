"""Is one side of a matrix the pixels of an image? What its size and its neighbours say."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isqrt

import numpy as np

from bnmf_core.data.orientation import Side, word_of
from bnmf_core.data.reading import AXES

# What files call the two numbers of an image's size.
_HEIGHTS = frozenset({"nrow", "nrows", "row", "rows", "line", "lines", "height", "h", "ny"})
_WIDTHS = frozenset({"ncol", "ncols", "col", "cols", "columns", "samples", "width", "w", "nx"})
SMALLEST_SIDE = 8
MOST_LOOKED_AT = 400
# Half the mean squared difference of neighbours over the variance: 1 where they are unrelated.
ROUGHEST_IMAGE = 0.35
ROUGHEST_SPECTRUM = 0.1


@dataclass(frozen=True)
class Picture:
    """An image: its shape (height, width), column by column, and where that leaves observations."""

    shape: tuple[int, int]
    side: Side


def find_picture(matrix: np.ndarray, numbers: Mapping[str, float]) -> Picture | None:
    """The image whose pixels are the rows or the columns of a matrix; None where none is seen.

    Where the values of a pixel go over into each other as in a spectrum, every pixel is an
    observation; else the pixels are features, and every observation is an image.

    Parameters
    ----------
    matrix : (rows, columns) as it lies in its file.
    numbers : single numbers that stand beside it, by name: "lines" and "cols" are a size.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core.data.pictures import find_picture
    >>> bright = np.add.outer(np.arange(9.0), np.arange(9.0)).ravel()
    >>> cube = np.outer(np.sin(np.linspace(0, 3, 40)), bright)
    >>> find_picture(cube, {}).shape, find_picture(cube, {}).side.observations
    ((9, 9), 'columns')
    """
    height, height_name = _number(numbers, _HEIGHTS)
    width, width_name = _number(numbers, _WIDTHS)
    for axis, count in sorted(zip(AXES, matrix.shape, strict=True), key=lambda one: -one[1]):
        square = isqrt(count)
        if height * width == count and min(height, width) > 1:
            said = f"{height_name!r} × {width_name!r} in the file, {height}×{width}"
            return _picture(matrix, axis, (height, width), said)
        fits = square**2 == count and square >= SMALLEST_SIDE
        if fits and _rough_image(matrix, axis, (square, square)) < ROUGHEST_IMAGE:
            said = f"{square}×{square}, in which neighbours are alike"
            return _picture(matrix, axis, (square, square), said)
    return None


def unfolded(cube: np.ndarray) -> tuple[np.ndarray, Picture]:
    """A cube (height, width, values of a pixel) as a matrix with a row for each pixel."""
    height, width, _ = cube.shape
    matrix = cube.reshape((height * width, -1), order="F")
    return matrix, _picture(matrix, "rows", (height, width), f"{height}×{width} in a cube")


def _picture(matrix: np.ndarray, axis: str, shape: tuple[int, int], said: str) -> Picture:
    other = AXES[1 - AXES.index(axis)]
    count, values = matrix.shape if axis == "rows" else matrix.shape[::-1]
    why = f"the {count:,} {axis} are the pixels of an image ({said})"
    if _rough_spectra(matrix, axis) < ROUGHEST_SPECTRUM:
        why += f", whose {values:,} values go over into each other like a spectrum"
        meant, observations = "every pixel is an observation", axis
    else:
        meant, observations = "pixels are features, and every image is an observation", other
    return Picture(shape, Side(observations, why, f"{why[0].upper()}{why[1:]}: {meant}."))


def _number(numbers: Mapping[str, float], words: frozenset[str]) -> tuple[int, str]:
    """The whole number that has one of these names, and its name; 0 where there is none."""
    for name, value in numbers.items():
        if word_of(name) in words and value >= 1 and value % 1 == 0:
            return int(value), name
    return 0, ""


def _some(count: int) -> np.ndarray:
    """At most so many places among ``count``, evenly spaced."""
    return np.unique(np.linspace(0, count - 1, min(MOST_LOOKED_AT, count)).astype(int))


def _rough_image(matrix: np.ndarray, axis: str, shape: tuple[int, int]) -> float:
    """How unlike vertical or horizontal neighbours are, whichever are less alike."""
    pixels = matrix if axis == "rows" else matrix.T
    some = pixels[:, _some(pixels.shape[1])[:: MOST_LOOKED_AT // 20]].astype(float)
    images = (some - some.mean(axis=0)).reshape((*shape, -1), order="F")
    return max(_rough(images, 0), _rough(images, 1))


def _rough_spectra(matrix: np.ndarray, axis: str) -> float:
    """How unlike the values are that follow each other within a pixel."""
    pixels = matrix if axis == "rows" else matrix.T
    some = pixels[_some(len(pixels))].astype(float)
    return _rough(some - some.mean(), 1)


def _rough(values: np.ndarray, axis: int) -> float:
    """½⟨(difference of neighbours)²⟩ over ⟨value²⟩; infinite where nothing differs."""
    variance = float(np.mean(values**2))
    return float(np.mean(np.diff(values, axis=axis) ** 2)) / 2 / variance if variance else np.inf
