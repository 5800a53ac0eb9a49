"""Parse a table: its numbers, the positions of words, faults, and the header."""

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice

import numpy as np

from bnmf_core.core.errors import DataError
from bnmf_core.data import cells
from bnmf_core.data.limits import check_entries
from bnmf_core.data.reading import PREVIEW_ROWS
from bnmf_core.data.text import COMMENTS

Record = tuple[int, list[str]]
MOST_FAULTS = 5
SAMPLE_RECORDS = 200
# Random numbers rise over so many columns in one row of 40,000.
LONGEST_CHANCE = 8
# Rows below a candidate header that are compared with it.
FIRST_ROWS = 100
_FIRST_DATE = 10_000 * cells.FIRST_YEAR


@dataclass(frozen=True)
class Table:
    """Source of the rows of a table, which can be read repeatedly.

    records : yields each non-blank row with its row number in the file.
    missing : words in lower case that mean "not seen". thousands : whether a comma in 1,234 can
    only be a mark between thousands. points : whether a point may be one, too.
    """

    records: Callable[[], Iterator[Record]]
    decimal_comma: bool = False
    missing: frozenset[str] = cells.MISSING
    thousands: bool = True
    points: bool = False

    @cached_property
    def plain(self) -> bool:
        """Whether ``float`` parses all numbers."""
        return not self.decimal_comma and not any(map(cells.is_number, self.missing))


@dataclass
class Words:
    """Statistics of the words of a column below its first row.

    first : position and text of the first ones. truths : number of yes and no. marked : number
    of numbers with marks. limits : how many of those are limits.
    """

    count: int = 0
    first: list[tuple[int, str]] = field(default_factory=list)
    truths: int = 0
    marked: int = 0
    limits: int = 0

    def add(self, line: int, cell: str, decimal_comma: bool) -> None:
        """Count a word."""
        self.count += 1
        if found := cells.marked(cell, decimal_comma):
            self.marked += 1
            self.limits += found.mark == cells.LIMIT
        self.truths += cell.strip().lower() in cells.TRUTH
        if len(self.first) < MOST_FAULTS:
            self.first.append((line, cell))


@dataclass(frozen=True)
class Sheet:
    """A parsed table.

    Attributes
    ----------
    above : rows of the file before the table.
    head : cells of the table's first row. short_head : whether it lacked the first cell.
    lines : (rows,) row of the file on which each begins, the first one included.
    values : (rows, columns) numbers; NaN where a cell is missing or holds words.
    words : column (from 0) → its words. empty_lines : rows of empty cells, left out.
    first : the file's first rows. ragged : sentences about rows of other lengths.
    marked : column → a sentence on how its numbers with marks were read.
    """

    above: list[int]
    head: list[str]
    short_head: bool
    lines: np.ndarray
    values: np.ndarray
    words: dict[int, Words]
    empty_lines: list[int]
    first: list[Record]
    ragged: list[str]
    marked: dict[int, str] = field(default_factory=dict)

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.values.shape[1]

    @cached_property
    def by_head(self) -> dict[str, int]:
        """The first column of each header."""
        return {cell.strip(): column for column, cell in reversed([*enumerate(self.head)])}


