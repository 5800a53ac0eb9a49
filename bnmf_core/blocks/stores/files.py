"""Shared code of sources that are files."""

import math
from abc import ABC
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bnmf_core.blocks.checks import columns, stamp_of
from bnmf_core.blocks.source import Source
from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_name
from bnmf_core.data.formats.arrays import Header
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
