"""Files of users → Dataset. Nothing in a file is trusted, and its content decides its format."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np

from bnmf_core.data.arrays import read_npy, read_npz
from bnmf_core.data.market import read_mtx
from bnmf_core.data.tables import read_table
from bnmf_core.nouns.dataset import Dataset, Parts
from bnmf_core.nouns.errors import DataError
from bnmf_core.nouns.names import clean_name

LIMIT_BYTES = 256 * 2**20
AXES = ("rows", "columns")
ACCEPTED = "CSV, TSV, NPY, NPZ and Matrix Market (MTX) files can be read"

Reader = Callable[[bytes, str, int], Parts]
_READERS: dict[str, tuple[bytes, Reader]] = {
    "an NPY array": (b"\x93NUMPY", read_npy),
    "an NPZ archive": (b"PK\x03\x04", read_npz),
    "a Matrix Market file": (b"%%MatrixMarket", read_mtx),
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


def load_file(
    source: str | os.PathLike[str] | bytes | BinaryIO,
    *,
    filename: str | None = None,
    observations: str = "rows",
    limit_bytes: int = LIMIT_BYTES,
) -> Dataset:
    """Read a matrix from a CSV, TSV, NPY, NPZ or Matrix Market file.

    Parameters
    ----------
    source : path, content, or file object open in binary mode.
    filename : what the dataset is called; by default the path's name.
    observations : "rows" or "columns", the axis of the file that holds the observations.
    limit_bytes : larger files are refused, and so are archives that grow beyond it.

    Returns
    -------
    Dataset
        X (D, N) whatever the orientation of the file; NaN and empty cells are missing.

    Raises
    ------
    DataError
        One sentence that names what is wrong and where; rows and columns count from 1 as in
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
    _check_axis(observations)
    if filename is None and isinstance(source, str | os.PathLike):
        filename = os.fspath(source)
    content = _read_bytes(source, limit_bytes)
    name = clean_name(Path(filename or "").stem.replace("\0", "")) or "uploaded matrix"
    what, read = _format(content)
    try:
        # Numbers of more than 64 bits may overflow; the infinity is then refused by its place.
        with np.errstate(over="ignore", invalid="ignore"):
            parts = read(content, observations, limit_bytes)
            return Dataset.from_array(**parts, name=name)
    except DataError:
        raise
    except Exception as error:
        # A parser that fails in a way nobody thought of must not reach the screen as a
        # traceback, whatever it raises.
        raise DataError(f"The file could not be read as {what}.") from error


def map_npy(path: str | os.PathLike[str], *, observations: str = "rows") -> Dataset:
    """The matrix of an NPY file of float64 that stays on the disk: it may exceed memory.

    ``observations`` is "rows" or "columns", the axis of the file that holds the observations.

    Raises
    ------
    DataError
        When the file is no NPY file, or its matrix cannot be used as it lies.
    """
    _check_axis(observations)
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


def _check_axis(observations: str) -> None:
    if observations not in AXES:
        raise DataError(
            f"The observations were said to be in {observations!r}; choose one of "
            f"{', '.join(AXES)}."
        )


def _read_bytes(source: str | os.PathLike[str] | bytes | BinaryIO, limit_bytes: int) -> bytes:
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


def _format(content: bytes) -> tuple[str, Reader]:
    """What the content looks like, and the function that reads it."""
    for what, (start, read) in _READERS.items():
        if content[: len(start)].lower() == start.lower():
            return what, read
    for start, words in _REFUSED:
        if content.startswith(start):
            raise DataError(f"The file {words}. {ACCEPTED}.")
    return "a table of numbers", read_table
