"""X in a store that is read in blocks of observations."""

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import sparse

from bnmf_core.blocks.checks import check_block
from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_name
from bnmf_core.numerics.matrix import Matrix, Sparse, dense, is_sparse, parts

# Target size of a block in bytes, and its largest number of observations.
BLOCK_BYTES, MOST_OBSERVATIONS = 2**23, 65_536
# Bytes of an entry; a sparse one has a value and an index.
BYTES_DENSE, BYTES_SPARSE = 8, 12


def fitting(bytes_each: float, most_bytes: int = BLOCK_BYTES) -> int:
    """Number of observations in a block, at least one."""
    return int(min(max(most_bytes / max(bytes_each, 1.0), 1), MOST_OBSERVATIONS))


def steps(N: int, width: int) -> tuple[int, ...]:
    """Bounds of pieces with so many observations."""
    return (*range(0, N, width), N)


@dataclass(frozen=True)
class Source(ABC):
    """X (D, N) in a store that is read some observations at a time.

    A source has no open file: it can be pickled, and a worker opens the files when it reads.

    Attributes
    ----------
    label : a short name of the data. D : features. N : observations.
    sparse : whether reads return sparse matrices. stored_entries : D·N for a dense matrix.
    width : largest number of observations for one read.
    """

    label: str
    D: int
    N: int
    sparse: bool
    stored_entries: int
    width: int

    @property
    def file(self) -> str:
        """Name of the store in messages: its file name or its label."""
        return self.label

    @property
    def features(self) -> tuple[str, ...] | None:
        """Names of the D features; None without names."""
        return None

    @property
    def pieces(self) -> tuple[int, ...] | None:
        """Bounds of the pieces that the store reads as a whole; None without pieces."""
        return None

    @property
    def bytes_each(self) -> float:
        """Average bytes of memory per observation."""
        size = BYTES_SPARSE if self.sparse else BYTES_DENSE
        return size * self.stored_entries / max(self.N, 1)

    def names(self, first: int, stop: int) -> tuple[str, ...] | None:
        """The names of the observations from ``first`` to before ``stop``, if there are any."""
        return None

    @abstractmethod
    def read(self, first: int, stop: int) -> Matrix:
        """The observations from ``first`` to before ``stop``.

        Returns
        -------
        (D, stop − first) in double precision: a csc_array with sorted indices and no duplicates, or
        a column-major array. Values are not checked.

        Raises
        ------
        OSError, ValueError
            When the store cannot be read or has changed since it was opened.
        """

    @abstractmethod
    def stamp(self) -> str:
        """A text that changes when the store is written again. OSError if it is missing."""


