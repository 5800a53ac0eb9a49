"""Shared code of sources that are files."""

import math
from abc import ABC
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from bnmf_core.blocks.checks import columns, stamp_of
from bnmf_core.blocks.source import Source
from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_name
from bnmf_core.numerics.matrix import Matrix

ROWS, COLUMNS = "rows", "columns"


@dataclass(frozen=True)
class FileSource(Source, ABC):
    """A source that is a file with an absolute ``path``.

    The stamp is the file's size and modification time.
    """

    path: Path

    @property
    def file(self) -> str:
        """The name of the file."""
        return clean_name(self.path.name, 60)

    def stamp(self) -> str:
        """Size and modification time of the file. OSError if it is missing."""
        return stamp_of([self.path])


@dataclass(frozen=True)
class Header:
    """The header of an NPY array, and the offset of its values."""

    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype[Any]
    start: int

    @property
    def size(self) -> int:
        """Bytes of the values."""
        return math.prod(self.shape) * self.dtype.itemsize


@dataclass(frozen=True)
class Values:
    """Values of an array in a file, in file order; slices are read on demand.

    They are not memory-mapped: mapped pages count as memory of the process, and a truncated file
    would crash it.
    """

    path: Path
    header: Header

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self.header.shape

    def __getitem__(self, part: int | slice) -> np.ndarray:
        if isinstance(part, int):
            return self[part : part + 1][0]
        first, stop, _ = part.indices(math.prod(self.shape))
        each = self.header.dtype.itemsize
        with self.path.open("rb") as file:
            file.seek(self.header.start + first * each)
            held = file.read(max(stop - first, 0) * each)
        if len(held) != max(stop - first, 0) * each:
            raise DataError("the file has been cut off")
        return np.frombuffer(held, self.header.dtype)


def npy_header(file: BinaryIO, room: int | None, where: str) -> Header:
    """Read the header at the current position of a file.

    room : bytes of the array from here; None for the rest of the file.

    DataError when it is damaged, does not fit the number of bytes, or declares Python objects.
    """
    began = file.tell()
    if room is None:
        room = file.seek(0, 2) - began
        file.seek(began)
    try:
        version = np.lib.format.read_magic(file)
        read_header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, by_columns, dtype = read_header(file)
    except Exception as error:
        # A foreign header is Python text that can fail in any way.
        raise DataError(f"{where} has a damaged NPY header; save it again.") from error
    if dtype.hasobject:
        raise DataError(f"{where} holds Python objects, which are never opened; save numbers.")
    found = Header(shape, by_columns, dtype, file.tell())
    follow = room - (found.start - began)
    if min(shape, default=0) < 0 or found.size != follow:
        raise DataError(
            f"{where} claims the shape {shape} with {found.size:,} bytes, but {follow:,} bytes "
            "follow; it is cut off or damaged, so save it again."
        )
    return found


def check_numbers(dtype: Any, where: str) -> None:
    """Refuse values that are not real numbers."""
    if getattr(dtype, "kind", "O") not in "buif":
        raise DataError(f"{where} holds values of type {dtype}; real numbers ≥ 0 are needed.")


def check_matrix(shape: tuple[int, ...], where: str) -> None:
    """Refuse arrays without two dimensions."""
    if len(shape) != 2:
        raise DataError(f"{where} has {len(shape)} dimensions; a matrix needs two.")


def check_rows(observations: str, where: str, advice: str) -> None:
    """Refuse observations in columns for a store that is read by rows."""
    if observations != ROWS:
        raise DataError(
            f"{where} was to be read with observations in {observations}, but it can be read by "
            f"rows only; {advice}."
        )


def check_ends(ends: Any, N: int, entries: int, places: int, where: str) -> None:
    """Refuse a CSR matrix whose parts do not fit each other.

    ends : indptr, of which only the first and last value are read.
    """
    whole = ends.shape == (N + 1,) and entries == places
    if not (whole and int(ends[0]) == 0 and int(ends[N]) == entries):
        raise DataError(
            f"{where} has data, indices and indptr that do not fit each other; save it again."
        )


def csr_rows(data: Any, indices: Any, indptr: Any, rows: tuple[int, int], D: int) -> Matrix:
    """A range of rows of a CSR matrix as columns (D, n).

    Only the parts of the arrays with these rows are read.
    """
    first, stop = rows
    ends = np.asarray(indptr[first : stop + 1]).astype(np.int64)
    if ends.size != stop - first + 1 or ends[0] < 0 or (np.diff(ends) < 0).any():
        raise DataError("its indices do not fit the shape of the matrix")
    part = slice(int(ends[0]), int(ends[-1]))
    return columns(np.asarray(data[part]), np.asarray(indices[part]), ends, D)
