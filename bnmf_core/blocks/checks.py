"""Validation of blocks, and access to the files of stores."""

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from bnmf_core.core.errors import DataError
from bnmf_core.numerics.matrix import Matrix, is_sparse, stored

# Files that a thread holds open at a time.
MOST_OPEN = 8
_HELD = threading.local()


def check_block(
    X: Matrix, shape: tuple[int, int], as_sparse: bool, where: str, first: int = 0
) -> None:
    """Check the shape of a block, and that its values are finite and ≥ 0.

    Parameters
    ----------
    X : the block. shape : expected shape. as_sparse : whether it must be sparse. where : the block,
    to begin a sentence. first : number of its first observation, from 0.

    Raises
    ------
    DataError
        At the first fault.
    """
    if X.shape[0] != shape[0]:
        raise DataError(
            f"{where} has {X.shape[0]:,} features, but the other blocks have {shape[0]:,}; give "
            "every block the same features."
        )
    if X.shape != shape:
        raise DataError(
            f"{where} has {X.shape[1]:,} observations, but {shape[1]:,} were expected; write the "
            "store again."
        )
    if X.dtype != np.float64 or is_sparse(X) != as_sparse:
        kind = "sparse" if is_sparse(X) else "dense"
        raise DataError(
            f"{where} is {kind} and of type {X.dtype}, but a {'sparse' if as_sparse else 'dense'} "
            "block of type float64 is needed; read the store with another reader."
        )
    values = stored(X)
    with np.errstate(invalid="ignore"):
        if values.min(initial=0.0) >= 0 and values.max(initial=0.0) < np.inf:
            return
    for bad, words, advice in (
        (np.isnan(values), "that is not a number", "fill it in, or leave the observation out"),
        (np.isinf(values), "that is infinite", "replace it by a finite number"),
        (values < 0, "that is negative", "every value must be a finite number ≥ 0"),
    ):
        if not bad.any():
            continue
        if is_sparse(X):
            at = int(np.flatnonzero(bad)[0])
            d, n = int(X.indices[at]), int(np.searchsorted(X.indptr, at, side="right") - 1)
        else:
            d, n = (int(place) for place in np.argwhere(bad)[0])
        raise DataError(
            f"{where} holds a value {words}, of feature {d + 1:,} and observation "
            f"{first + n + 1:,}; {advice}."
        )


def columns(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, D: int) -> sparse.csc_array:
    """Build observations (D, n) from CSC arrays; DataError if these do not fit.

    Duplicate entries are added, and zeros are dropped.
    """
    indptr = np.asarray(indptr, dtype=np.int64)
    indptr = indptr - indptr[0]
    fits = data.size == indices.size == indptr[-1] and bool((np.diff(indptr) >= 0).all())
    if not fits or (indices.size and (indices.min() < 0 or indices.max() >= D)):
        raise DataError("its indices do not fit the shape of the matrix")
    small = max(D, indices.size) < 2**31
    kind: Any = np.int32 if small else np.int64
    X = sparse.csc_array(
        (np.array(data, dtype=np.float64), np.array(indices, dtype=kind), indptr.astype(kind)),
        shape=(D, indptr.size - 1),
    )
    X.sum_duplicates()
    X.eliminate_zeros()
    return X


def in_columns(X: np.ndarray) -> np.ndarray:
    """A column-major copy (D, n) in double precision."""
    return np.array(X, dtype=np.float64, order="F")


def stamp_of(paths: Iterable[Path]) -> str:
    """Sizes and modification times of files, which change when they are rewritten."""
    found = (path.stat() for path in paths)
    return " ".join(f"{one.st_size}-{one.st_mtime_ns}" for one in found)


def opened(path: Path, stamp: str, opener: Callable[[Path], Any]) -> Any:
    """Open a path, cached per thread for its next read.

    It is opened again after a fork or when the file has changed.
    """
    held: OrderedDict[tuple[object, ...], Any] = OrderedDict()
    if getattr(_HELD, "process", None) == os.getpid():
        held = _HELD.files
    _HELD.files, _HELD.process = held, os.getpid()
    name = (opener.__module__, opener.__qualname__, path)
    for older in [key for key in held if key[:3] == name and key[3] != stamp]:
        _close(held.pop(older))
    key = (*name, stamp)
    if key not in held:
        held[key] = opener(path)
    held.move_to_end(key)
    while len(held) > MOST_OPEN:
        _close(held.popitem(last=False)[1])
    return held[key]


def _close(handle: Any) -> None:
    if hasattr(handle, "close"):
        handle.close()
