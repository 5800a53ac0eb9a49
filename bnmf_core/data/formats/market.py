"""Matrix Market: a matrix as text; the header is validated before any allocation.

The entries are read by ``numpy.loadtxt`` and not by ``scipy.io.mmread``, which reads 1,5 and 1_0
as 1, ignores further numbers on a line, and can run past the end of a damaged file.
"""

import io
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
from scipy import sparse

from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_name
from bnmf_core.data.formats.format import array_format
from bnmf_core.data.limits import check_entries, check_side

LAYOUTS = ("coordinate", "array")
FIELDS = ("real", "double", "integer", "pattern")
SYMMETRIES = ("general", "symmetric")
MAX_COMMENTS = 10_000  # rows before the line with the size
MAX_LINE = 10_000
_LONG_LINE = re.compile(rb"\n[^\n]{%d}" % (MAX_LINE + 1))


@dataclass(frozen=True)
class _Header:
    """The header. size_row : row of the size line. start : offset of the entries."""

    coordinate: bool
    pattern: bool
    symmetric: bool
    rows: int
    columns: int
    stored: int
    size_row: int
    start: int

    @property
    def width(self) -> int:
        """Number of values on a line."""
        return 1 if not self.coordinate else 2 if self.pattern else 3


def read_mtx(content: bytes) -> np.ndarray | sparse.coo_array:
    """The matrix in a Matrix Market file.

    Coordinate files become sparse matrices, array files dense ones. Entries that occur
    twice in a coordinate file are added.
    """
    header = _header(content)
    numbers = _numbers(content, header)
    return _coordinate(numbers, header) if header.coordinate else _dense(numbers, header)


def _header(content: bytes) -> _Header:
    file = io.BytesIO(content)
    words = file.readline()[:200].decode("ascii", "replace").lower().split()
    if len(words) != 5 or words[1] != "matrix":
        raise DataError(
            "Row 1 of the Matrix Market file must read '%%MatrixMarket matrix', then the layout, "
            "the kind of numbers and the symmetry."
        )
    claims = ((LAYOUTS, "layout"), (FIELDS, "kind of numbers"), (SYMMETRIES, "symmetry"))
    for word, (allowed, what) in zip(words[2:], claims, strict=True):
        if word not in allowed:
            raise DataError(
                f"The Matrix Market file gives {clean_name(word, 40)!r} as its {what}; "
                f"{', '.join(allowed)} can be read."
            )
    coordinate, symmetric = words[2] == "coordinate", words[4] == "symmetric"
    pattern = words[3] == "pattern"
    if pattern and not coordinate:
        raise DataError("The Matrix Market file is an array without numbers ('pattern').")
    size_row, line = 2, file.readline()
    while line and (not line.strip() or line.lstrip().startswith(b"%")):
        if size_row > MAX_COMMENTS:
            raise DataError(
                f"The Matrix Market file has no size line in its first {MAX_COMMENTS:,} rows."
            )
        size_row, line = size_row + 1, file.readline()
    fields = line.strip()[:200].split()
    needed = 3 if coordinate else 2
    if len(fields) != needed or not all(field.isdigit() for field in fields):
        raise DataError(
            f"Row {size_row} of the Matrix Market file must hold {needed} whole numbers: rows, "
            f"columns{' and stored entries' if coordinate else ''}."
        )
    rows, columns = int(fields[0]), int(fields[1])
    check_side(rows, columns)
    if symmetric and rows != columns:
        raise DataError(
            f"Row {size_row} of the Matrix Market file gives {rows}×{columns}, but a symmetric "
            "matrix is square."
        )
    if not coordinate:
        check_entries(rows, columns)
    most = rows * (rows + 1) // 2 if symmetric and not coordinate else rows * columns
    stored = int(fields[2]) if coordinate else most
    if stored > most:
        raise DataError(
            f"Row {size_row} of the Matrix Market file claims {stored:,} entries in a matrix "
            f"of {rows:,}×{columns:,}."
        )
    start = file.tell()
    header = _Header(coordinate, pattern, symmetric, rows, columns, stored, size_row, start)
    # Every number has at least a digit and a separator, except the last.
    if 2 * header.width * stored > len(content) - header.start + 1:
        raise _cut_off(header, f"only {len(content) - header.start:,} bytes follow")
    # Limit blank lines: a hundred million would take minutes to skip.
    if content.count(b"\n", header.start) > 2 * stored + MAX_COMMENTS:
        raise _cut_off(header, "many more rows follow")
    return header