def read_sheet(table: Table, header_row: int | None = None) -> Sheet:
    """Read a table; ``header_row`` : its first row in the file, if known.

    DataError for fewer than two rows or too many entries.
    """
    records = table.records()
    sample = list(islice(records, SAMPLE_RECORDS))
    start = _start(sample, header_row)
    rest = chain(sample[start:], records)
    head_line, head = next(rest, (0, []))
    head = [head[0].lstrip("#! "), *head[1:]] if head else head
    lines, numbers, short_head, width = [head_line], array("d"), False, 0
    words: dict[int, Words] = {}
    empty_lines: list[int] = []
    ragged: list[str] = []
    skipped = 0
    for line, row in rest:
        if not "".join(row).strip():
            empty_lines.append(line)
            continue
        if not width:
            width = len(row)
            short_head = len(head) == width - 1
            head = ["", *head] if short_head else head
            _add_numbers(numbers, head, table)
            if len(head) != width:
                raise DataError(_ragged(line, width, head_line, len(head)))
        elif len(row) != width:
            skipped += 1
            if len(ragged) < MOST_FAULTS:
                ragged.append(_ragged(line, len(row), lines[-1], width))
            continue
        for column in _add_numbers(numbers, row, table):
            words.setdefault(column, Words()).add(line, row[column], table.decimal_comma)
        lines.append(line)
        check_entries(len(lines), width)
    if not width:
        raise DataError(
            "The table has one row only, and fewer than two rows of numbers cannot be factorized. "
            "Add rows below the header, or choose another file."
        )
    if skipped > len(ragged):
        ragged.append(f"{skipped - len(ragged):,} more rows have another number of cells.")
    # Ignore empty rows at the end.
    empty_lines = [line for line in empty_lines if line < lines[-1]]
    values = np.frombuffer(numbers, dtype=np.float64).reshape(len(lines), width)
    if short_head and width - 1 not in words and np.isnan(values[1:, -1]).all():
        # Every row ends with a separator: the last column has no name.
        head, short_head, values = [*head[1:], ""], False, values.copy()
        values[0] = np.append(values[0, 1:], np.nan)
    above, first = [line for line, _ in sample[:start]], sample[:PREVIEW_ROWS]
    sheet = Sheet(
        above, head, short_head, np.array(lines), values, words, empty_lines, first, ragged
    )
    return _without_marks(table, sheet)


def _without_marks(table: Table, sheet: Sheet) -> Sheet:
    """Parse columns in which every word is a number with marks."""
    comma = table.decimal_comma
    # A column of limits alone, such as groups of ages, holds words.
    chosen = {c for c, found in sheet.words.items() if found.marked == found.count > found.limits}
    columns = {
        column: values
        for column, found in texts(table, sheet, chosen, 0).items()
        if (table.thousands or not cells.may_be_decimals(found))
        and (values := cells.marked_column(found, comma, table.missing)) is not None
    }
    if not columns:
        return sheet
    values = sheet.values.copy()
    for column, of_column in columns.items():
        values[:, column] = of_column
    firsts = {column: sheet.words[column].first[0][1] for column in sorted(columns)}
    return replace(
        sheet,
        values=values,
        words={column: found for column, found in sheet.words.items() if column not in columns},
        marked={column: cells.how_marked(first, comma) for column, first in firsts.items()},
    )


def texts(table: Table, sheet: Sheet, columns: set[int], first: int) -> dict[int, list[str]]:
    """Read the cells of some columns as text again, to save memory.

    ``first`` : index of the first row in ``sheet.lines``.
    """
    found: dict[int, list[str]] = {column: [] for column in columns}
    wanted = iter(sheet.lines[first:].tolist() if columns else [])
    awaited = next(wanted, None)
    for line, row in table.records() if columns else ():
        if line != awaited:
            continue
        cells_of = row if len(row) == sheet.width else sheet.head
        for column, of_column in found.items():
            of_column.append(cells_of[column])
        awaited = next(wanted, None)
    return found


def _start(sample: list[Record], header_row: int | None) -> int:
    """Number of rows above the table."""
    if header_row is not None:
        lines = [line for line, _ in sample]
        if header_row not in lines:
            raise DataError(
                f"Row {header_row} cannot be the header: it is blank, or beyond the first "
                f"{lines[-1] if lines else 0} rows."
            )
        return lines.index(header_row)
    widths = [len(row) for _, row in sample]
    usual = max(set(widths), key=widths.count) if widths else 0
    for start, (_, row) in enumerate(sample):
        filled = [cell for cell in row if cell.strip()]
        if not filled:
            continue
        begins = row[0].lstrip().lower()
        near = usual - 1 <= len(row) <= usual
        comment = begins.startswith("sep=") or (begins.startswith(COMMENTS) and not near)
        title = usual > 2 and len(filled) == 1 and row[0].strip() and not cells.is_number(row[0])
        # A single cell above a table of many columns is a title; elsewhere it is a fault.
        if not (comment or (title and len(row) in (1, usual) and start < len(sample) - 2)):
            return start
    return len(sample)


def _ragged(line: int, count: int, other_line: int, other_count: int) -> str:
    return (
        f"Row {line} has {count} cell{'' if count == 1 else 's'}, but row {other_line} has "
        f"{other_count}; every row of a table needs the same number. Separate cells by commas, "
        "semicolons or tabs."
    )


