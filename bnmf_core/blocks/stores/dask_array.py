"""Arrays of dask, dense or of sparse blocks of scipy, with chunks along the observations."""

import dataclasses
import math
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np
from scipy import sparse

from bnmf_core.blocks.checks import in_columns
from bnmf_core.blocks.source import Source
from bnmf_core.blocks.stores.files import COLUMNS, ROWS, check_matrix, check_numbers
from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_name
from bnmf_core.numerics.matrix import Matrix, is_sparse


@dataclass(frozen=True)
class DaskSource(Source):
    """A matrix of dask, whose chunks are computed when they are read.

    ``token``: the name that dask gave the array. ``by_rows``: whether its rows are the
    observations. ``starts``: where its chunks begin, and N. What is pickled is the graph of the
    array, which is small where it reads from files.
    """

    token: str
    by_rows: bool
    starts: tuple[int, ...] = field(repr=False)
    array: Any = field(repr=False, compare=False)

    @property
    def pieces(self) -> tuple[int, ...] | None:
        """The chunks of the array."""
        return tuple(sorted(set(self.starts)))

    def read(self, first: int, stop: int) -> Matrix:
        """The observations (D, stop − first), sparse where the array is; see :class:`Source`."""
        found = []
        for k, (begin, end) in enumerate(zip(self.starts, self.starts[1:], strict=False)):
            if end > first and begin < stop:
                X = self._chunk(k)
                if X.shape[1] == end - begin:
                    X = X[:, max(first - begin, 0) : min(stop, end) - begin]
                elif begin < first or end > stop:
                    raise DataError(
                        f"its chunk has {X.shape[1]:,} observations, but {end - begin:,} were "
                        "expected"
                    )
                found.append(X)
        heights = sorted({X.shape[0] for X in found})
        if len(heights) == 2:
            raise DataError(f"its chunks have {heights[0]:,} and {heights[1]:,} features")
        if self.sparse:
            return sparse.csc_array(found[0] if len(found) == 1 else sparse.hstack(found, "csc"))
        return np.asfortranarray(found[0] if len(found) == 1 else np.concatenate(found, axis=1))

    def stamp(self) -> str:
        """The name of the array, which dask makes of what it is computed from."""
        return self.token

    def _chunk(self, k: int) -> Any:
        at = (k, 0) if self.by_rows else (0, k)
        # In this thread: a worker that reads a block is busy already.
        X = self.array.blocks[at].compute(scheduler="synchronous")
        if not is_sparse(X):
            X = np.asarray(X)
            if X.ndim != 2 or X.dtype.kind not in "buif":
                raise DataError(f"its chunk is of type {X.dtype} with {X.ndim} dimensions")
        X = X.T if self.by_rows else X
        if not self.sparse:
            return in_columns(X.toarray() if is_sparse(X) else X)
        by_columns = sparse.csc_array(X, dtype=np.float64, copy=True)
        by_columns.sum_duplicates()
        by_columns.eliminate_zeros()
        return by_columns


def of_dask(array: Any, observations: str = ROWS, label: str = "array") -> DaskSource:
    """The source of an array of dask.

    The entries that a sparse array stores are estimated from its first chunk.

    Parameters
    ----------
    array : a matrix of dask, of dense chunks or of sparse ones of scipy. observations : "rows" for
        (N, D), "columns" for (D, N). label : what to call it.

    Raises
    ------
    DataError
        When it has not two dimensions, no known chunks, several along the features, or no numbers.

    Examples
    --------
    >>> import dask.array
    >>> source = of_dask(dask.array.ones((100, 3), chunks=(25, 3)), label="ones")
    >>> source.D, source.N, source.width, source.read(20, 30).shape
    (3, 100, 25, (3, 10))
    """
    label = clean_name(label, 60)
    if observations not in (ROWS, COLUMNS):
        raise DataError(
            f"The observations were said to be in {clean_name(observations, 40)!r}; they are in "
            "'rows' or 'columns'."
        )
    check_matrix(array.shape, label)
    check_numbers(array.dtype, label)
    by_rows = observations == ROWS
    (along, across) = array.chunks if by_rows else array.chunks[::-1]
    if any(math.isnan(length) for length in (*along, *across)):
        raise DataError(
            f"{label} has chunks of unknown length; call its method compute_chunk_sizes() first."
        )
    if len(across) != 1:
        raise DataError(
            f"{label} has {len(across)} chunks along the features; join them with "
            f"rechunk({{{1 if by_rows else 0}: -1}}), so that a chunk holds whole observations."
        )
    D, N = int(across[0]), int(sum(along))
    starts = tuple(int(start) for start in accumulate(along, initial=0))
    source = DaskSource(
        label=label,
        D=D,
        N=N,
        sparse=sparse.issparse(array._meta),
        stored_entries=D * N,
        width=int(max(along, default=1)),
        token=str(array.name),
        by_rows=by_rows,
        starts=starts,
        array=array,
    )
    if not (source.sparse and source.N):
        return source
    try:
        chunk = source._chunk(int(np.flatnonzero(along)[0]))
    except Exception as error:
        raise DataError(f"The first chunk of {label} cannot be computed; check it.") from error
    entries = round(chunk.nnz / max(chunk.shape[1], 1) * N)
    return dataclasses.replace(source, stored_entries=entries)
