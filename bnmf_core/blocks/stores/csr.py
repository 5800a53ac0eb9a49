"""NPZ of scipy: a CSR matrix whose arrays lie uncompressed in the archive."""

import struct
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from bnmf_core.blocks.checks import opened
from bnmf_core.blocks.source import BYTES_SPARSE, fitting
from bnmf_core.blocks.stores.files import (
    ROWS,
    FileSource,
    Values,
    check_ends,
    check_matrix,
    check_numbers,
    check_rows,
    csr_rows,
)
from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_name
from bnmf_core.data.formats.arrays import Header, npy_header
from bnmf_core.numerics.matrix import Matrix

ARRAYS = ("data", "indices", "indptr")
MOST_MEMBERS = 64
# Before the name of a file in an archive; its last numbers are the lengths of name and extras.
LOCAL = struct.Struct("<4s22xHH")
ADVICE = "save it by scipy.sparse.save_npz(path, csr_array(X), compressed=False)"


@dataclass(frozen=True)
class CsrSource(FileSource):
    """A CSR matrix in an uncompressed NPZ file; its rows are the observations."""

    def read(self, first: int, stop: int) -> Matrix:
        """The observations (D, stop − first), sparse; see :class:`Source`."""
        data, indices, indptr = opened(self.path, self.stamp(), _values)
        return csr_rows(data, indices, indptr, (first, stop), self.D)


def _values(path: Path) -> list[Values]:
    return [Values(path, header) for header in _headers(path)[0]]


def _headers(path: Path) -> tuple[list[Header], tuple[int, ...]]:
    """Where the three arrays lie, and the shape of the matrix."""
    where = clean_name(path.name, 60)
    with path.open("rb") as file:
        try:
            archive = zipfile.ZipFile(file)
            entries = {one.filename: one for one in archive.infolist()}
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise DataError(f"{where} is cut off or damaged; save it again.") from error
        small = [_small(file, entries.get(f"{name}.npy"), where) for name in ("format", "shape")]
        kind = small[0].astype(str).tolist()
        if kind != "csr":
            raise DataError(
                f"{where} holds a matrix of the format {clean_name(kind, 20)!r}; only csr is read "
                f"by blocks, so {ADVICE}, with observations in rows."
            )
        if small[1].shape != (2,) or small[1].dtype.kind not in "iu" or small[1].min() < 0:
            raise DataError(f"{where} has a shape that is none of a matrix; {ADVICE}.")
        found = [_header(file, entries.get(f"{name}.npy"), where) for name in ARRAYS]
    return found, tuple(int(length) for length in small[1])


def _header(file: BinaryIO, entry: zipfile.ZipInfo | None, where: str) -> Header:
    if entry is None:
        raise DataError(f"{where} holds no sparse matrix of scipy; {ADVICE}.")
    if entry.compress_type != zipfile.ZIP_STORED:
        raise DataError(f"{where} is compressed, so that no block of it can be read; {ADVICE}.")
    file.seek(entry.header_offset)
    begin = file.read(LOCAL.size)
    if len(begin) < LOCAL.size or not begin.startswith(b"PK\x03\x04") or entry.flag_bits & 1:
        raise DataError(f"{where} is cut off or damaged; save it again.")
    _, name, extra = LOCAL.unpack(begin)
    file.seek(name + extra, 1)
    shown = clean_name(entry.filename.removesuffix(".npy"), 40)
    header = npy_header(file, entry.file_size, f"The array {shown!r} of {where}")
    if header.start + header.size > file.seek(0, 2):
        raise DataError(f"{where} is cut off or damaged; save it again.")
    return header


def _small(file: BinaryIO, entry: zipfile.ZipInfo | None, where: str) -> np.ndarray:
    """A word or a few numbers of the archive."""
    header = _header(file, entry, where)
    if header.size > 1000 or header.dtype.kind not in "SUiu":
        raise DataError(f"{where} holds no sparse matrix of scipy; {ADVICE}.")
    file.seek(header.start)
    return np.frombuffer(file.read(header.size), header.dtype).reshape(header.shape)


def open_csr(path: Path, observations: str = ROWS) -> CsrSource:
    """The source of a file that ``scipy.sparse.save_npz`` wrote with ``compressed=False``.

    Parameters
    ----------
    path : the file, of a CSR matrix (N, D). observations : "rows".

    Raises
    ------
    DataError
        When it is compressed, damaged, or holds another kind of matrix.
    """
    where = clean_name(path.name, 60)
    check_rows(observations, where, "save it transposed as CSR")
    headers, shape = _headers(path)
    check_matrix(shape, where)
    (N, D), (data, indices, indptr) = shape, headers
    check_numbers(data.dtype, where)
    if any(len(one.shape) != 1 for one in headers) or {indices.dtype.kind, indptr.dtype.kind} - {
        *"iu"
    }:
        raise DataError(f"{where} has arrays that are no sparse matrix; {ADVICE}.")
    check_ends(Values(path, indptr), N, data.shape[0], indices.shape[0], where)
    entries = data.shape[0]
    width = fitting(BYTES_SPARSE * entries / max(N, 1))
    return CsrSource(clean_name(path.stem, 60), D, N, True, entries, width, path)
