"""Registry of stores that are read in blocks."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bnmf_core.blocks.source import Source
from bnmf_core.blocks.stores import csr, h5ad, npy, parquet, zarr
from bnmf_core.blocks.stores.files import COLUMNS, ROWS
from bnmf_core.core.errors import DataError, NotFoundError
from bnmf_core.core.names import clean_name, listed


@dataclass(frozen=True)
class Store:
    """A store format.

    Attributes
    ----------
    words : its name in a sentence. recognises : (path, first bytes) → whether it has this format.
    open : (path, axis of observations) → source.
    """

    words: str
    recognises: Callable[[Path, bytes], bool]
    open: Callable[[Path, str], Source]


# In the order of recognition.
STORES: dict[str, Store] = {
    "npy": Store("NPY", lambda _, head: head.startswith(npy.MAGIC), npy.open_npy),
    "csr": Store(
        "CSR of scipy (NPZ)", lambda _, head: head.startswith(b"PK\x03\x04"), csr.open_csr
    ),
    "h5ad": Store("H5AD", lambda _, head: head.startswith(h5ad.HDF5), h5ad.open_h5ad),
    "zarr": Store("Zarr (a folder)", lambda path, _: zarr.recognises(path), zarr.open_zarr),
    "parquet": Store(
        "Parquet (a file, or a folder of files)", parquet.recognises, parquet.open_parquet
    ),
}


def open_source(path: str | Path, observations: str = ROWS) -> Source:
    """Open a store on disk; its content determines the format.

    Parameters
    ----------
    path : a file, or a folder of Zarr. observations : in "rows" or "columns".

    Raises
    ------
    NotFoundError
        When the path does not exist.
    DataError
        When the format is unknown or the store cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/counts.npy", np.ones((100, 3)))
    ...     source = open_source(f"{folder}/counts.npy")
    ...     source.D, source.N, source.label
    (3, 100, 'counts')
    """
    path = Path(path).absolute()
    shown = clean_name(path.name, 60)
    if observations not in (ROWS, COLUMNS):
        raise DataError(
            f"The observations were said to be in {clean_name(observations, 40)!r}; they are in "
            "'rows' or 'columns'."
        )
    if not path.exists():
        raise NotFoundError(f"There is no file or folder {shown!r}; check the path.")
    try:
        head = b""
        if path.is_file():
            with path.open("rb") as file:
                head = file.read(16)
        for store in STORES.values():
            if store.recognises(path, head):
                return store.open(path, observations)
    except OSError as error:
        raise DataError(f"{shown} cannot be read now; check the file and its rights.") from error
    raise DataError(
        f"{shown} is of no kind that is read by blocks; allowed are "
        f"{listed(store.words for store in STORES.values())}."
    )
