"""Files of users → Dataset. Nothing in a file is trusted, and its content decides its format."""

import dataclasses
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np

from bnmf_core.data.formats import FORMATS
from bnmf_core.data.formats.format import Format
from bnmf_core.data.reading import DECIMAL_MARKS, Reading, check_axis
from bnmf_core.nouns.dataset import Dataset
from bnmf_core.nouns.errors import DataError
from bnmf_core.nouns.names import clean_name

LIMIT_BYTES = 256 * 2**20
ACCEPTED = "CSV, TSV, NPY, NPZ and Matrix Market (MTX) files can be read"
Result = TypeVar("Result")
Source = str | os.PathLike[str] | bytes | BinaryIO
# What may be chosen instead of guessed, and what a choice looks like in a sentence.
CHOICES = {
    "format": "the key of a format",
    "encoding": "a name such as utf-8 or cp932",
    "separator": "one character",
    "decimal_mark": "'.' or ','",
    "header_row": "a row of the file, or None",
    "names_column": "a column, by number or header, or None",
    "label_columns": "columns, by number or header",
    "number_columns": "columns, by number or header",
    "observations": "'rows' or 'columns'",
    "missing_words": "words",
    "image_shape": "two whole numbers",
    "settings": "a mapping",
}

# First bytes of files that people have at hand, and what to do with them.
_REFUSED = (
    (b"\x1f\x8b", "is compressed (gzip); uncompress it first"),
    (b"BZh", "is compressed (bzip2); uncompress it first"),
    (b"\xfd7zXZ", "is compressed (xz); uncompress it first"),
    (b"PK\x05\x06", "is an empty archive"),
    (b"\x89HDF", "is an HDF5 file; save the matrix as NPZ, MTX or CSV"),
    (b"MATLAB", "is a MATLAB file; save the matrix as CSV or NPZ"),
    (b"\x80\x02", "is a Python pickle, which is never opened; save the matrix as NPY or NPZ"),
    (b"\x80\x03", "is a Python pickle, which is never opened; save the matrix as NPY or NPZ"),
    (b"\x80\x04", "is a Python pickle, which is never opened; save the matrix as NPY or NPZ"),
    (b"\x80\x05", "is a Python pickle, which is never opened; save the matrix as NPY or NPZ"),
    (b"\xd0\xcf\x11\xe0", "is an old Excel workbook; save the sheet as CSV"),
    (b"\x89PNG", "is a picture; save the pixels as NPY or CSV"),
    (b"\xff\xd8\xff", "is a picture; save the pixels as NPY or CSV"),
    (b"%PDF", "is a PDF document; save the table as CSV"),
)


def inspect_file(
    source: Source,
    *,
    filename: str | None = None,
    chosen: Mapping[str, Any] | None = None,
    limit_bytes: int = LIMIT_BYTES,
) -> Reading:
    """Say how a file would be read, and why; nothing is loaded.

    Parameters
    ----------
    source : path, content, or file object open in binary mode.
    filename : what the file is called; by default the path's name.
    chosen : fields of a Reading that are not to be guessed, such as
        ``{"header_row": None, "names_column": "id", "observations": "columns"}``; the rest is
        judged around them. Columns are numbers from 1 on or what the header calls them.
    limit_bytes : larger files are refused, and so are archives that grow beyond it.

    Raises
    ------
    DataError
        When the file cannot be opened as anything. What is wrong within a table is in
        ``Reading.faults``, all of it at once.

    Examples
    --------
    >>> from bnmf_core import inspect_file, load_file
    >>> content = b"id,height,weight\\n0,1.5,60\\n1,1.8,75\\n2,1.6,70\\n"
    >>> reading = inspect_file(content, filename="people.csv")
    >>> print(reading.what)
    a table of text, separated by comma
    >>> print(reading.doubts[0])
    Column 1 ('id') counts 0, 1, 2, …: taken as names, not as a feature.
    >>> load_file(content, reading=reading).features
    ('height', 'weight')
    >>> again = inspect_file(content, chosen={"names_column": None})
    >>> load_file(content, reading=again).features
    ('id', 'height', 'weight')
    """
    choices = check_choices(chosen or {})
    filename = _filename(source, filename)
    content = _read_bytes(source, limit_bytes)
    found = _format(content, filename, choices.get("format"))
    reading = _guarded(found, found.inspect, content, choices, limit_bytes)
    if "image_shape" in choices:
        reasons = {**reading.reasons, "image_shape": "chosen by you"}
        reading = dataclasses.replace(reading, image_shape=choices["image_shape"], reasons=reasons)
    return reading


