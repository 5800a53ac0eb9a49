"""One BLAS thread while shards run: they already use every core between them.

A fixed thread count also keeps results equal bit for bit. ``threadpoolctl`` sets a limit for
the whole process, so overlapping users are counted: the first sets it, the last lifts it.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import scipy.linalg  # noqa: F401  (its BLAS must be loaded before the controller looks)
from threadpoolctl import OpenBLASController, ThreadpoolController

_lock = threading.Lock()
_users = 0
_limit: Any = None


def worker_count() -> int:
    """Number of steps of runs made in parallel: ``BNMF_WORKERS``, else one for each core."""
    value = os.environ.get("BNMF_WORKERS", "").strip()
    if value.isdigit() and int(value) >= 1:
        return int(value)
    try:
        return len(os.sched_getaffinity(0))  # those that this process may use
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold every BLAS library to one thread until the last holder leaves."""
    global _users, _limit
    with _lock:
        _users += 1
        if _users == 1:
            _clear_control()
            _limit = _controller().limit(limits=1, user_api="blas")
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0 and _limit is not None:
                _clear_control()
                _limit.restore_original_limits()
                _clear_control()


def _clear_control() -> None:
    # threadpoolctl listens to the first thread that sets a limit and ignores the others; here
    # the thread that lifts the limit is often not the one that set it.
    OpenBLASController.clear_controlling_thread(force=True)
