"""Disk quota of one owner, checked when runs start and when results are written."""

import stat
import time
from contextlib import suppress
from pathlib import Path

from bnmf_core.core.errors import StoreError

# The size of these is known in advance.
ALLOWED_BEFORE = ("runs", "datasets")
# Seconds for which the size of a folder is cached, unless a write would exceed the limit.
FRESH = 5.0
_most: dict[Path, int] = {}
_known: dict[Path, tuple[float, int]] = {}


def size_of(folder: Path) -> int:
    """Bytes of all files in a folder, hard links counted once."""
    found: dict[tuple[int, int], int] = {}
    for path in folder.rglob("*"):
        with suppress(OSError):  # it may be removed at this moment
            status = path.stat()
            if stat.S_ISREG(status.st_mode):  # equal results of several comparisons are one file
                found[status.st_dev, status.st_ino] = status.st_size
    return sum(found.values())


def limit(root: Path, most: int) -> None:
    """Set the limit of a store in bytes."""
    _most[root.absolute()] = most


def check(root: Path, further: int) -> None:
    """Refuse further bytes in a store if they exceed its limit.

    Raises
    ------
    StoreError
        When they do; the message states the sizes.
    """
    most = _most.get(root.absolute(), 0)
    if most and (size := size_of(root)) + further > most:
        raise StoreError(
            f"What you keep here is {_size(size)}; with {_size(further)} more it would exceed the "
            f"{_size(most)} that everybody may keep. Delete runs that you do not need, on the "
            "page Runs, and free their space there."
        )


def check_file(path: Path, further: int) -> None:
    """:func:`check` a file that is about to be written into one of the folders of a store."""
    root = next((parent for parent in path.absolute().parents if _most.get(parent)), None)
    if root is None or (parts := path.absolute().relative_to(root).parts)[0] in ALLOWED_BEFORE:
        return
    if len(parts) == 1:  # a file of the store itself
        return
    when, size = _known.get(root, (0.0, 0))
    if time.monotonic() - when > FRESH or size + further > _most[root]:
        when, size = time.monotonic(), size_of(root)
        check(root, further)
    _known[root] = when, size + further


def _size(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{size / 1e3:,.1f} kB"
