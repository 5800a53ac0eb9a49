"""List the stores in folders, and preview a store."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from bnmf_core.blocks.source import Blocks, Source
from bnmf_core.numerics.matrix import dense, stored

SUFFIXES = (".npy", ".npz", ".h5ad", ".zarr", ".parquet")
FOLDERS = (".zarr", ".parquet")
# Largest numbers of listed stores, and of visited files and folders.
MOST, MOST_SEEN = 500, 50_000
# Rows and columns of a preview.
ROWS, COLUMNS = 8, 8


@dataclass(frozen=True, eq=False)
class Preview:
    """Preview of a store from its first block.

    D, N : features and observations. count : blocks. share : of entries above 0 in the first block.
    size : bytes on the disk. observations, features : names of those shown, "" for none.
    corner : (observations, features), the first entries.
    """

    D: int
    N: int
    count: int
    share: float
    size: int
    observations: tuple[str, ...]
    features: tuple[str, ...]
    corner: np.ndarray


def stores_in(folders: Sequence[Path]) -> list[str]:
    """Paths of the files, and folders of Zarr and Parquet, that may be stores, in order.

    Links to folders and hidden folders are skipped. Parquet files whose names differ only in
    numbers form one table, listed as their folder.
    """
    found = islice((path for folder in folders for path in _below(folder)), MOST_SEEN)
    fitting = (
        path for path in found if Path(path).suffix.lower() in SUFFIXES or os.path.isdir(path)
    )
    return sorted(set(islice(fitting, MOST)))


def _below(folder: Path) -> Iterator[str]:
    for parent, names, files in os.walk(folder):
        arrays = [name for name in names if name.lower().endswith(FOLDERS)]
        names[:] = sorted(name for name in names if name not in arrays and name[:1] != ".")
        if _is_one_table(files):
            yield parent
        else:
            yield from (os.path.join(parent, name) for name in sorted([*arrays, *files]))


def _is_one_table(files: Sequence[str]) -> bool:
    """Whether these Parquet files form one table: their names differ only in numbers."""
    parts = [name for name in files if name.lower().endswith(".parquet")]
    return len(parts) > 1 and len({re.sub(r"\d+", "", name) for name in parts}) == 1


def size_on_disk(path: Path) -> int:
    """Bytes of a file or of all files in a folder; 0 if it is missing."""
    try:
        if not path.is_dir():
            return path.stat().st_size
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    except OSError:
        return 0


def preview(source: Source, path: Path) -> Preview:
    """Preview the first block of a store.

    Raises
    ------
    DataError
        When it is empty, or its first block cannot be read.
    """
    blocks = Blocks.of(source)
    X = blocks.read(0)
    corner = dense(X[:COLUMNS, :ROWS]).T
    shown = np.arange(min(ROWS, blocks.N))
    features = (source.features or ())[:COLUMNS]
    share = np.count_nonzero(stored(X)) / (X.shape[0] * X.shape[1])
    size = size_on_disk(path)
    names = blocks.names(shown[: X.shape[1]]) or ()
    return Preview(source.D, source.N, blocks.count, share, size, names, features, corner)
