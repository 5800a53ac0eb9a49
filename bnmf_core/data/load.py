"""Files of users → Dataset. Nothing in a file is trusted, and its content decides its format."""

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
    """Say how a file would be read, and why; nothing is loaded.

    Parameters
    ----------
    source : path, content, or file object open in binary mode.
    filename : what the file is called; by default the path's name.
    chosen : fields of a Reading that are not to be guessed, such as
        ``{"header_row": None, "names_column": "id", "observations": "columns"}``; the rest is
        judged around them. Columns are numbers from 1 on or what the header calls them.

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
    with ReaderProcess(_content(source), filename, "reading", chosen=choices) as reader:
        return reader.reading()


def load_file(
    source: Source,
    *,
    filename: str | None = None,
    reading: Reading | None = None,
    observations: str | None = None,
) -> Dataset:
    """Read a matrix from a file, as a Reading says.

    Parameters
    ----------
    source : path, content, or file object open in binary mode.
    filename : what the dataset is called; by default the path's name.
    reading : what :func:`inspect_file` gave, as it was or changed; left out, the file is
        inspected first. The file's name and the doubts are in ``Dataset.source``.
    observations : "rows" or "columns", the axis of the file that holds the observations; left
        out, the Reading's.

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
    """A file with the features of other data: turned, where more of its other axis match by name.

    Where as many match, features are places on an axis if those of the other data are.

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
    """The dataset that a file holds; its source says which one, and what was doubtful."""
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
    """The dataset, with a number behind its name where other data have that name.

    ``taken`` holds the names of what is there by the hash of its content. The same data under the
    same name are the same dataset, and stay as they are.
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
        When a file cannot be opened or read; of a folder, when all of it is too large.
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
    X = X.T if observations == "rows" else X
    return Dataset.from_array(X, name=name, source=" ".join(_named(shown)))


def _named(filename: str) -> list[str]:
    """Which file it is, in a sentence; nothing where it has no name."""
    name = clean_name(Path(filename.replace("\0", "")).name)
    return [f"The file {name}."] if name else []


def _content(source: Source) -> bytes | Path:
    """The content, not too large; or the file that holds it, which only its reader opens."""
    limit_bytes = read_limits().reading_bytes
    asked = -1 if limit_bytes == NO_LIMIT else limit_bytes + 1
    if isinstance(source, str | os.PathLike):
        try:
            path = Path(source).resolve(strict=True)
            with open(source, "rb") as file:
                content = b"" if path.is_file() else file.read(asked)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            shown = clean_name(Path(os.fspath(source)).name)
            raise DataError(f"The file {shown!r} could not be opened.") from error
        if path.is_file():
            return path
    elif isinstance(source, bytes | bytearray | memoryview):
        content = bytes(source)
    else:
        read: object = source.read(asked)
        if not isinstance(read, bytes):
            raise DataError("The file is open in text mode; open it in binary mode.")
        content = read
    check_size(len(content), limit_bytes)
    return content


def _filename(source: Source, filename: str | None) -> str:
    if filename is None and isinstance(source, str | os.PathLike):
        filename = os.fspath(source)
    return filename or ""