def load_file(
    source: Source,
    *,
    filename: str | None = None,
    reading: Reading | None = None,
    observations: str | None = None,
    limit_bytes: int = LIMIT_BYTES,
) -> Dataset:
    """Read a matrix from a file, as a Reading says.

    Parameters
    ----------
    source : path, content, or file object open in binary mode.
    filename : what the dataset is called; by default the path's name.
    reading : what :func:`inspect_file` gave, as it was or changed; left out, the file is
        inspected first, and its doubts are in ``Dataset.source``.
    observations : "rows" or "columns", the axis of the file that holds the observations; left
        out, the Reading's.
    limit_bytes : larger files are refused, and so are archives that grow beyond it.

    Returns
    -------
    Dataset
        X (D, N) whatever the orientation of the file; NaN and empty cells are missing.

    Raises
    ------
    DataError
        Sentences that name what is wrong and where; rows and columns count from 1 as in
        the file, its header line included.

    Examples
    --------
    >>> from bnmf_core import load_file
    >>> data = load_file(b"name,red,green\\nfirst,1,2\\nsecond,3,4\\n", filename="lamps.csv")
    >>> data.features, data.observations
    (('red', 'green'), ('first', 'second'))
    >>> data.X
    array([[1., 3.],
           [2., 4.]])
    """
    if observations is not None:
        check_axis(observations)
    filename = _filename(source, filename)
    content = _read_bytes(source, limit_bytes)
    if reading is None:
        choices = {} if observations is None else {"observations": observations}
        reading = inspect_file(content, filename=filename, chosen=choices, limit_bytes=limit_bytes)
    elif observations is not None and observations != reading.observations:
        reading = dataclasses.replace(reading, observations=observations)
    if reading.faults:
        raise DataError(" ".join(reading.faults))
    found = _format(content, filename, reading.format)
    parts = _guarded(found, found.parts, content, reading, limit_bytes)
    if reading.image_shape is not None:
        parts["image_shape"] = reading.image_shape
    name = clean_name(Path(filename or "").stem.replace("\0", "")) or "uploaded matrix"
    with np.errstate(over="ignore", invalid="ignore"):
        return Dataset.from_array(**parts, name=name, source=" ".join(reading.doubts))


def check_choices(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The choices in one spelling.

    Raises
    ------
    DataError
        Naming the choice that is not known, or what it has to be.
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
    if key == "format":
        return value in FORMATS
    if key == "separator":
        return isinstance(value, str) and len(value) == 1
    if key == "decimal_mark":
        return value in DECIMAL_MARKS
    if key == "header_row":
        return value is None or (isinstance(value, int) and value >= 1)
    if key == "image_shape" and value is not None:
        return len(value) == 2 and all(isinstance(one, int) and one > 0 for one in value)
    return True


def map_npy(path: str | os.PathLike[str], *, observations: str = "rows") -> Dataset:
    """The matrix of an NPY file of float64 that stays on the disk: it may exceed memory.

    ``observations`` is "rows" or "columns", the axis of the file that holds the observations.

    Raises
    ------
    DataError
        When the file is no NPY file, or its matrix cannot be used as it lies.
    """
    check_axis(observations)
    shown = clean_name(Path(path).name)
    try:
        X = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"The file {shown!r} could not be opened as an NPY array.") from error
    if not isinstance(X, np.memmap) or X.dtype != np.float64 or X.ndim != 2:
        raise DataError(
            f"A file as large as {shown!r} has to be an NPY array of float64 with two dimensions, "
            "so that it can stay on the disk; save it with numpy.save(path, X.astype(float))."
        )
    name = clean_name(Path(path).stem) or "matrix"
    return Dataset.from_array(X.T if observations == "rows" else X, name=name)


def _read_bytes(source: Source, limit_bytes: int) -> bytes:
    if isinstance(source, str | os.PathLike):
        try:
            with open(source, "rb") as file:
                content = file.read(limit_bytes + 1)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            shown = clean_name(Path(os.fspath(source)).name)
            raise DataError(f"The file {shown!r} could not be opened.") from error
    elif isinstance(source, bytes | bytearray | memoryview):
        content = bytes(source)
    else:
        read: object = source.read(limit_bytes + 1)
        if not isinstance(read, bytes):
            raise DataError("The file is open in text mode; open it in binary mode.")
        content = read
    if len(content) > limit_bytes:
        raise DataError(
            f"The file is larger than {limit_bytes / 2**20:,.4g} MB, the most that can be read."
        )
    if not content or content.isspace():
        raise DataError("The file is empty; choose one with a table or an array in it.")
    return content


def _filename(source: Source, filename: str | None) -> str:
    if filename is None and isinstance(source, str | os.PathLike):
        filename = os.fspath(source)
    return filename or ""


def _format(content: bytes, filename: str, key: str | None) -> Format:
    """The format of that key, or the one that the content looks like."""
    if key is not None:
        if key not in FORMATS:
            raise DataError(
                f"There is no format called {clean_name(key, 40)!r}; there are "
                f"{', '.join(FORMATS)}."
            )
        return FORMATS[key]
    for start, words in _REFUSED:
        if content.startswith(start):
            raise DataError(f"The file {words}. {ACCEPTED}.")
    return next(found for found in FORMATS.values() if found.recognises(content, filename))


def _guarded(found: Format, work: Callable[..., Result], *arguments: Any) -> Result:
    """What a format's function gives; whatever it raises, a sentence comes of it."""
    try:
        # Numbers of more than 64 bits may overflow; the infinity is then refused by its place.
        with np.errstate(over="ignore", invalid="ignore"):
            return work(*arguments)
    except DataError:
        raise
    except Exception as error:
        # A parser that fails in a way nobody thought of must not reach the screen as a
        # traceback, whatever it raises.
        raise DataError(f"The file could not be read as {found.what}.") from error
