"""Zarr, versions 2 and 3: one array, or the matrix X of AnnData, in a folder on disk."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bnmf_core.blocks.checks import in_columns, opened, stamp_of
from bnmf_core.blocks.source import BYTES_SPARSE, fitting, steps
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
from bnmf_core.lazy import lazy
from bnmf_core.numerics.matrix import Matrix

library = lazy("zarr")
# The first belongs to groups and arrays of version 3, the others to version 2.
METADATA = ("zarr.json", ".zarray", ".zgroup", ".zattrs")
PARTS = ("data", "indices", "indptr")
CODED = ("compressor", "filters", "codecs", "index_codecs")
# No other codec is allowed: pickle, for example, executes code.
_CODECS = """
    adler32 astype bitround blosc bytes bz2 crc32 crc32c delta endian fixedscaleoffset fletcher32
    gzip lz4 lzma packbits quantize sharding_indexed shuffle transpose vlen-utf8 zlib zstd
"""
CODECS = frozenset(_CODECS.split())
BY_ROWS = "store it by rows, with adata.X = scipy.sparse.csr_matrix(adata.X), and write it again"


@dataclass(frozen=True)
class ZarrSource(FileSource):
    """A matrix in a folder of Zarr.

    ``at``: the path of the matrix in it, "" for the array itself. ``by_rows``: whether its rows
    are the observations. ``width`` is that of a chunk, or of a shard.
    """

    at: str
    by_rows: bool

    @property
    def features(self) -> tuple[str, ...] | None:
        """The index of var, read from the folder."""
        return self._names("var", 0, self.D)

    @property
    def pieces(self) -> tuple[int, ...] | None:
        """The chunks of a dense matrix."""
        return None if self.sparse else steps(self.N, self.width)

    def names(self, first: int, stop: int) -> tuple[str, ...] | None:
        """Of the index of obs, those from ``first`` to before ``stop``."""
        return self._names("obs", first, stop)

    def read(self, first: int, stop: int) -> Matrix:
        """The observations (D, stop − first), sparse where X is; see :class:`Source`."""
        root = self._root()
        if self.sparse:
            data, indices, indptr = (root[f"{self.at}/{name}"] for name in PARTS)
            return csr_rows(data, indices, indptr, (first, stop), self.D)
        X = root[self.at] if self.at else root
        return in_columns(X[first:stop].T if self.by_rows else X[:, first:stop])

    def stamp(self) -> str:
        """Modification times of the metadata and the folders of chunks.

        Zarr replaces chunk files, which changes their folder. A chunk that another program changes
        in place is not noticed.
        """
        top = (self.path / name for name in METADATA)
        inner = _written(self.path / self.at) if self.at else _written(self.path)
        return stamp_of([path for path in (*top, *inner) if path.exists()] or [self.path])

    def _root(self) -> Any:
        return opened(self.path, self.stamp(), _open)

    def _names(self, group: str, first: int, stop: int) -> tuple[str, ...] | None:
        if not self.at:
            return None
        root = self._root()
        found = _inside(root, group)
        index = None if found is None else found.attrs.get("_index", "_index")
        array = _inside(root, f"{group}/{index}")
        if not isinstance(array, library.Array) or array.ndim != 1 or array.shape[0] < stop:
            return None
        return tuple(str(word) for word in array[first:stop].tolist())


def _written(folder: Path) -> Iterator[Path]:
    for parent, _, files in os.walk(folder):
        yield Path(parent)
        yield from (Path(parent, name) for name in METADATA if name in files)


def _open(path: Path) -> Any:
    store = library.storage.LocalStore(path, read_only=True)
    return library.open(store=store, mode="r", **_plain(path))


def _plain(path: Path) -> dict[str, Any]:
    """Options that disable unchecked consolidated metadata of a group."""
    three = path / "zarr.json"
    kind = json.loads(three.read_text()).get("node_type") if three.exists() else ""
    return {"use_consolidated": False} if kind == "group" or (path / ".zgroup").exists() else {}


def _inside(root: Any, path: str) -> Any:
    try:
        return root[path]
    except KeyError:
        return None


def _check_folder(path: Path, where: str) -> None:
    """Refuse links and codecs that are not known to be safe."""
    for parent, folders, files in os.walk(path):
        for name in (*folders, *files):
            if Path(parent, name).is_symlink():
                raise DataError(
                    f"{where} holds a link, {clean_name(name, 40)!r}, which is never followed; "
                    "copy what it leads to into the folder."
                )
        for name in METADATA[:2]:
            if name in files:
                _check_codecs(json.loads(Path(parent, name).read_text()), where)


def _check_codecs(metadata: Any, where: str, coded: bool = False) -> None:
    if isinstance(metadata, list):
        for one in metadata:
            _check_codecs(one, where, coded)
    elif isinstance(metadata, dict) or (coded and isinstance(metadata, str)):
        metadata = {"name": metadata} if isinstance(metadata, str) else metadata
        name = metadata.get("id", metadata.get("name"))
        if coded and name not in CODECS:
            raise DataError(
                f"{where} is packed by the codec {clean_name(name, 40)!r}, which is not opened; "
                "write it again with blosc, gzip or zstd."
            )
        for key, inner in metadata.items():
            if key in CODED or isinstance(inner, dict | list):
                _check_codecs(inner, where, key in CODED)


def recognises(path: Path) -> bool:
    """Whether the path is a folder of Zarr."""
    return path.is_dir() and any((path / name).exists() for name in METADATA[:3])


def open_zarr(path: Path, observations: str = ROWS) -> ZarrSource:
    """The source of a folder of Zarr, with one array or with what AnnData wrote.

    Parameters
    ----------
    path : the folder. observations : "rows" for an array (N, D), "columns" for one (D, N); AnnData
        has them in rows.

    Raises
    ------
    DataError
        When the package zarr is not installed, the folder is damaged, holds links or an unusual
        codec, or X is stored by columns.
    """
    where = clean_name(path.name, 60)
    try:
        _check_folder(path, where)
        return _opened(path, observations, where)
    except DataError:
        raise
    except ModuleNotFoundError as error:
        raise DataError(
            f"{where} is a folder of Zarr, for which the package zarr is needed; install it with "
            "pip install 'zarr>=3,<4'."
        ) from error
    # Foreign metadata can fail in any way.
    except Exception as error:
        raise DataError(f"{where} is cut off or damaged; write it again.") from error


def _opened(path: Path, observations: str, where: str) -> ZarrSource:
    label, root = clean_name(path.stem, 60), _open(path)
    if isinstance(root, library.Array):
        return _dense(path, label, root, "", observations == ROWS)
    check_rows(observations, where, "AnnData has its observations (obs) in rows")
    X = _inside(root, "X")
    if X is None:
        raise DataError(f"{where} holds no matrix X as AnnData has it; write it by AnnData.")
    if isinstance(X, library.Array):
        return _dense(path, label, X, "X", True)
    kind = clean_name(X.attrs.get("encoding-type", ""), 40)
    if kind != "csr_matrix":
        raise DataError(f"{where} stores X as {kind!r}; dense and csr are read, so {BY_ROWS}.")
    data, indices, indptr = (X[name] for name in PARTS)
    N, D = (int(length) for length in X.attrs["shape"])
    check_numbers(data.dtype, where)
    if any(part.dtype.kind not in "iu" or part.ndim != 1 for part in (indices, indptr)):
        raise DataError(f"{where} has indices of X that are no whole numbers; write it again.")
    check_ends(indptr, N, data.shape[0], indices.shape[0], where)
    entries = int(data.shape[0])
    width = fitting(BYTES_SPARSE * entries / max(N, 1))
    return ZarrSource(label, D, N, True, entries, width, path, "X", True)


def _dense(path: Path, label: str, X: Any, at: str, by_rows: bool) -> ZarrSource:
    where = clean_name(path.name, 60)
    check_matrix(X.shape, where)
    check_numbers(X.dtype, where)
    N, D = X.shape if by_rows else X.shape[::-1]
    width = (X.shards or X.chunks)[0 if by_rows else 1]
    return ZarrSource(label, D, N, False, D * N, max(1, min(width, N)), path, at, by_rows)
