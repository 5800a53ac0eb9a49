"""Matrix Market: a matrix as text, its header checked before anything is allocated.

The entries are read here, line by line, and not by ``scipy.io.mmread``: its compiled reader
can run past the end of a damaged file and take the whole program down.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from scipy import sparse

from bnmf_core.core.dataset import Parts
from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_name
from bnmf_core.data.formats.format import array_format
from bnmf_core.data.limits import check_entries, check_side

LAYOUTS = ("coordinate", "array")
FIELDS = ("real", "double", "integer", "pattern")
SYMMETRIES = ("general", "symmetric")
MAX_COMMENTS = 10_000  # rows before the line with the size
MAX_LINE = 10_000
PIECE_BYTES = 2**18


@dataclass(frozen=True)
class _Header:
    """What a file says of itself. size_row : row of its size line. start : where entries begin."""

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
        """Numbers on a line."""
        return 1 if not self.coordinate else 2 if self.pattern else 3


def read_mtx(content: bytes, observations: str, limit_bytes: int) -> Parts:
    """The arguments of ``Dataset.from_array`` for a Matrix Market file.

    Coordinate files become sparse matrices, array files dense ones. Entries that occur
    twice in a coordinate file are added.
    """
    header = _header(content)
    numbers = _numbers(content, header)
    matrix = _coordinate(numbers, header) if header.coordinate else _dense(numbers, header)
    return {"X": matrix.T if observations == "rows" else matrix}


def _header(content: bytes) -> _Header:
    banner = content[: content.find(b"\n") + 1 or len(content)]
    words = banner[:200].decode("ascii", "replace").lower().split()
    if len(words) != 5 or words[1] != "matrix":
        raise DataError(
            "Row 1 of the Matrix Market file must read '%%MatrixMarket matrix', then the layout, "
            "the kind of numbers and the symmetry."
        )
    for word, allowed, what in (
        (words[2], LAYOUTS, "layout"),
        (words[3], FIELDS, "kind of numbers"),
        (words[4], SYMMETRIES, "symmetry"),
    ):
        if word not in allowed:
            raise DataError(
                f"The Matrix Market file gives {clean_name(word, 40)!r} as its {what}; "
                f"{', '.join(allowed)} can be read."
            )
    coordinate, symmetric = words[2] == "coordinate", words[4] == "symmetric"
    pattern = words[3] == "pattern"
    if pattern and not coordinate:
        raise DataError("The Matrix Market file is an array without numbers ('pattern').")
    size_row, line, start = _size_line(content, len(banner))
    fields = line[:200].split()
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
    if coordinate:
        stored = int(fields[2])
        if stored > rows * columns:
            raise DataError(
                f"Row {size_row} of the Matrix Market file claims {stored:,} entries in a matrix "
                f"of {rows:,}×{columns:,}."
            )
    else:
        check_entries(rows, columns)
        stored = rows * (rows + 1) // 2 if symmetric else rows * columns
    header = _Header(
        coordinate, pattern, symmetric, rows, columns, stored, size_row, min(start, len(content))
    )
    # Every number takes a digit and a character after it, which the last one may lack.
    if 2 * header.width * stored > len(content) - header.start + 1:
        raise _cut_off(header, f"only {len(content) - header.start:,} bytes follow")
    # A few blank lines are usual; a hundred million would take minutes to pass over.
    if content.count(b"\n", header.start) > 2 * stored + MAX_COMMENTS:
        raise _cut_off(header, "many more rows follow")
    return header


def _size_line(content: bytes, start: int) -> tuple[int, bytes, int]:
    """Row and content of the first line that is no comment, and where the next line begins."""
    for row in range(2, MAX_COMMENTS + 2):
        end = content.find(b"\n", start)
        end = len(content) if end < 0 else end
        line = content[start:end].strip()
        start = end + 1
        if (line and not line.startswith(b"%")) or start >= len(content):
            return row, line, start
    raise DataError(f"The Matrix Market file has no size line in its first {MAX_COMMENTS:,} rows.")


def _cut_off(header: _Header, found: str) -> DataError:
    return DataError(
        f"Row {header.size_row} of the Matrix Market file claims {header.stored:,} entries, but "
        f"{found}; it is cut off or damaged."
    )


def _pieces(content: bytes, start: int) -> Iterator[bytes]:
    """The rest of the content, cut at line ends into pieces that are small in memory."""
    while start < len(content):
        target = start + PIECE_BYTES
        end = content.find(b"\n", target, target + MAX_LINE) + 1
        if end == 0:
            if target + MAX_LINE < len(content):
                raise DataError(
                    f"A row of the Matrix Market file is longer than {MAX_LINE:,} characters."
                )
            end = len(content)
        yield content[start:end]
        start = end


def _numbers(content: bytes, header: _Header) -> np.ndarray:
    """The numbers on the lines of entries, (stored, width)."""
    row, left, parts = header.size_row, header.stored, [np.empty((0, header.width))]
    for piece in _pieces(content, header.start):
        lines = [line.split() for line in piece.split(b"\n")]
        filled = [(row + i, line) for i, line in enumerate(lines, start=1) if line]
        left -= len(filled)
        if left < 0:
            raise _cut_off(header, "more follow")
        parts.append(_parsed(filled, header))
        if header.coordinate:
            _check_places(parts[-1], filled, header)
        # A piece ends with its last line end, so its last part is the next line.
        row += len(lines) - 1
    if left:
        raise _cut_off(header, f"{header.stored - left:,} follow")
    return np.concatenate(parts)


def _parsed(filled: Sequence[tuple[int, list[bytes]]], header: _Header) -> np.ndarray:
    """The numbers on lines, each with its row of the file: (lines, width)."""
    words = list(chain.from_iterable(line for _, line in filled))
    try:
        # float() also takes 1_000, which is no number in such a file.
        if any(len(line) != header.width for _, line in filled) or b"_" in b"".join(words):
            raise ValueError
        numbers = np.fromiter(map(float, words), dtype=np.float64)
        return numbers.reshape(-1, header.width)
    except ValueError:
        if len(filled) > 1:
            return np.concatenate([_parsed([one], header) for one in filled])
        needed = ("one number", "a row and a column", "a row, a column and a number")
        shown = clean_name(b" ".join(words)[:200].decode("latin-1"), 40)
        raise DataError(
            f"Row {filled[0][0]} of the Matrix Market file holds {shown!r}, where "
            f"{needed[header.width - 1]} must stand."
        ) from None


def _check_places(
    numbers: np.ndarray, filled: Sequence[tuple[int, list[bytes]]], header: _Header
) -> None:
    places = numbers[:, :2]
    fits = (places >= 1) & (places <= [header.rows, header.columns]) & (places % 1 == 0)
    bad = ~fits.all(axis=1)
    what = f"outside the matrix of {header.rows:,}×{header.columns:,}"
    if header.symmetric and not bad.any():
        bad = places[:, 0] < places[:, 1]
        what = "above the diagonal of a symmetric matrix"
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        raise DataError(
            f"Row {filled[first][0]} of the Matrix Market file gives the place "
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
    # The lower triangle stands column by column: the upper one row by row, transposed.
    upper = np.triu_indices(header.rows)
    matrix[upper] = numbers[:, 0]
    matrix.T[upper] = numbers[:, 0]
    return matrix


FORMAT = array_format(
    "mtx",
    "a Matrix Market file",
    lambda content, _: content[:14].lower() == b"%%matrixmarket",
    read_mtx,
)
