"""Tables of text (CSV, TSV): numbers, names and labels told apart, every fault located.

What is accepted:

- cells separated by comma, semicolon or tab, quoted with ``"`` where needed; UTF-8, UTF-16
  with its mark, else Latin-1; blank lines are passed over;
- a decimal comma, in files separated by semicolon or tab, unless all such numbers could be
  thousands (1,234);
- one header row: the first row, where most of its cells above numbers are words, or where
  its first cell is empty and the others are distinct numbers. A header that is one cell
  shorter than the rows (as R writes it) starts at the second column;
- names of the rows in the first column: words that all differ, or anything that differs
  under an empty header cell;
- columns of words elsewhere, as labels, when the rows are observations;
- empty cells, NA, N/A, NaN, NULL and ? as missing.

Names that occur twice get " (2)", " (3)" and so on.
"""

import csv
import io
import re
from array import array
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

import numpy as np

from bnmf_core.data.arrays import check_entries
from bnmf_core.nouns.dataset import Parts
from bnmf_core.nouns.errors import DataError
from bnmf_core.nouns.names import clean_name, clean_names

MAX_ROWS = 5_000_000
MAX_COLUMNS = 200_000
MAX_FIELD = 10_000
SAMPLE_LINES = 1_000
SAMPLE_CHARACTERS = 4 * 2**20
# In this order where two would do: a comma may be part of a number, a tab never is.
DELIMITERS = {"\t": "tab", ";": "semicolon", ",": "comma"}
MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "?"})

_WITH_COMMA = re.compile(r"\s*[-+]?\d*,\d+(?:[eE][-+]?\d+)?\s*")
_THOUSANDS = re.compile(r"\s*[-+]?[1-9]\d{0,2}(?:,\d{3})+\s*")
_WITH_POINT = re.compile(r"\s*[-+]?\d*\.\d+(?:[eE][-+]?\d+)?\s*")


@dataclass(frozen=True)
class _Dialect:
    encoding: str
    delimiter: str
    decimal_comma: bool


@dataclass(frozen=True)
class _Sheet:
    """A table as it was read.

    head : cells of the first row. short_head : whether it was one cell shorter than the rows.
    lines : (rows,) line of the file on which each row begins, the first row included.
    values : (rows, columns) numbers; NaN where a cell is missing or holds words.
    words : column → (how many cells below the first row hold words, line of the first of
    them, that word).
    """

    head: list[str]
    short_head: bool
    lines: np.ndarray
    values: np.ndarray
    words: dict[int, tuple[int, int, str]]


def read_table(content: bytes, observations: str, limit_bytes: int) -> Parts:
    """The arguments of ``Dataset.from_array`` for a table of text."""
    dialect = _dialect(content)
    sheet = _read_sheet(content, dialect)
    has_header = _has_header(sheet, dialect)
    if sheet.short_head and not has_header:
        raise DataError(
            f"Row {sheet.lines[1]} has {_cells(len(sheet.head))}, but row {sheet.lines[0]} has "
            f"{len(sheet.head) - 1}; every row needs the same number."
        )
    first = 1 if has_header else 0
    values, lines = sheet.values[first:], sheet.lines[first:]
    columns = _Columns.of(sheet, dialect, has_header)
    corner = has_header and not sheet.head[0].strip() and 0 not in columns.empty
    by_rows = observations == "rows"
    texts = _texts(content, dialect, {*columns.words, *([0] if corner else [])}, first)
    named = 0 in texts and (
        len(set(texts[0])) == len(texts[0]) or (0 in columns.words and (corner or not by_rows))
    )
    labelled = [column for column in columns.words if not (named and column == 0)]
    if labelled and not by_rows:
        raise DataError(
            f"{columns.place(labelled[0])} holds words; when the columns are observations, only "
            "the first column may, as names of the rows."
        )
    numeric = [column for column in columns.numbers if not (named and column == 0)]
    if not numeric:
        raise DataError("The table has no column of numbers.")
    values = values[:, numeric]
    _check_values(values, lines, numeric, columns)
    row_names = clean_names(texts[0], "row") if named else None
    column_names = None
    if has_header:
        column_names = clean_names(
            [sheet.head[column].strip() or f"column {column + 1}" for column in numeric], "column"
        )
    if not by_rows:
        return {"X": values, "features": row_names, "observations": column_names}
    keys = [
        (sheet.head[column].strip() if has_header else "") or f"column {column + 1}"
        for column in labelled
    ]
    return {
        "X": values.T,
        "features": column_names,
        "observations": row_names,
        "labels": {
            key: [_label(cell) for cell in texts[column]]
            for key, column in zip(clean_names(keys, "column"), labelled, strict=True)
        },
    }


