"""Parse the bytes of a file into a Reading and a Dataset; the content decides the format."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import numpy as np

from bnmf_core.core.dataset import Parts
from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_name, listed
from bnmf_core.data.formats import FORMATS
from bnmf_core.data.formats.format import Format
from bnmf_core.data.limits import unpacked
from bnmf_core.data.reading import (
    AXES,
    DECIMAL_MARKS,
    IS_NEGATIVE,
    NEGATIVE,
    REFUSED,
    Reading,
    check_axis,
)
from bnmf_core.numerics.matrix import is_sparse

ACCEPTED = (
    "Tables (CSV, TSV, XLSX, Parquet, GCT), matrices (NPY, NPZ, MTX, MAT, H5AD, 10x), lists of "
    "items (FIMI), texts and images (in a zip) can be read, each also as .gz"
)
Result = TypeVar("Result")
# Choices that replace guesses, with a description of their values for messages.
CHOICES = {
    "format": "the key of a format",
    "encoding": "a name such as utf-8 or cp932",
    "separator": "one character",
    "decimal_mark": "'.' or ','",
    "header_row": "a row of the file, or None",
    "names_column": "a column, by number or header, or None",
    "label_columns": "columns, by number or header",
    "number_columns": "columns, by number or header",
    "left_out_columns": "columns, by number or header",
    "observations": "'rows' or 'columns'",
    "missing_words": "words",
    "image_shape": "two whole numbers",
    "pixel_order": "'columns' or 'rows'",
    "negative": "'refused', 'zero' or 'missing'",
    "features_are": "a noun in the plural, such as 'species'",
    "settings": "a mapping",
}

_PICKLE = "is a Python pickle, which is never opened; save the matrix as NPY or NPZ"
_PICTURE = "is one picture, or a stack of them; put many of one size into a zip, one page each"
# First bytes of common files that cannot be read, and the advice for each.
_REFUSED = {
    b"BZh": "is compressed (bzip2); uncompress it first",
    b"\xfd7zXZ": "is compressed (xz); uncompress it first",
    b"PK\x05\x06": "is an empty archive",
    **{bytes([0x80, version]): _PICKLE for version in (2, 3, 4, 5)},
    b"\xd0\xcf\x11\xe0": "is an old Excel workbook; save the sheet as CSV",
    b"\x89PNG": _PICTURE,
    b"\xff\xd8\xff": _PICTURE,
    **dict.fromkeys((b"II*\0", b"II+\0", b"MM\0*", b"MM\0+", b"GIF8"), _PICTURE),
    b"%PDF": "is a PDF document; save the table as CSV",
}


def inspect_content(
    content: bytes, filename: str, chosen: Mapping[str, Any], limit_bytes: int
) -> Reading:
    """How the bytes would be read; ``chosen`` comes from :func:`check_choices`.

    DataError if no format fits.
    """
    content = unpacked(content, limit_bytes)
    if not content or content.isspace():
        raise DataError("The file is empty; choose one with a table or an array in it.")
    found = format_of(content, filename, chosen.get("format"))
    reading = _guarded(found, found.inspect, content, chosen, limit_bytes)
    reading = _negative_settled(reading, chosen.get("negative", REFUSED))
    layout = {key: chosen[key] for key in ("image_shape", "pixel_order") if key in chosen}
    if "image_shape" in layout:
        reading = reading.because({"image_shape": "chosen by you"})
    # The format may differ from the first guess.
    called = chosen.get("features_are", FORMATS[reading.format].features_are)
    return dataclasses.replace(reading, features_are=clean_name(called), **layout)


def content_parts(content: bytes, filename: str, reading: Reading, limit_bytes: int) -> Parts:
    """The arguments of ``Dataset.from_array`` for bytes read according to the Reading.

    DataError that lists all faults.
    """
    if reading.faults:
        raise DataError(" ".join(reading.faults))
    content = unpacked(content, limit_bytes)
    found = format_of(content, filename, reading.format)
    parts = _guarded(found, found.parts, content, reading, limit_bytes)
    if reading.negative not in ("", REFUSED):
        parts["X"] = _without_negative(parts["X"], reading.negative)
    if reading.image_shape is not None:
        D, N = getattr(parts["X"], "shape", (0, 0))
        parts.pop("image_shape", None)
        # Pixels are the features, if they can be.
        observed = math.prod(reading.image_shape) == N != D
        parts["map_shape" if observed else "image_shape"] = reading.image_shape
    return _down_columns(parts) if reading.pixel_order == "rows" else parts


def _negative_settled(reading: Reading, choice: str) -> Reading:
    """Apply the choice for negative entries, which are a fault without one."""
    if choice not in NEGATIVE:
        offered = listed(map(repr, NEGATIVE), "or")
        raise DataError(f"Negative entries were to be {choice!r}; choose {offered}.")
    found = [fault for fault in reading.faults if IS_NEGATIVE in fault]
    if not found or choice == REFUSED:
        return dataclasses.replace(reading, negative=choice if found else "")
    first, _, rest = found[0].partition(";")
    more = rest.partition("≥ 0.")[2]
    return dataclasses.replace(
        reading,
        negative=choice,
        faults=tuple(fault for fault in reading.faults if fault not in found),
        doubts=(*reading.doubts, f"{first}.{more} Negative entries are {NEGATIVE[choice]}."),
    )


def _without_negative(X: Any, choice: str) -> Any:
    """X with negative entries replaced by 0 or NaN."""
    value = 0.0 if choice == "zero" else np.nan
    if is_sparse(X):
        X = X.copy()
        X.data[X.data < 0] = value
        return X
    return np.where(X < 0, value, X)


def _down_columns(parts: Parts) -> Parts:
    """Reorder pixels from row-major to column-major order."""
    found: dict[str, Any] = dict(parts)
    for key, axis, names in (("image_shape", 0, "features"), ("map_shape", 1, "observations")):
        shape, count = found.get(key), found["X"].shape[axis]
        if shape is None or math.prod(shape) != count:
            continue
        order = np.arange(count).reshape(shape).ravel(order="F")
        for matrix in {"X", "mask"} & found.keys():
            found[matrix] = found[matrix][order] if axis == 0 else found[matrix][:, order]
        if found.get(names) is not None:
            found[names] = [found[names][i] for i in order]
        field = "labels" if axis == 1 else "descriptions"
        words = found.get(field) or {}
        found[field] = {name: np.asarray(values)[order] for name, values in words.items()}
    return cast(Parts, found)


def check_choices(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Validate the choices.

    DataError for an unknown choice or an invalid value.
    """
    for key, value in chosen.items():
        if key not in CHOICES:
            raise DataError(
                f"There is no choice called {clean_name(key, 40)!r}; there are "
                f"{', '.join(CHOICES)}."
            )
        if not _fits(key, value):
            raise DataError(f"The choice {key!r} was {value!r}; it has to be {CHOICES[key]}.")
    if "observations" in chosen:
        check_axis(chosen["observations"])
    return dict(chosen)


