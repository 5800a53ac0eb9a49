"""The file of a stored X, which another process or machine can memory-map."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bnmf_core.core.errors import StoreError
from bnmf_core.numerics.matrix import Matrix
from bnmf_core.store import files, integrity

# Number of evenly spaced pieces for the checksum of a sample of X, and entries of a piece.
PIECES, ENTRIES = 256, 8192


@dataclass(frozen=True)
class Mapped:
    """A dense X of the store.

    Attributes
    ----------
    path : its file; the folder has the dataset's id for a name.
    shape : (D, N). strides : of its file, in bytes.
    checksum : of all of X, recorded when it was stored.
    sampled : checksum of at most 16 MB of it, in evenly spaced pieces.
    """

    path: Path
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    checksum: int
    sampled: int

    @classmethod
    def of(cls, X: Matrix) -> "Mapped | None":
        """The file of this X; None if it is not a whole file of a store."""
        if not isinstance(X, np.memmap) or X.filename is None:
            return None
        try:
            path = Path(X.filename).absolute()
            meta = _recorded(path)
            stored = files.read_array(path, mapped=True)
        except StoreError:
            return None
        found = _described(path, stored, meta)
        whole = X.shape == stored.shape and X.strides == stored.strides
        return found if found is not None and whole and _sampled(X) == found.sampled else None

    def open(self) -> np.ndarray:
        """Memory-map X.

        Raises
        ------
        StoreError
            When the file is missing, or its shape or a checksum differs.
        """
        X = files.read_array(self.path, mapped=True)
        if _described(self.path, X, _recorded(self.path)) != self:
            raise StoreError(f"The file {str(self.path)!r} holds other data than those expected.")
        return X


def _recorded(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = files.read_json(path.parent / "meta.json")
    return found


def _described(path: Path, X: np.ndarray, meta: dict[str, Any]) -> Mapped | None:
    checksum = meta.get("sum")
    if checksum is None or X.dtype != np.float64:
        return None
    return Mapped(path, X.shape, X.strides, checksum, _sampled(X))


def _sampled(X: np.ndarray) -> int:
    entries = np.ravel(X, order="K")  # as it lies: nothing is copied
    if entries.size <= PIECES * ENTRIES:
        return integrity.checksum(entries)
    starts = np.linspace(0, entries.size - ENTRIES, PIECES).astype(np.int64)
    return integrity.checksum(np.concatenate([entries[at : at + ENTRIES] for at in starts]))
