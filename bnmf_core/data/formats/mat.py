"""MAT: variables of MATLAB, of versions 5 to 7.3."""

import io
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_name
from bnmf_core.data.formats.format import Found, named_format, pick
from bnmf_core.data.formats.hdf5 import HDF5, numbers, open_hdf5
from bnmf_core.data.limits import check_entries, check_side
from bnmf_core.data.orientation import Picture, find_picture, unfolded
from bnmf_core.lazy import lazy

scipy_io = lazy("scipy.io")
HDF5_AT = 512
# Names, and labels by name.
Named = tuple[list[str] | None, dict[str, list[str]]]
_NUMBERS = ("double", "single", "logical", "sparse", "int", "uint")


def _find(content: bytes, settings: Mapping[str, Any], limit_bytes: int) -> Found:
    if content[HDF5_AT : HDF5_AT + 4] == HDF5:
        return _newer(content, settings)
    listed = scipy_io.whosmat(io.BytesIO(content))
    fits = [
        (name, shape)
        for name, shape, kind in listed
        if len(shape) in (2, 3) and min(shape) > 1 and kind.startswith(_NUMBERS)
    ]
    name = _largest(fits, settings, [name for name, _, _ in listed])
    kinds = {name: kind for name, _, kind in listed}
    *sides, columns = dict(fits)[name]
    rows = math.prod(sides)
    check_side(rows, columns)
    if kinds[name] != "sparse":
        check_entries(rows, columns)
    # Cells of words and vectors may name its rows and columns.
    beside = [
        one
        for one, shape, kind in listed
        if kind in ("cell", "char") and max(shape, default=0) in (rows, columns)
    ]
    single = [one for one, shape, kind in listed if shape == (1, 1) and kind.startswith(_NUMBERS)]
    held: Any = scipy_io.loadmat(io.BytesIO(content), variable_names=[name, *beside, *single])
    matrix, picture = held[name], None
    if kinds[name] == "sparse":
        matrix = sparse.csc_array(matrix)
    elif len(sides) == 2:
        matrix, picture = unfolded(matrix)
    else:
        picture = find_picture(matrix, {one: float(held[one].real.item()) for one in single})
    words = {one: _words(held[one]) for one in beside if one in held}
    of_rows = _names(words, rows)
    of_columns = _names({} if rows == columns else words, columns)
    return _found(matrix, picture, name, fits, of_rows, of_columns)


def _newer(content: bytes, settings: Mapping[str, Any]) -> Found:
    """Read version 7.3, which is HDF5 with column-major matrices."""
    with open_hdf5(content) as file:
        shapes = {one: numbers(file, one, look=True) for one in file if one[:1] != "#"}
        fits = [(one, shape[::-1]) for one, shape in shapes.items() if shape is not None]
        name = _largest(fits, settings, list(file))
        matrix = numbers(file, name)
    picture = find_picture(matrix.T, {}) if isinstance(matrix, np.ndarray) else None
    return _found(matrix.T, picture, name, fits)


def _found(
    matrix: Any,
    picture: Picture | None,
    name: str,
    fits: Sequence[tuple[str, Any]],
    of_rows: Named = (None, {}),
    of_columns: Named = (None, {}),
) -> Found:
    taken = f"The file holds {len(fits)} matrices: {clean_name(name, 40)!r} is taken."
    return Found(
        matrix,
        of_rows[0],
        of_columns[0],
        of_rows[1],
        of_columns[1],
        side=None if picture is None else picture.side,
        image_shape=None if picture is None else picture.shape,
        settings={"matrix": name},
        offers={"matrix": tuple(one for one, _ in fits)},
        doubts=(taken,) if len(fits) > 1 else (),
    )


def _largest(
    fits: Sequence[tuple[str, tuple[int, ...]]], settings: Mapping[str, Any], every: Sequence[str]
) -> str:
    if not fits:
        listed = ", ".join(repr(clean_name(name, 40)) for name in every[:8]) or "nothing"
        raise DataError(f"The MATLAB file holds no matrix of numbers (found: {listed}).")
    largest = sorted(fits, key=lambda one: -math.prod(one[1]))
    return str(pick(settings, "matrix", [name for name, _ in largest], "matrix"))


def _words(array: np.ndarray) -> list[str]:
    """The words of a cell array or of rows of characters."""
    flat = [np.asarray(cell).ravel() for cell in array.ravel()]
    return [str(cell[0]).strip() if len(cell) == 1 else "" for cell in flat]


def _names(words: dict[str, list[str]], count: int) -> Named:
    """Among lists of this length, the first of distinct words as names, the others as labels."""
    fits = {key: found for key, found in words.items() if len(found) == count}
    names = next((key for key, found in fits.items() if len(set(found)) == count), None)
    labels = {key: found for key, found in fits.items() if key != names and any(found)}
    return (None if names is None else fits[names]), labels


FORMAT = named_format(
    "mat", "a MATLAB file", lambda content, _: content.startswith(b"MATLAB"), _find
)