@dataclass(frozen=True)
class Blocks:
    """X (D, N) of a source in blocks of observations that are validated when they are read.

    Attributes
    ----------
    source : of X. bounds : of the blocks.
    opened : the stamp of the source when it was opened; every read compares it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from bnmf_core.blocks.source import Blocks
    >>> from bnmf_core.blocks.stores import open_source
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "cells.npy", np.arange(12.0).reshape(6, 2))
    ...     blocks = Blocks.of(open_source(Path(folder) / "cells.npy"), most_bytes=64)
    ...     blocks.bounds, blocks.read(1)
    ((0, 4, 6), array([[ 8., 10.],
           [ 9., 11.]]))
    """

    source: Source
    bounds: tuple[int, ...]
    opened: str = field(repr=False)

    @classmethod
    def of(cls, source: Source, most_bytes: int = BLOCK_BYTES) -> "Blocks":
        """Join neighbouring pieces of the store to blocks of about so many bytes.

        A block has at most 65,536 observations. A piece is never cut, because a store reads it as
        a whole; a larger piece makes a larger block.

        Raises
        ------
        DataError
            When X is empty or the store cannot be read.
        """
        if source.D < 1 or source.N < 1:
            raise DataError(
                f"The matrix in {source.file} has {source.D:,} features and {source.N:,} "
                "observations; at least one of each is needed."
            )
        most = fitting(source.bytes_each, most_bytes)
        bounds = [0]
        pieces = source.pieces or steps(source.N, most)
        for end, following in zip(pieces[1:], (*pieces[2:], None), strict=True):
            if following is None or following - bounds[-1] > most:
                bounds.append(end)
        return cls(source, tuple(bounds), _stamp(source))

    @property
    def count(self) -> int:
        """Number of blocks."""
        return len(self.bounds) - 1

    @property
    def D(self) -> int:
        """The number of features."""
        return self.source.D

    @property
    def N(self) -> int:
        """The number of observations of all blocks."""
        return self.source.N

    def read(self, i: int) -> Matrix:
        """Block i, from 0, as (D, observations of the block) in double precision.

        Raises
        ------
        DataError
            When the block cannot be read, has a wrong shape or an invalid value, or the store has
            changed since it was opened. The message names the block, counted from 1, and its
            observations.
        """
        if not 0 <= i < self.count:
            raise DataError(f"There is no block {i}; the blocks are 0 to {self.count - 1}.")
        first, stop = self.bounds[i], self.bounds[i + 1]
        where = f"Block {i + 1} (observations {first + 1:,} to {stop:,}) of {self.source.file}"
        self._check_stamp(where)
        try:
            X = self.source.read(first, stop)
        except MemoryError:
            raise
        # Libraries raise various exceptions for a truncated file.
        except Exception as error:
            self._check_stamp(where)
            why = (
                str(error).rstrip(".")
                if isinstance(error, DataError)
                else "the store is torn or damaged"
            )
            raise DataError(f"{where} cannot be read: {why}; write the store again.") from error
        self._check_stamp(where)
        check_block(X, (self.D, stop - first), self.source.sparse, where, first)
        return X

    def sample(self, count: int, rng: np.random.Generator) -> tuple[np.ndarray, Matrix]:
        """Draw observations at random without replacement.

        Only blocks with drawn observations are read, each once.

        Parameters
        ----------
        count : number of observations, from 1 to N. rng : random generator.

        Returns
        -------
        Sorted indices of the observations (count,), and their X (D, count).

        Raises
        ------
        DataError
            When ``count`` is out of range, or as in :meth:`read`.
        """
        if not 1 <= count <= self.N:
            raise DataError(
                f"A sample of {count:,} observations was asked for; {self.source.file} has "
                f"{self.N:,}, so choose from 1 to {self.N:,}."
            )
        indices = np.sort(rng.choice(self.N, count, replace=False, shuffle=False))
        found = [self.read(i)[:, of - self.bounds[i]] for i, of in self._by_block(indices)]
        if self.source.sparse:
            joined: Sparse = sparse.hstack([X for X in found if is_sparse(X)], format="csc")
            return indices, joined
        X = np.empty((self.D, count), order="F")
        return indices, np.concatenate([dense(one) for one in found], axis=1, out=X)

    def names(self, indices: np.ndarray) -> tuple[str, ...] | None:
        """Names of the observations with these sorted indices; None without names.

        Raises
        ------
        DataError
            When the names cannot be read.
        """
        found: list[str] = []
        for i, of in self._by_block(indices):
            try:
                names = self.source.names(int(of[0]), int(of[-1]) + 1)
            except Exception as error:
                raise DataError(
                    f"The names of the observations of block {i + 1} of {self.source.file} cannot "
                    "be read; write the store again."
                ) from error
            if names is None:
                return None
            found += [names[n] for n in (of - of[0]).tolist()]
        return tuple(found)

    @cached_property
    def hash(self) -> str:
        """SHA-256 (first 16 hex digits) that identifies the data.

        It includes only the entries of the first and the last block, so that no other is read.
        """
        digest = hashlib.sha256()
        identity = (self.source.label, self.D, self.N, self.source.sparse, self.bounds, self.opened)
        digest.update(repr(identity).encode())
        for i in sorted({0, self.count - 1}):
            X = self.read(i)
            kinds = (np.float64, np.int64, np.int64) if is_sparse(X) else (np.float64,)
            for part, kind in zip(parts(X), kinds, strict=True):
                digest.update(np.ascontiguousarray(part.T, dtype=kind).data)
        return digest.hexdigest()[:16]

    def _by_block(self, indices: np.ndarray) -> list[tuple[int, np.ndarray]]:
        """Indices of blocks, each with the sorted indices inside it."""
        at = np.searchsorted(indices, self.bounds)
        held = [(i, indices[at[i] : at[i + 1]]) for i in range(self.count)]
        return [(i, of) for i, of in held if of.size]

    def _check_stamp(self, where: str) -> None:
        if _stamp(self.source) != self.opened:
            raise DataError(
                f"{where} was not read, because the store was changed after it was opened; open it "
                "again when nothing writes to it."
            )


def _stamp(source: Source) -> str:
    try:
        return source.stamp()
    except OSError as error:
        raise DataError(
            f"{clean_name(source.file)} is no longer there or cannot be read; put it back, or open "
            "another store."
        ) from error