def _fits(key: str, value: Any) -> bool:
    listed = {"format": FORMATS, "pixel_order": AXES, "decimal_mark": DECIMAL_MARKS}
    if key in listed:
        return value in listed[key]
    if key in ("separator", "features_are"):
        return isinstance(value, str) and (len(value) == 1 or key == "features_are")
    if key == "header_row":
        return value is None or (isinstance(value, int) and value >= 1)
    if key == "image_shape" and value is not None:
        return len(value) == 2 and all(isinstance(one, int) and one > 0 for one in value)
    return True


def format_of(content: bytes, filename: str, key: str | None) -> Format:
    """The format with this key, or the one recognized from the content."""
    if key in FORMATS:
        return FORMATS[key]
    if key is not None:
        raise DataError(
            f"There is no format called {clean_name(key, 40)!r}; there are {', '.join(FORMATS)}."
        )
    for start, words in _REFUSED.items():
        if content.startswith(start):
            raise DataError(f"The file {words}. {ACCEPTED}.")
    if content[:4] == b"PAR1" and content[-4:] != b"PAR1":
        raise DataError("The Parquet file is cut off.")
    return next(found for found in FORMATS.values() if found.recognises(content, filename))


def _guarded(found: Format, work: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function of a format and turn any exception into a DataError."""
    try:
        # Numbers of more than 64 bits may overflow; infinite entries are refused later.
        with np.errstate(over="ignore", invalid="ignore"):
            return work(*arguments)
    except DataError:
        raise
    except Exception as error:
        # An unexpected failure of a parser must not reach the user as a traceback.
        raise DataError(f"The file could not be read as {found.what}.") from error