@dataclass(frozen=True)
class _Columns:
    """Which columns hold numbers, which hold words and which nothing, and what they are called."""

    numbers: list[int]
    words: list[int]
    empty: list[int]
    head: list[str] | None

    @classmethod
    def of(cls, sheet: _Sheet, dialect: _Dialect, has_header: bool) -> "_Columns":
        body = sheet.values[1:] if has_header else sheet.values
        counts = len(body) - np.isnan(body).sum(axis=0)
        columns = cls([], [], [], sheet.head if has_header else None)
        for column, count in enumerate(counts):
            number_of_words, line, word = sheet.words.get(column, (0, 0, ""))
            cell = sheet.head[column]
            if not has_header and _number(cell, dialect) is None:
                number_of_words, line, word = number_of_words + 1, int(sheet.lines[0]), cell
            if number_of_words > count:
                columns.words.append(column)
            elif number_of_words:
                raise DataError(columns.stray(column, line, word, dialect))
            elif count:
                columns.numbers.append(column)
            else:
                columns.empty.append(column)
        for column in columns.empty:
            # A delimiter at the end of every row makes an empty last column.
            if column < len(sheet.head) - 1 or (has_header and sheet.head[column].strip()):
                raise DataError(f"{columns.place(column)} holds no value; remove it.")
        return columns

    def place(self, column: int) -> str:
        """ "Column 3 ('weight')", with the name where there is a header."""
        name = clean_name(self.head[column], 40) if self.head is not None else ""
        return f"Column {column + 1}" + (f" ({name!r})" if name else "")

    def stray(self, column: int, line: int, word: str, dialect: _Dialect) -> str:
        """The sentence about a word among numbers."""
        place = self.place(column)
        hint = ""
        if dialect.decimal_comma and _WITH_POINT.fullmatch(word):
            hint = " Elsewhere in this file the decimal mark is a comma."
        elif _WITH_COMMA.fullmatch(word) or _THOUSANDS.fullmatch(word):
            hint = " Write decimals with a point and thousands without a mark."
        return (
            f"Row {line}, {place[0].lower()}{place[1:]} holds {clean_name(word, 40)!r}, but the "
            f"column is one of numbers.{hint}"
        )


def _dialect(content: bytes) -> _Dialect:
    """Encoding, delimiter and decimal mark, judged from the first lines."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif b"\0" in content:
        raise DataError(
            "The file is neither text nor a known binary format; CSV, TSV, NPY, NPZ and Matrix "
            "Market (MTX) files can be read."
        )
    else:
        encoding = "utf-8-sig"
    try:
        content.decode(encoding)
    except UnicodeDecodeError as error:
        if encoding == "utf-16":
            raise DataError("The file begins as UTF-16 text but is damaged.") from error
        encoding = "latin-1"
    lines, characters = [], 0
    text = io.TextIOWrapper(io.BytesIO(content), encoding=encoding, newline="")
    for line in islice(iter(lambda: text.readline(SAMPLE_CHARACTERS), ""), SAMPLE_LINES):
        lines.append(line)
        characters += len(line)
        if characters >= SAMPLE_CHARACTERS:
            break
    delimiter, agreement = "", 0.0
    for candidate in DELIMITERS:
        rows = _sample_rows(lines, candidate)
        width, count = Counter(len(row) for row in rows).most_common(1)[0] if rows else (1, 0)
        if width > 1 and count / len(rows) > agreement:
            delimiter, agreement = candidate, count / len(rows)
    if not delimiter:
        raise DataError(
            "Only one column was found; separate the cells by comma, semicolon or tab, and give "
            "at least two columns of numbers."
        )
    cells = [cell for row in _sample_rows(lines, delimiter) for cell in row]
    decimal_comma = (
        delimiter != ","
        # 1,234 alone may be a thousand or more: it is then refused, not guessed.
        and any(_WITH_COMMA.fullmatch(cell) and not _THOUSANDS.fullmatch(cell) for cell in cells)
        and not any(_WITH_POINT.fullmatch(cell) for cell in cells)
    )
    return _Dialect(encoding, delimiter, decimal_comma)


def _sample_rows(lines: list[str], delimiter: str) -> list[list[str]]:
    rows: list[list[str]] = []
    # What cannot be cut is reported with its row when the table is read.
    with suppress(csv.Error):
        rows.extend(row for row in csv.reader(lines, delimiter=delimiter) if any(row))
    return rows


def _records(content: bytes, dialect: _Dialect) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not blank, each with the line of the file on which it begins."""
    text = io.TextIOWrapper(io.BytesIO(content), encoding=dialect.encoding, newline="")

    def lines() -> Iterator[str]:
        for number, line in enumerate(text, start=1):
            if number > MAX_ROWS:
                raise DataError(f"The table has more than {MAX_ROWS:,} rows, the most allowed.")
            # Counted before the row is cut up, which for millions of cells takes gigabytes.
            if line.count(dialect.delimiter) >= MAX_COLUMNS:
                raise DataError(f"Row {number} has more than {MAX_COLUMNS:,} cells.")
            yield line

    reader = csv.reader(lines(), delimiter=dialect.delimiter, skipinitialspace=True, strict=True)
    line = 1
    try:
        for row in reader:
            if row and max(map(len, row)) > MAX_FIELD:
                column = next(i for i, cell in enumerate(row) if len(cell) > MAX_FIELD)
                raise DataError(
                    f"Row {line}, column {column + 1} holds more than {MAX_FIELD:,} characters; "
                    "perhaps a quotation mark is not closed."
                )
            if any(row) and any(not cell.isspace() for cell in row if cell):
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"Row {line} cannot be cut into cells; perhaps a quotation mark is not closed."
        ) from error


