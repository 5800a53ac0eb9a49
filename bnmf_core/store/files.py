"""Array files that are either there in full or not there: written aside, flushed, renamed."""

import json
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from bnmf_core.nouns.errors import StoreError


def write(path: Path, content: Callable[[BinaryIO], None]) -> None:
    """Let ``content`` write into a file beside ``path``, make it durable, then rename it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Threads that write the same content at once must not write into each other's file.
    aside = path.with_name(path.name + f".{os.getpid()}-{threading.get_ident()}.part")
    with aside.open("wb") as file:
        content(file)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write named arrays as one ``.npz``."""
    write(path, lambda file: np.savez(file, **arrays))


def write_array(path: Path, array: np.ndarray) -> None:
    """Write one array as ``.npy``, which can be memory-mapped."""
    write(path, lambda file: np.save(file, array))


def write_json(path: Path, value: Any) -> None:
    """Write plain values as JSON."""
    write(path, lambda file: file.write(json.dumps(value, default=str).encode()))


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read a ``.npz``; a torn or foreign file is a StoreError."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except Exception as error:  # a damaged archive can raise almost anything
        raise StoreError(f"The stored file {path.name} cannot be read: {error}.") from error


def read_array(path: Path) -> np.ndarray:
    """Memory-map a ``.npy`` read-only."""
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # a damaged header can raise almost anything
        raise StoreError(f"The stored file {path.name} cannot be read: {error}.") from error


def read_json(path: Path) -> Any:
    """Read plain values."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise StoreError(f"The stored file {path.name} cannot be read: {error}.") from error
