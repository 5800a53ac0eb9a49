"""X as a solver of counts reads it: its rows and its columns as lines, in single precision."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from bnmf_core.numerics.linalg import blocks
from bnmf_core.numerics.matrix import Matrix, is_sparse

# Above this share of non-zero entries a dense X is read as it is.
LARGEST_SHARE = 0.25


class Side(NamedTuple):
    """All rows of X, or all columns: lines of stored entries, or of all entries.

    Attributes
    ----------
    starts, places, values : stored entries of all lines, as in a scipy sparse array; empty where
        all entries are stored. table : (lines, entries of each), −1 where not seen; else (0, 0).
    across : (entries, lines), the same. gaps : whether some were not seen.
    """

    starts: np.ndarray
    places: np.ndarray
    values: np.ndarray
    table: np.ndarray
    across: np.ndarray
    gaps: bool


class CountLines(NamedTuple):
    """X by rows and by columns, which together take as much memory as X itself."""

    rows: Side
    columns: Side


def count_lines(X: Matrix, mask: np.ndarray | None, scale: float, floor: float) -> CountLines:
    """Lines of X/scale, X (D, N), with entries above 0 raised by a floor.

    ``mask`` is True where an entry was seen.
    """
    if not is_sparse(X) and (mask is not None or np.count_nonzero(X) > LARGEST_SHARE * X.size):
        table = np.empty(X.shape, dtype=np.float32)
        for part in blocks(X):
            table[part] = X[part] / scale
        np.add(table, np.float32(floor), out=table, where=table > 0)
        if mask is not None:
            table[~mask] = -1.0
        by_rows, by_columns = np.ascontiguousarray(table), np.ascontiguousarray(table.T)
        gaps = mask is not None and not mask.all()
        return CountLines(_table(by_rows, by_columns, gaps), _table(by_columns, by_rows, gaps))
    columns = sparse.csc_array(X)
    raised = (np.asarray(columns.data) / scale).astype(np.float32)
    raised += np.float32(floor)
    columns = sparse.csc_array((raised, columns.indices, columns.indptr), X.shape)
    return CountLines(_stored(sparse.csr_array(columns)), _stored(columns))


def _table(table: np.ndarray, across: np.ndarray, gaps: bool) -> Side:
    none = np.zeros(0, dtype=np.uint32)
    nothing = none.astype(np.float32)
    return _read_only(Side(np.zeros(0, dtype=np.int64), none, nothing, table, across, gaps))


def _stored(X: sparse.csr_array | sparse.csc_array) -> Side:
    # An unsigned place needs no check for a negative one.
    places = X.indices
    places = places.view(np.uint32) if places.dtype == np.int32 else places.astype(np.uint32)
    nothing = np.zeros((0, 0), dtype=np.float32)
    return _read_only(Side(X.indptr.astype(np.int64), places, X.data, nothing, nothing, False))


def _read_only(side: Side) -> Side:
    """All arrays alike, so that rows and columns are of one type to compiled code."""
    for array in side[:-1]:
        array.flags.writeable = False
    return side
