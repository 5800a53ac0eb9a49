"""What one owner may keep: told where runs are started, held wherever their results are written."""

import stat
import time
from contextlib import suppress
from pathlib import Path

from bnmf_core.core.errors import StoreError

# Of these it is known before they begin what they will take.
ALLOWED_BEFORE = ("runs", "datasets")
# Seconds for which the size of a folder is believed, as long as nothing is refused for it.
FRESH = 5.0
_most: dict[Path, int] = {}
_known: dict[Path, tuple[float, int]] = {}


def size_of(folder: Path) -> int:
    """Bytes of all files in a folder, each once; what is removed meanwhile counts nothing."""
    found: dict[tuple[int, int], int] = {}
    for path in folder.rglob("*"):
        with suppress(OSError):  # it may be removed at this moment
            status = path.stat()
            if stat.S_ISREG(status.st_mode):  # equal results of several comparisons are one file
                found[status.st_dev, status.st_ino] = status.st_size
    return sum(found.values())


def limit(root: Path, most: int) -> None:
    """Let this store hold so many bytes at most."""
    _most[root.absolute()] = most


def check(root: Path, further: int) -> None:
    """Refuse so many bytes more in a store if they are too many.

    Raises
    ------
    StoreError
        Naming what is kept, what it would come to, and what is allowed.
    """
    most = _most.get(root.absolute(), 0)
    if most and (kept := size_of(root)) + further > most:
        raise StoreError(
            f"What you keep here is {_said(kept)}; with {_said(further)} more it would exceed the "
            f"{_said(most)} that everybody may keep. Delete runs that you do not need, on the "
            "page Runs, and free their space there."
        )


def check_file(path: Path, further: int) -> None:
    """:func:`check` a file that is about to be written into one of the folders of a store."""
    root = next((parent for parent in path.absolute().parents if _most.get(parent)), None)
    if root is None or (parts := path.absolute().relative_to(root).parts)[0] in ALLOWED_BEFORE:
        return
    if len(parts) == 1:  # what is beside the folders is the store's own
        return
    when, kept = _known.get(root, (0.0, 0))
    if time.monotonic() - when > FRESH or kept + further > _most[root]:
        when, kept = time.monotonic(), size_of(root)
        check(root, further)
    _known[root] = when, kept + further


def _said(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{size / 1e3:,.1f} kB"
