"""Load datasets from untrusted files; the content decides the format."""

import dataclasses
import io
import os
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from bnmf_core.core.dataset import Dataset, Parts
from bnmf_core.core.errors import DataError
from bnmf_core.core.limits import NO_LIMIT, read_limits
from bnmf_core.core.names import clean_name
from bnmf_core.data.contents import check_choices
from bnmf_core.data.foreign import NamedMatrix
from bnmf_core.data.isolation import ReaderProcess
from bnmf_core.data.limits import check_size
from bnmf_core.data.matching import spelling
from bnmf_core.data.reading import Reading, check_axis

Source = str | os.PathLike[str] | bytes | BinaryIO


def inspect_file(
    source: Source,
    *,
    filename: str | None = None,
    chosen: Mapping[str, Any] | None = None,
) -> Reading:
    """Determine how a file would be read, and why, without loading it.

    Parameters
    ----------
    source : path, content, or file object open in binary mode.
    filename : by default the path's name.
    chosen : fixed fields of a Reading, such as
        ``{"header_row": None, "names_column": "id", "observations": "columns"}``; the others are
        inferred. Columns are numbers from 1 or names in the header.

    Raises
    ------
    DataError
        When no format fits. ``Reading.faults`` lists all faults within a table.

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
    with ReaderProcess(_content(source), filename, "reading", chosen=choices) as reader:
        return reader.reading()


def load_file(
    source: Source,
    *,
    filename: str | None = None,
    reading: Reading | None = None,
    observations: str | None = None,
) -> Dataset:
    """Read a matrix from a file according to a Reading.

    Parameters
    ----------
    source : path, content, or file object open in binary mode.
    filename : names the dataset; by default the path's name.
    reading : from :func:`inspect_file`, possibly changed; by default the file is inspected first.
        The file's name and the doubts are in ``Dataset.source``.
    observations : "rows" or "columns", the axis of the observations in the file; by default the
        Reading's.

    Returns
    -------
    Dataset
        X (D, N) whatever the orientation of the file; NaN and empty cells are missing.

    Raises
    ------
    DataError
        When the file has faults; the message locates them, counting rows and columns from 1,
        including the header.

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
    choices = check_choices({} if observations is None else {"observations": observations})
    filename = _filename(source, filename)
    content = _content(source)
    if reading is None:
        with ReaderProcess(content, filename, "both", chosen=choices) as reader:
            return dataset_of(reader.parts(), filename, reader.reading())
    reading = dataclasses.replace(reading, **choices)
    with ReaderProcess(content, filename, "parts", reading=reading) as reader:
        return dataset_of(reader.parts(), filename, reading)


def load_alike(source: Source, filename: str, like: Dataset) -> Dataset:
    """Load a file with the features of another dataset; the axis with more matching names wins.

    If both match equally, an axis of numbers wins if the other dataset has one.

    Raises
    ------
    DataError
        When the file cannot be read.
    """
    reading = inspect_file(source, filename=filename)
    turned = dataclasses.replace(
        reading, observations="rows" if reading.observations == "columns" else "columns"
    )
    read = [load_file(source, filename=filename, reading=reading)]
    with suppress(DataError):
        read.append(load_file(source, filename=filename, reading=turned))
    wanted = set(map(spelling, like.features))

    def alike(data: Dataset) -> tuple[int, bool]:
        along = like.axis is not None and data.axis is not None
        return len(wanted.intersection(map(spelling, data.features))), along

    return max(read, key=alike)


def dataset_of(parts: Parts, filename: str, reading: Reading) -> Dataset:
    """Build the dataset of a file; its source has the file name and the doubts."""
    name = (
        clean_name(Path(filename.removesuffix(".gz")).stem.replace("\0", "")) or "uploaded matrix"
    )
    with np.errstate(over="ignore", invalid="ignore"):
        return Dataset.from_array(
            **parts,
            name=name,
            source=" ".join([*_named(filename), *reading.doubts]),
            features_are=reading.features_are,
        )


def named_apart(dataset: Dataset, taken: Mapping[str, str]) -> Dataset:
    """Append a number to a dataset's name if other data have that name.

    ``taken`` : names of the existing datasets by hash. Identical data with the same name are
    returned unchanged.
    """
    others = set(taken.values())
    number, found = 1, dataset
    while found.name in others and found.hash not in taken:
        number += 1
        found = dataclasses.replace(dataset, name=f"{dataset.name} ({number})")
    return found


def foreign_matrices(path: Path) -> list[NamedMatrix]:
    """Every matrix in a file, a zip or a folder.

    Raises
    ------
    DataError
        When a file cannot be read, or a folder is too large.
    """
    if path.is_dir():
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", strict_timestamps=False) as archive:
            for file in sorted(one for one in path.rglob("*") if one.is_file()):
                archive.write(file, file.relative_to(path).as_posix())
                check_size(packed.tell(), read_limits().reading_bytes)
        content: bytes | Path = packed.getvalue()
    else:
        content = _content(path)
    with ReaderProcess(content, path.name, "matrices") as reader:
        return reader.matrices()


def map_npy(path: str | os.PathLike[str], *, observations: str = "rows") -> Dataset:
    """Memory-map the matrix of an NPY file of float64, which may exceed memory.

    ``observations`` is "rows" or "columns", the axis of the file that holds the observations.

    Raises
    ------
    DataError
        When the file is no NPY file, or its matrix cannot be mapped.
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
    X = X.T if observations == "rows" else X
    return Dataset.from_array(X, name=name, source=" ".join(_named(shown)))


def _named(filename: str) -> list[str]:
    """A sentence that names the file; empty without a name."""
    name = clean_name(Path(filename.replace("\0", "")).name)
    return [f"The file {name}."] if name else []


def _content(source: Source) -> bytes | Path:
    """The content, checked for size, or the path of a regular file, which only the reader opens."""
    limit_bytes = read_limits().reading_bytes
    read_bytes = -1 if limit_bytes == NO_LIMIT else limit_bytes + 1
    if isinstance(source, str | os.PathLike):
        try:
            path = Path(source).resolve(strict=True)
            with open(source, "rb") as file:
                content = b"" if path.is_file() else file.read(read_bytes)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            shown = clean_name(Path(os.fspath(source)).name)
            raise DataError(f"The file {shown!r} could not be opened.") from error
        if path.is_file():
            return path
    elif isinstance(source, bytes | bytearray | memoryview):
        content = bytes(source)
    else:
        read: object = source.read(read_bytes)
        if not isinstance(read, bytes):
            raise DataError("The file is open in text mode; open it in binary mode.")
        content = read
    check_size(len(content), limit_bytes)
    return content


def _filename(source: Source, filename: str | None) -> str:
    if filename is None and isinstance(source, str | os.PathLike):
        filename = os.fspath(source)
    return filename or ""