def _add_numbers(numbers: "array[float]", row: Sequence[str], table: Table) -> list[int]:
    """Append the numbers of a row, NaN where there is none; return the columns of words."""
    if table.plain:
        try:
            plain = [*map(float, row)]
        except ValueError:
            pass
        else:
            # float() also accepts 1_000, which is no number in a table.
            if "_" not in "".join(row):
                numbers.extend(plain)
                return []
    words = []
    for column, cell in enumerate(row):
        try:
            numbers.append(cells.number(cell, table.decimal_comma, table.missing))
        except ValueError:
            numbers.append(np.nan)
            words.append(column)
    return words


@dataclass(frozen=True)
class Head:
    """Whether there is a header, the reason, and an optional doubt."""

    exists: bool
    reason: str
    doubt: str = ""


def find_header(sheet: Sheet, table: Table) -> Head:
    """Compare the first row with the rows below it to detect a header."""
    line, head = int(sheet.lines[0]), sheet.head
    counts = (~np.isnan(sheet.values[1:])).sum(axis=0)
    numbers = 0
    of_numbers: list[int] = []
    in_words: set[int] = set()
    for column, cell in enumerate(head):
        found = sheet.words.get(column, Words())
        yes_no = 0 < found.truths == found.count
        # Numbers with inconsistent marks count as numbers.
        marked = found.marked - found.limits
        count, words = counts[column] + marked, found.count - marked
        if not yes_no and (not count or words > count):
            continue
        of_numbers.append(column)
        try:
            numbers += not np.isnan(cells.number(cell, table.decimal_comma, table.missing))
        except ValueError:
            if not (yes_no and cell.strip().lower() in cells.TRUTH):
                in_words.add(column)
    if len(in_words) > numbers:
        return Head(True, f"most cells of row {line} above numbers are words")
    # The cell above the row names does not belong to the header.
    names = 0 not in of_numbers or not head[0].strip() or not cells.is_number(head[0])
    heads = [c for c in of_numbers if c not in in_words and (c > 0 or not names)]
    row = [head[column] for column in heads]
    if what := _counting(row, sheet, heads):
        doubt = f"Row {line} holds {what}: taken as the names of the columns, not as numbers."
        return Head(True, f"row {line} holds {what}", doubt)
    empty_first = not sheet.short_head and not head[0].strip()
    if in_words and empty_first:
        return Head(True, f"the first cell of row {line} is empty and others are words")
    rest = sheet.values[0, 1:]
    differ = not np.isnan(rest).any() and len(np.unique(rest)) == len(rest)
    if empty_first and differ and (0 in sheet.words or counts[0] > 0):
        return Head(
            True,
            f"the first cell of row {line} is empty and the others all differ",
            f"The first cell of row {line} is empty, and its numbers all differ: it is taken as "
            "the names of the columns.",
        )
    doubt = ""
    if cells.counts_from(row) == 1 and len(row) > 2:
        doubt = f"Row {line} counts 1, 2, 3, …: taken as numbers, not as the names of the columns."
    return Head(False, f"row {line} holds numbers like the rows below it", doubt)


def _counting(row: Sequence[str], sheet: Sheet, columns: Sequence[int]) -> str:
    """Name of a sequence in the cells that most other rows lack; "" without one."""
    if len(row) < 2:
        return ""
    body = sheet.values[1 : FIRST_ROWS + 1][:, columns]
    steps, start = np.diff(body, axis=1), cells.counts_from(row)
    rising = len(row) >= LONGEST_CHANCE and (np.diff(sheet.values[0, columns]) > 0).all()
    years = (body >= cells.FIRST_YEAR) & (body <= cells.LAST_YEAR)
    candidates = (
        ("dates", cells.are_dates(row), body > _FIRST_DATE),
        ("years", cells.are_years(row), years),
        ("the numbers 0, 1, 2, …", start == 0, steps == 1.0),
        ("the numbers 1, 2, 3, …", start == 1 and 0 not in columns, steps == 1.0),
        ("numbers that rise from column to column", rising, steps > 0),
    )
    for what, counts, others in candidates:
        if counts and others.all(axis=1).mean() <= 0.5:
            return what
    return ""
