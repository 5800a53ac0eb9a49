"""NPY: one array of NumPy, read where it lies on disk."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bnmf_core.blocks.checks import in_columns, opened
from bnmf_core.blocks.source import BYTES_DENSE, fitting
from bnmf_core.blocks.stores.files import (
    ROWS,
    FileSource,
    Values,
    check_matrix,
    check_numbers,
)
from bnmf_core.core.names import clean_name
from bnmf_core.data.formats.arrays import npy_header
from bnmf_core.numerics.matrix import Matrix

MAGIC = b"\x93NUMPY"


@dataclass(frozen=True)
class NpySource(FileSource):
    """A matrix in an NPY file; ``by_rows``: whether its rows are the observations."""

    by_rows: bool

    def read(self, first: int, stop: int) -> Matrix:
        """The observations (D, stop − first), dense; see :class:`Source`."""
        values, n = opened(self.path, self.stamp(), _values), stop - first
        if self.by_rows != values.header.by_columns:  # an observation after the other
            return in_columns(values[first * self.D : stop * self.D].reshape(n, self.D).T)
        X = np.empty((self.D, n), order="F")
        for d in range(self.D):
            X[d] = values[d * self.N + first : d * self.N + stop]
        return X


def _values(path: Path) -> Values:
    with path.open("rb") as file:
        return Values(path, npy_header(file, None, clean_name(path.name, 60)))


def open_npy(path: Path, observations: str = ROWS) -> NpySource:
    """The source of an NPY file.

    Parameters
    ----------
    path : the file. observations : "rows" for an array (N, D), "columns" for one (D, N).

    Raises
    ------
    DataError
        When the header is damaged, does not fit the size of the file, or holds no matrix of
        numbers.
    """
    where = clean_name(path.name, 60)
    with path.open("rb") as file:
        header = npy_header(file, None, where)
    check_numbers(header.dtype, where)
    check_matrix(header.shape, where)
    by_rows = observations == ROWS
    N, D = header.shape if by_rows else header.shape[::-1]
    width = fitting(BYTES_DENSE * D)
    label = clean_name(path.stem, 60)
    return NpySource(label, D, N, False, D * N, width, path, by_rows)
