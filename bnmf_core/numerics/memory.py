"""Memory that heavy work has left, and memory that begins at a line of the cache."""

import ctypes
import mmap
import sys
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

# Bytes of a line of the cache: a vector that straddles two takes twice as long to read.
LINE = 64


def give_back() -> None:
    """Return free memory to the system, where the C library keeps it by default.

    The GNU one does, since a program asks for as much again more often than not; one that waits for
    people for hours does not.
    """
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Any:
    if not sys.platform.startswith("linux"):
        return None
    return getattr(ctypes.CDLL(None), "malloc_trim", None)


def aligned(shape: tuple[int, ...], kind: np.dtype[Any]) -> np.ndarray:
    """Memory that begins at a line of the cache."""
    size = int(np.prod(shape))
    memory = np.empty(size + LINE // kind.itemsize, kind)
    skipped = -memory.ctypes.data % LINE // kind.itemsize
    return memory[skipped : skipped + size].reshape(shape)


def in_lines(matrix: np.ndarray) -> np.ndarray:
    """A copy of a matrix (n, k) whose rows begin at lines of the cache, zeros after their ends."""
    each = LINE // matrix.itemsize
    result = aligned((matrix.shape[0], -(-matrix.shape[1] // each) * each), matrix.dtype)
    result[:, : matrix.shape[1]] = matrix
    result[:, matrix.shape[1] :] = 0.0
    return result


def let_go(arrays: Iterable[np.ndarray]) -> None:
    """Give back what is in memory of arrays that are mapped from files; they are read again."""
    for array in arrays:
        part: object = array
        while isinstance(part, np.ndarray):
            part = part.base
        if isinstance(part, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            part.madvise(mmap.MADV_DONTNEED)
