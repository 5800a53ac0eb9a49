"""Atomic writes of array files: to a temporary file, flushed, renamed."""

import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np

from bnmf_core.core.errors import DamagedError, StoreError
from bnmf_core.store import disk, integrity, quota

# Size in bytes from which a file is memory-mapped.
SMALLEST_MAPPED = 2**20
# Seconds without a write after which a temporary file is abandoned.
SILENT = 60.0
# Python 3.11 may fail to parse code while another thread does (python/cpython#106905).
TRIES = 5
Made = TypeVar("Made")
size_of = quota.size_of


def write(path: Path, content: Callable[[BinaryIO], object]) -> None:
    """Let ``content`` write into a file beside ``path``, make it durable, then rename it.

    Raises
    ------
    DiskError
        When it cannot be written; what was there stays.
    """
    try:
        _write(path, content)
    except OSError as error:
        raise disk.not_written(path, error) from error


def remove(path: Path) -> None:
    """Remove a file, if it is there.

    Raises
    ------
    DiskError
        When it cannot be removed.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise disk.not_written(path, error) from error


def _write(path: Path, content: Callable[[BinaryIO], object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Threads that write the same content at once must not write into each other's file.
    aside = path.with_name(path.name + f".{os.getpid()}-{threading.get_ident()}.part")
    try:
        with aside.open("w+b") as file:  # HDF5 reads what it wrote
            content(file)
            file.flush()
            quota.check_file(path, file.tell())
            os.fsync(file.fileno())
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)  # on a full disk, its room is needed
        raise


def sweep(folder: Path) -> int:
    """Remove temporary files of killed writers and return their number.

    A writer on another machine may share the folder, so recent files stay.
    """
    removed = 0
    for path in folder.rglob("*.part"):
        number = path.suffixes[-2:][0].lstrip(".").partition("-")[0]
        with suppress(OSError, ValueError):
            if time.time() - path.stat().st_mtime > SILENT and not _writes(int(number)):
                path.unlink()
                removed += 1
    return removed


def _writes(process: int) -> bool:
    """Whether a process of this machine, other than this one, exists."""
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def hand_over(path: Path, what: str, content: Callable[[BinaryIO], object]) -> None:
    """:func:`write` a file for the user; ``what`` names it in an error.

    Raises
    ------
    StoreError
        Naming the file, when it cannot be written.
    """
    try:
        _write(path, content)
    except OSError as error:
        raise StoreError(
            f"The {what} {str(path)!r} cannot be written: {disk.reason(error)}."
        ) from error


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write named arrays as one ``.npz``."""
    write(path, lambda file: np.savez(file, allow_pickle=False, **arrays))


def write_array(path: Path, array: np.ndarray) -> None:
    """Write one array as ``.npy``, which can be memory-mapped."""
    write(path, lambda file: np.save(file, array))


def write_json(path: Path, value: object) -> None:
    """Write plain values as JSON with a checksum."""
    text = integrity.sealed(value).encode()
    write(path, lambda file: file.write(text))


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read a ``.npz``; a damaged or foreign file raises a StoreError."""
    try:
        return _tried(lambda: _arrays(path))
    except Exception as error:  # a damaged archive can raise almost anything
        raise _unreadable(path, error) from error


def read_array(path: Path, mapped: bool = False) -> np.ndarray:
    """Read a ``.npy``, read-only; memory-map it if it is large or ``mapped``.

    A memory map holds its file open.
    """
    try:
        if mapped or path.stat().st_size >= SMALLEST_MAPPED:
            return _tried(lambda: np.load(path, mmap_mode="r", allow_pickle=False))
        array = _tried(lambda: np.load(path, allow_pickle=False))
        array.flags.writeable = False
        return array
    except Exception as error:  # a damaged header can raise almost anything
        raise _unreadable(path, error) from error


def _arrays(path: Path) -> dict[str, np.ndarray]:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def _tried(read: Callable[[], Made]) -> Made:
    """Call NumPy, which parses headers as Python code; see ``TRIES``."""
    for _ in range(TRIES - 1):
        with suppress(SystemError):
            return read()
    return read()


def read_json(path: Path) -> Any:
    """Read plain values that :func:`write_json` has written.

    Raises
    ------
    StoreError
        When the file is missing. DamagedError: when it is damaged.
    """
    try:
        return integrity.unsealed(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> StoreError:
    kind = StoreError if isinstance(error, OSError) else DamagedError
    # NumPy suggests allow_pickle for a file that is no array.
    reason = "it holds no array" if "allow_pickle" in str(error) else str(error).rstrip(".")
    return kind(f"The stored file {path.name} cannot be read: {reason}.")
