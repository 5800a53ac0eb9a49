"""H5AD: the matrix X of AnnData in an HDF5 file, dense or by rows, read where the rows lie."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bnmf_core.blocks.checks import in_columns
from bnmf_core.blocks.source import BYTES_DENSE, BYTES_SPARSE, fitting, steps
from bnmf_core.blocks.stores.files import (
    ROWS,
    FileSource,
    check_ends,
    check_matrix,
    check_numbers,
    check_rows,
    csr_rows,
)
from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_name
from bnmf_core.data.formats.hdf5 import index_of, inside
from bnmf_core.lazy import lazy
from bnmf_core.numerics.matrix import Matrix

h5py = lazy("h5py")
HDF5 = b"\x89HDF"
PARTS = ("X/data", "X/indices", "X/indptr")
BY_ROWS = "store it by rows, with adata.X = scipy.sparse.csr_matrix(adata.X), and write it again"


@dataclass(frozen=True)
class H5adSource(FileSource):
    """The matrix X of an H5AD file; observations are its rows (obs).

    ``chunked``: whether its rows lie in chunks of ``width``, which are read whole.
    """

    chunked: bool

    @property
    def features(self) -> tuple[str, ...] | None:
        """The index of var, read from the file."""
        with _open(self.path) as file:
            return _names(file, "var", 0, self.D)

    @property
    def pieces(self) -> tuple[int, ...] | None:
        """The chunks of a dense X."""
        return steps(self.N, self.width) if self.chunked else None

    def names(self, first: int, stop: int) -> tuple[str, ...] | None:
        """Of the index of obs, those from ``first`` to before ``stop``."""
        with _open(self.path) as file:
            return _names(file, "obs", first, stop)

    def read(self, first: int, stop: int) -> Matrix:
        """The observations (D, stop − first), sparse where X is; see :class:`Source`."""
        # Opened for each read: HDF5 shows what it remembers of a file that is open while another
        # program writes it, and lets nobody in this process write it.
        with _open(self.path) as file:
            if not self.sparse:
                return in_columns(inside(file, "X")[first:stop].T)
            data, indices, indptr = (inside(file, name) for name in PARTS)
            return csr_rows(data, indices, indptr, (first, stop), self.D)


def _open(path: Path) -> Any:
    # A lock would keep others from writing, and network disks have none; stamps tell a change.
    return h5py.File(path, "r", locking=False)


def _names(file: Any, group: str, first: int, stop: int) -> tuple[str, ...] | None:
    found = inside(file, f"{group}/{index_of(file, group)}")
    if not isinstance(found, h5py.Dataset) or found.ndim != 1 or found.size < stop:
        return None
    if h5py.check_string_dtype(found.dtype) is not None:
        return tuple(str(word) for word in found.asstr()[first:stop])
    if found.dtype.kind not in "iuS":
        return None
    return tuple(
        word.decode(errors="replace") if isinstance(word, bytes) else str(word)
        for word in found[first:stop].tolist()
    )


def open_h5ad(path: Path, observations: str = ROWS) -> H5adSource:
    """The source of the matrix X of an H5AD file.

    Parameters
    ----------
    path : the file. observations : "rows", as AnnData has them.

    Raises
    ------
    DataError
        When the file is damaged, X is stored by columns or lies in another file, or there is none.
    """
    where = clean_name(path.name, 60)
    check_rows(observations, where, "AnnData has its observations (obs) in rows")
    try:
        file = _open(path)
    except OSError as error:
        raise DataError(f"{where} is cut off or damaged; write it again.") from error
    with file:
        X = inside(file, "X")
        if X is None:
            raise DataError(f"{where} holds no matrix X as AnnData has it; write it by AnnData.")
        label = clean_name(path.stem, 60)
        if isinstance(X, h5py.Dataset):
            check_numbers(X.dtype, where)
            check_matrix(X.shape, where)
            N, D = X.shape
            width = fitting(BYTES_DENSE * D) if X.chunks is None else min(X.chunks[0], max(N, 1))
            for name in ("obs", "var"):
                _names(file, name, 0, 0)  # refused where they lie in another file
            return H5adSource(label, D, N, False, D * N, width, path, X.chunks is not None)
        kind = clean_name(X.attrs.get("encoding-type", X.attrs.get("h5sparse_format", "csr")), 40)
        if kind.startswith("csc"):
            raise DataError(f"{where} stores X by columns (csc); {BY_ROWS}.")
        data, indices, indptr = parts = [inside(file, name) for name in PARTS]
        if not kind.startswith("csr") or not all(isinstance(p, h5py.Dataset) for p in parts):
            raise DataError(f"{where} stores X as {kind!r}; dense and csr are read, so {BY_ROWS}.")
        shape = X.attrs.get("shape", X.attrs.get("h5sparse_shape"))
        if shape is None or len(shape) != 2 or any(part.ndim != 1 for part in parts):
            raise DataError(f"{where} has no shape of a matrix at X; write it again by AnnData.")
        check_numbers(data.dtype, where)
        if any(part.dtype.kind not in "iu" for part in (indices, indptr)):
            raise DataError(f"{where} has indices of X that are no whole numbers; write it again.")
        N, D = (int(length) for length in shape)
        check_ends(indptr, N, data.size, indices.size, where)
        for name in ("obs", "var"):
            _names(file, name, 0, 0)
        width = fitting(BYTES_SPARSE * data.size / max(N, 1))
        return H5adSource(label, D, N, True, int(data.size), width, path, False)
