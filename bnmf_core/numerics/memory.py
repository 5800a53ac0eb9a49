"""Memory that heavy work has left."""

import ctypes
import sys
from functools import cache
from typing import Any


def give_back() -> None:
    """Give what is free to the system again, where the C library keeps it unless it is told.

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