def _read_sheet(content: bytes, dialect: _Dialect) -> _Sheet:
    records = _records(content, dialect)
    head_line, head = next(records, (0, []))
    lines, numbers, short_head = [head_line], array("d"), False
    words: dict[int, tuple[int, int, str]] = {}
    width = 0
    for line, row in records:
        if not width:
            width = len(row)
            short_head = len(head) == width - 1
            head = ["", *head] if short_head else head
            _add_numbers(numbers, head, dialect)
            if len(head) != width:
                raise _ragged(line, width, head_line, len(head))
        elif len(row) != width:
            raise _ragged(line, len(row), lines[-1], width)
        for column in _add_numbers(numbers, row, dialect):
            count, first_line, word = words.get(column, (0, line, row[column]))
            words[column] = (count + 1, first_line, word)
        lines.append(line)
        check_entries(len(lines), width)
    if not width:
        raise DataError("The table has fewer than two rows; two rows of numbers are needed.")
    values = np.frombuffer(numbers, dtype=np.float64).reshape(len(lines), width)
    return _Sheet(head, short_head, np.array(lines), values, words)


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"


def _ragged(line: int, cells: int, other_line: int, other_cells: int) -> DataError:
    return DataError(
        f"Row {line} has {_cells(cells)}, but row {other_line} has {other_cells}; every row of a "
        "table needs the same number. Separate cells by commas, semicolons or tabs."
    )


def _add_numbers(numbers: "array[float]", row: list[str], dialect: _Dialect) -> list[int]:
    """Append the numbers of a row, NaN where there is none; return the columns of words."""
    if not dialect.decimal_comma:
        try:
            plain = [float(cell) for cell in row]
        except ValueError:
            pass
        else:
            # float() also takes 1_000, which no table means as a number.
            if not any("_" in cell for cell in row):
                numbers.extend(plain)
                return []
    values = [_number(cell, dialect) for cell in row]
    numbers.extend(np.nan if value is None else value for value in values)
    return [column for column, value in enumerate(values) if value is None]


def _number(cell: str, dialect: _Dialect) -> float | None:
    """The number in a cell, NaN if it is missing, None if it holds words."""
    cell = cell.strip()
    if cell.lower() in MISSING:
        return np.nan
    if dialect.decimal_comma:
        if "." in cell:
            return None
        cell = cell.replace(",", ".", 1)
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def _has_header(sheet: _Sheet, dialect: _Dialect) -> bool:
    counts = len(sheet.values) - 1 - np.isnan(sheet.values[1:]).sum(axis=0)
    above_numbers = [
        _number(cell, dialect)
        for column, cell in enumerate(sheet.head)
        if counts[column] > sheet.words.get(column, (0,))[0]
    ]
    words = sum(value is None for value in above_numbers)
    numbers = [value for value in above_numbers if value is not None and not np.isnan(value)]
    if words > len(numbers):
        return True
    rest = sheet.values[0, 1:]
    return (
        not sheet.short_head
        and not sheet.head[0].strip()
        and not np.isnan(rest).any()
        and len(np.unique(rest)) == len(rest)
        and (0 in sheet.words or counts[0] > 0)
    )


def _texts(content: bytes, dialect: _Dialect, columns: set[int], skip: int) -> dict[int, list[str]]:
    """The cells of some columns as they were written, read once more so as not to hold all."""
    texts: dict[int, list[str]] = {column: [] for column in columns}
    if columns:
        for _, row in islice(_records(content, dialect), skip, None):
            for column, cells in texts.items():
                cells.append(row[column])
    return texts


def _label(cell: str) -> str:
    return "" if cell.strip().lower() in MISSING else clean_name(cell)


def _check_values(
    values: np.ndarray, lines: np.ndarray, numeric: list[int], columns: _Columns
) -> None:
    """Refuse infinite and negative numbers and rows without any, by their place in the file."""
    for bad, words in ((np.isinf(values), "not finite"), (values < 0, "negative")):
        if bad.any():
            row, column = (int(i) for i in np.argwhere(bad)[0])
            place = columns.place(numeric[column])
            raise DataError(
                f"Row {lines[row]}, {place[0].lower()}{place[1:]} holds {values[row, column]:g}, "
                f"which is {words}; every entry must be a finite number ≥ 0."
            )
    nothing = np.isnan(values).all(axis=1)
    if nothing.any():
        raise DataError(f"Row {lines[np.flatnonzero(nothing)[0]]} holds no number; remove it.")
