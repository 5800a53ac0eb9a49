"""Where a stored X lies, so that another process or machine maps it instead of receiving it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bnmf_core.core.errors import StoreError
from bnmf_core.numerics.matrix import Matrix
from bnmf_core.store import files, integrity

# What is read of X to tell it from another one: so many pieces, evenly spaced, of so many entries.
PIECES, ENTRIES = 256, 8192


@dataclass(frozen=True)
class Mapped:
    """A dense X of the store.

    Attributes
    ----------
    path : its file; the folder has the dataset's id for a name.
    shape : (D, N). strides : of its file, in bytes.
    kept : the checksum of all of X that was recorded when it was stored.
    sampled : the checksum of at most 16 MB of it, in pieces from end to end.
    """

    path: Path
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    kept: int
    sampled: int

    @classmethod
    def of(cls, X: Matrix) -> "Mapped | None":
        """Where this X lies; None where it is not, whole, a file of a store."""
        if not isinstance(X, np.memmap) or X.filename is None:
            return None
        try:
            path = Path(X.filename).absolute()
            meta = _recorded(path)
            there = files.read_array(path, mapped=True)
        except StoreError:
            return None
        found = _described(path, there, meta)
        whole = X.shape == there.shape and X.strides == there.strides
        return found if found is not None and whole and _sampled(X) == found.sampled else None

    def open(self) -> np.ndarray:
        """X as it lies there, memory-mapped.

        Raises
        ------
        StoreError
            When the file is not there, or is not this one: its shape, the checksum that was
            recorded beside it, or that of the pieces of it that are read is another.
        """
        X = files.read_array(self.path, mapped=True)
        if _described(self.path, X, _recorded(self.path)) != self:
            raise StoreError(f"The file {str(self.path)!r} holds other data than those expected.")
        return X


def _recorded(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = files.read_json(path.parent / "meta.json")
    return found


def _described(path: Path, X: np.ndarray, meta: dict[str, Any]) -> Mapped | None:
    kept = meta.get("sum")
    if kept is None or X.dtype != np.float64:
        return None
    return Mapped(path, X.shape, X.strides, kept, _sampled(X))


def _sampled(X: np.ndarray) -> int:
    entries = np.ravel(X, order="K")  # as it lies: nothing is copied
    if entries.size <= PIECES * ENTRIES:
        return integrity.checksum(entries)
    starts = np.linspace(0, entries.size - ENTRIES, PIECES).astype(np.int64)
    return integrity.checksum(np.concatenate([entries[at : at + ENTRIES] for at in starts]))
