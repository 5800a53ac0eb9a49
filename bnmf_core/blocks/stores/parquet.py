"""Parquet: a table of one row for each observation, or of documents, terms and counts.

A folder of Parquet files is one table: its files one after another, in the order of their names.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from bnmf_core.blocks.checks import columns, opened, stamp_of
from bnmf_core.blocks.source import BYTES_DENSE, BYTES_SPARSE, Source, fitting
from bnmf_core.blocks.stores.files import ROWS, FileSource, check_rows
from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_name
from bnmf_core.data.limits import MAX_SIDE
from bnmf_core.lazy import lazy
from bnmf_core.numerics.matrix import Matrix

arrow = lazy("pyarrow")
compute = lazy("pyarrow.compute")
parquet = lazy("pyarrow.parquet")
MAGIC = b"PAR1"
LONG = ["document", "term", "count"]
# Name of the index column that pandas writes.
INDEX = "__index_level_0__"


@dataclass(frozen=True)
class Table:
    """The row groups of one or several files with the same columns.

    groups : file, metadata of the file and index in the file of each.
    """

    schema: Any
    groups: tuple[tuple[Path, Any, int], ...]

    @property
    def sizes(self) -> list[int]:
        """Rows of each group."""
        return [meta.row_group(g).num_rows for _, meta, g in self.groups]

    def read(self, groups: Sequence[int], names: list[str] | None) -> Any:
        """Read row groups; all columns, or those with these names."""
        found = []
        for path, several in groupby((self.groups[g] for g in groups), key=itemgetter(0)):
            held = list(several)
            numbers = [g for *_, g in held]
            with parquet.ParquetFile(path, metadata=held[0][1]) as file:
                found.append(file.read_row_groups(numbers, columns=names, use_threads=False))
        return arrow.concat_tables(found)


def files_of(path: Path) -> list[Path]:
    """The file, or those of a folder, part-2 before part-10; links are not followed."""
    if not path.is_dir():
        return [path]
    found = (file for file in path.rglob("*.parquet") if file.name[0] not in "._")
    return sorted((file for file in found if not file.is_symlink()), key=_in_order)


def _in_order(file: Path) -> list[tuple[int, str]]:
    pieces = re.split(r"(\d+)", str(file))
    return [(int(piece) if piece.isdecimal() else -1, piece) for piece in pieces]


def recognises(path: Path, head: bytes) -> bool:
    """Whether this is such a file, or a folder of them."""
    return head.startswith(MAGIC) or (path.is_dir() and bool(files_of(path)))


@dataclass(frozen=True)
class ParquetSource(FileSource):
    """A file, or a folder of files."""

    def stamp(self) -> str:
        """The sizes of the files and when they were last written. OSError when one is gone."""
        return stamp_of(files_of(self.path)) or stamp_of([self.path])

    def _table(self) -> Table:
        table: Table = opened(self.path, self.stamp(), _open)
        return table


@dataclass(frozen=True)
class WideSource(ParquetSource):
    """A table with a row for each observation and a column of numbers for each feature.

    ``starts``: where its groups of rows begin, and N. ``named``: the column of names, or −1.
    """

    starts: tuple[int, ...] = field(repr=False)
    named: int

    @property
    def features(self) -> tuple[str, ...] | None:
        """The names of the columns."""
        return tuple(name for k, name in enumerate(self._table().schema.names) if k != self.named)

    @property
    def pieces(self) -> tuple[int, ...] | None:
        """The groups of rows."""
        return tuple(sorted(set(self.starts)))

    def names(self, first: int, stop: int) -> tuple[str, ...] | None:
        """The words of the first column, if it holds words."""
        if self.named < 0:
            return None
        name = self._table().schema.names[self.named]
        found = self._rows(first, stop, [name]).column(0).to_pylist()
        return tuple("" if word is None else str(word) for word in found)

    def read(self, first: int, stop: int) -> Matrix:
        """The observations (D, stop − first), dense; see :class:`Source`."""
        table = self._rows(first, stop, None)
        X = np.empty((self.D, stop - first), order="F")
        features = (column for k, column in enumerate(table.columns) if k != self.named)
        for d, column in enumerate(features):
            X[d] = _floats(column)
        return X

    def _rows(self, first: int, stop: int, names: list[str] | None) -> Any:
        spans = enumerate(zip(self.starts, self.starts[1:], strict=False))
        groups = [g for g, (begin, end) in spans if max(first, begin) < min(stop, end)]
        table = self._table().read(groups, names)
        return table.slice(first - self.starts[groups[0]], stop - first)


@dataclass(frozen=True)
class LongSource(ParquetSource):
    """A table of documents, terms and counts, sorted by document.

    ``starts``: how many documents begin before each group of rows, and N. ``goes_on``: whether a
    group begins in the middle of a document. ``vocabulary``: the terms in the order of features
    where they are words; numbers of terms count from ``base``.
    """

    starts: tuple[int, ...] = field(repr=False)
    goes_on: tuple[bool, ...] = field(repr=False)
    vocabulary: tuple[str, ...] | None = field(repr=False)
    base: int

    @property
    def features(self) -> tuple[str, ...] | None:
        """The terms."""
        return self.vocabulary or tuple(str(self.base + d) for d in range(self.D))

    @property
    def pieces(self) -> tuple[int, ...] | None:
        """The first documents that begin in each group of rows."""
        return tuple(sorted({0, *self.starts}))

    def names(self, first: int, stop: int) -> tuple[str, ...] | None:
        """What stands in the column of documents."""
        found: dict[int, str] = {}
        for numbers, table in self._groups(first, stop, LONG[:1]):
            places, at = np.unique(numbers, return_index=True)
            words = table.column(0).take(arrow.array(at)).to_pylist()
            found.update(zip(places.tolist(), map(str, words), strict=True))
        return tuple(found[n] for n in range(first, stop))

    def read(self, first: int, stop: int) -> Matrix:
        """The documents (D, stop − first), sparse; see :class:`Source`."""
        numbers, terms, counts = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
        for of, table in self._groups(first, stop, LONG):
            inside = (of >= first) & (of < stop)
            numbers.append(of[inside] - first)
            terms.append(self._places(table.column(1))[inside])
            counts.append(_floats(table.column(2))[inside])
        per_document = np.bincount(np.concatenate(numbers), minlength=stop - first)
        ends = np.concatenate(([0], np.cumsum(per_document)))
        return columns(np.concatenate(counts), np.concatenate(terms), ends, self.D)

    def _groups(self, first: int, stop: int, names: list[str]) -> Any:
        """Of each group with some of these documents the document of each row, and the table."""
        whole = self._table()
        names = [whole.schema.names[LONG.index(name)] for name in names]
        for g, goes_on in enumerate(self.goes_on):
            low = self.starts[g] - goes_on
            if low < stop and self.starts[g + 1] > max(first, low):
                table = whole.read([g], names)
                changed, _ = _changes(_keys(table.column(0), "document"))
                yield low + np.concatenate(([0], np.cumsum(changed))), table

    def _places(self, terms: Any) -> np.ndarray:
        keys = _keys(terms, "term")
        if self.vocabulary is None:
            return np.asarray(keys.to_numpy(zero_copy_only=False)) - self.base
        known = arrow.array(self.vocabulary, arrow.large_string())
        places = compute.fill_null(compute.index_in(keys, value_set=known), -1)
        return np.asarray(places.to_numpy(zero_copy_only=False)).astype(np.int64)


def _open(path: Path) -> Table:
    schema, groups = None, []
    for file in files_of(path):
        with parquet.ParquetFile(file) as one:
            if schema is not None and not one.schema_arrow.equals(schema):
                raise DataError(
                    f"{clean_name(file.name, 60)} has other columns, or columns of other types, "
                    f"than {clean_name(files_of(path)[0].name, 60)} beside it; write all files "
                    "of the folder with the same."
                )
            schema = one.schema_arrow
            groups += [(file, one.metadata, g) for g in range(one.metadata.num_row_groups)]
    return Table(schema, tuple(groups))


def _floats(column: Any) -> np.ndarray:
    """Values in double precision, NaN where none is."""
    return np.asarray(column.cast(arrow.float64()).to_numpy())


def _is_text(kind: Any) -> bool:
    kinds = arrow.types
    inner = kind.value_type if kinds.is_dictionary(kind) else kind
    return bool(kinds.is_string(inner) or kinds.is_large_string(inner))


def _is_number(kind: Any) -> bool:
    kinds = arrow.types
    return bool(kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind))


def _keys(column: Any, what: str) -> Any:
    """Documents or terms as one array of whole numbers or words."""
    if column.null_count:
        raise DataError(f"it has a row without a {what}")
    kind = arrow.large_string() if _is_text(column.type) else arrow.int64()
    found = column.cast(kind).combine_chunks()
    return found.combine_chunks() if isinstance(found, arrow.ChunkedArray) else found


def _changes(documents: Any) -> tuple[np.ndarray, bool]:
    """Where another document begins than in the row before, and whether they are sorted."""
    before, after = documents[:-1], documents[1:]
    changed = compute.not_equal(after, before).to_numpy(zero_copy_only=False)
    ordered = compute.all(compute.greater_equal(after, before), min_count=0).as_py()
    return np.asarray(changed, dtype=bool), bool(ordered)


def open_parquet(path: Path, observations: str = ROWS) -> Source:
    """The source of a Parquet file, or of a folder of them that are read one after another.

    A table with the three columns document, term and count is read as a long table, and any other
    as a wide one: a row for each observation, a column of numbers for each feature, and names of
    observations in a first column of words. A long table is scanned once.

    Parameters
    ----------
    path : the file or folder. observations : "rows".

    Raises
    ------
    DataError
        When a file is damaged or has other columns than the first, a column holds neither numbers
        nor names, or the documents of a long table are not sorted.
    """
    where = clean_name(path.name, 60)
    check_rows(observations, where, "save it with a row for each observation")
    try:
        table = _open(path)
        long = [name.lower() for name in table.schema.names] == LONG
        return (_long if long else _wide)(path, table, where)
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"{where} is cut off or damaged; write it again.") from error


def _wide(path: Path, table: Table, where: str) -> WideSource:
    schema, sizes = table.schema, table.sizes
    texts = [k for k, kind in enumerate(schema.types) if _is_text(kind)]
    named = texts[0] if texts and (texts[0] == 0 or schema.names[texts[0]] == INDEX) else -1
    for k, (name, kind) in enumerate(zip(schema.names, schema.types, strict=True)):
        if k != named and not _is_number(kind):
            raise DataError(
                f"{where} has a column {clean_name(name, 40)!r} of type {kind}; every column but a "
                "first one of names must hold numbers."
            )
    D, N, width = len(schema.names) - (named >= 0), sum(sizes), max(sizes, default=1)
    label, starts = clean_name(path.stem, 60), tuple(accumulate(sizes, initial=0))
    width = max(1, min(width, N)) if sizes else fitting(BYTES_DENSE * D)
    return WideSource(label, D, N, False, D * N, width, path, starts, named)


def _long(path: Path, whole: Table, where: str) -> LongSource:
    document, term, count = whole.schema.types
    integer = arrow.types.is_integer
    if not (_is_number(count) and all(integer(one) or _is_text(one) for one in (document, term))):
        raise DataError(
            f"{where} has columns of the types {document}, {term} and {count}; documents and terms "
            "are whole numbers or words, and counts are numbers."
        )
    starts, goes_on, last, words = [0], [], None, set[str]()
    lowest, highest = None, -1
    for g in range(len(whole.groups)):
        table = whole.read([g], whole.schema.names[:2])
        try:
            documents, terms = _keys(table.column(0), "document"), _keys(table.column(1), "term")
        except DataError as error:
            raise DataError(f"{where} cannot be read: {error}; leave such rows out.") from error
        if not len(documents):
            goes_on.append(False)
            starts.append(starts[-1])
            continue
        changed, ordered = _changes(documents)
        first = documents[0].as_py()
        if not ordered or (last is not None and first < last):
            raise DataError(f"{where} is not sorted by document; sort it and write it again.")
        goes_on.append(first == last)
        starts.append(starts[-1] + int(changed.sum()) + (first != last))
        last = documents[-1].as_py()
        if _is_text(term):
            words.update(compute.unique(terms).to_pylist())
        else:
            ends = compute.min_max(terms).as_py()
            lowest = ends["min"] if lowest is None else min(lowest, ends["min"])
            highest = max(highest, ends["max"])
    base = 0 if lowest is None else min(lowest, 1)
    D, N = len(words) if _is_text(term) else highest + 1 - base, starts[-1]
    if base < 0 or D > MAX_SIDE:
        raise DataError(
            f"{where} has terms from {lowest or 0:,} to {max(highest, D):,}; number them from 0 or "
            f"1, up to {MAX_SIDE:,}."
        )
    entries = sum(whole.sizes)
    pieces = np.diff(sorted({0, *starts}))
    width = int(pieces.max(initial=0)) or fitting(BYTES_SPARSE * entries)
    vocabulary = tuple(sorted(words)) if _is_text(term) else None
    label, bounds = clean_name(path.stem, 60), (tuple(starts), tuple(goes_on))
    return LongSource(label, D, N, True, entries, width, path, *bounds, vocabulary, base)