def _cut_off(header: _Header, found: str) -> DataError:
    return DataError(
        f"Row {header.size_row} of the Matrix Market file claims {header.stored:,} entries, but "
        f"{found}; it is cut off or damaged."
    )


def _numbers(content: bytes, header: _Header) -> np.ndarray:
    """The numbers on the lines of entries, (stored, width)."""
    if _LONG_LINE.search(content, header.start - 1):
        raise DataError(f"A row of the Matrix Market file is longer than {MAX_LINE:,} characters.")
    first = next(_filled(content, header), None)
    # loadtxt infers the number of columns from the first line.
    if first is not None and len(first[1]) != header.width:
        raise _malformed(content, header)
    file = io.BytesIO(content)
    file.seek(header.start)
    try:
        with warnings.catch_warnings():
            # One extra row detects surplus lines.
            warnings.simplefilter("ignore", UserWarning)
            numbers = np.loadtxt(
                file, comments=None, encoding="ascii", ndmin=2, max_rows=header.stored + 1
            )
    except ValueError:
        raise _malformed(content, header) from None
    if len(numbers) > header.stored:
        raise _cut_off(header, "more follow")
    if len(numbers) < header.stored:
        raise _cut_off(header, f"{len(numbers):,} follow")
    if header.coordinate:
        _check_places(content, numbers, header)
    return numbers.reshape(-1, header.width)


def _filled(content: bytes, header: _Header) -> Iterator[tuple[int, list[bytes]]]:
    """Non-blank lines of entries with their rows of the file."""
    file = io.BytesIO(content)
    file.seek(header.start)
    lines = ((row, line.split()) for row, line in enumerate(file, header.size_row + 1))
    return (one for one in lines if one[1])


def _malformed(content: bytes, header: _Header) -> DataError:
    """A sentence on the first line with invalid numbers."""
    needed = ("one number", "a row and a column", "a row, a column and a number")
    wrong = None
    for count, (row, words) in enumerate(_filled(content, header), start=1):
        if count > header.stored:
            return _cut_off(header, "more follow")
        if wrong is None and not (len(words) == header.width and _are_numbers(words)):
            shown = clean_name(b" ".join(words)[:200].decode("latin-1"), 40)
            wrong = (
                f"Row {row} of the Matrix Market file holds {shown!r}, where "
                f"{needed[header.width - 1]} must stand."
            )
    return DataError(wrong or "The Matrix Market file is malformed.")


def _are_numbers(words: list[bytes]) -> bool:
    try:
        # float() also accepts 1_000, which is no number in such a file.
        return b"_" not in b"".join(words) and bool(list(map(float, words)))
    except ValueError:
        return False


def _check_places(content: bytes, numbers: np.ndarray, header: _Header) -> None:
    places = numbers[:, :2]
    fits = (places >= 1) & (places <= [header.rows, header.columns]) & (places % 1 == 0)
    bad = ~fits.all(axis=1)
    what = f"outside the matrix of {header.rows:,}×{header.columns:,}"
    if header.symmetric and not bad.any():
        bad = places[:, 0] < places[:, 1]
        what = "above the diagonal of a symmetric matrix"
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        row, _ = next(islice(_filled(content, header), first, None))
        raise DataError(
            f"Row {row} of the Matrix Market file gives the place "
            f"({places[first, 0]:g}, {places[first, 1]:g}), which is {what}."
        )


def _coordinate(numbers: np.ndarray, header: _Header) -> sparse.coo_array:
    rows, columns = (numbers[:, axis].astype(np.int32) - 1 for axis in (0, 1))
    values = np.ones(len(numbers)) if header.pattern else numbers[:, 2]
    if header.symmetric:
        below = rows != columns
        rows, columns = np.append(rows, columns[below]), np.append(columns, rows[below])
        values = np.append(values, values[below])
    return sparse.coo_array((values, (rows, columns)), shape=(header.rows, header.columns))


def _dense(numbers: np.ndarray, header: _Header) -> np.ndarray:
    if not header.symmetric:
        return numbers.reshape((header.rows, header.columns), order="F")
    matrix = np.empty((header.rows, header.rows))
    # The lower triangle is column-major; its transpose is the upper one, row-major.
    upper = np.triu_indices(header.rows)
    matrix[upper] = numbers[:, 0]
    matrix.T[upper] = numbers[:, 0]
    return matrix


FORMAT = array_format(
    "mtx",
    "a Matrix Market file",
    lambda content, _: content[:14].lower() == b"%%matrixmarket",
    lambda content, _: {"X": read_mtx(content)},
)
