"""Does the first row of a table name its columns?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bnmf_core.data import cells
from bnmf_core.data.sheet import Sheet, Table

# Numbers rise over so many columns by chance in one row of 40,000.
LONGEST_CHANCE = 8
FIRST_ROWS = 100
_FIRST_YEAR, _LAST_YEAR, _FIRST_DATE = 1500, 2200, 15_000_000


@dataclass(frozen=True)
class Head:
    """Whether there is a header, why, and a doubt if there is one."""

    there: bool
    reason: str
    doubt: str = ""


def find_header(sheet: Sheet, table: Table) -> Head:
    """What the first row of the table is, judged from the rows below it."""
    line = int(sheet.lines[0])
    rows = len(sheet.values) - 1
    counts = rows - np.isnan(sheet.values[1:]).sum(axis=0)
    above: list[float] = []
    of_numbers: list[int] = []
    in_words: set[int] = set()
    for column, cell in enumerate(sheet.head):
        found = sheet.words.get(column)
        yes_no = found is not None and found.truths == found.count
        if found is not None and found.count > counts[column] and not yes_no:
            continue
        if not counts[column] and not yes_no:
            continue
        of_numbers.append(column)
        try:
            above.append(cells.number(cell, table.decimal_comma, table.missing))
        except ValueError:
            if not (yes_no and cell.strip().lower() in cells.TRUTH):
                in_words.add(column)
    numbers = [value for value in above if not np.isnan(value)]
    if len(in_words) > len(numbers):
        return Head(True, f"most cells of row {line} above numbers are words")
    # What stands above the names of rows says nothing of the columns.
    named = _names_rows(sheet, of_numbers)
    beside = [c for c in of_numbers if c not in in_words and (c > 0 or not named)]
    row = [sheet.head[column] for column in beside]
    if what := _counting(row, sheet, beside):
        return Head(
            True,
            f"row {line} holds {what}",
            f"Row {line} holds {what}: taken as the names of the columns, not as numbers.",
        )
    if in_words and not sheet.short_head and not sheet.head[0].strip():
        return Head(True, f"the first cell of row {line} is empty and others are words")
    rest = sheet.values[0, 1:]
    if (
        not sheet.short_head
        and not sheet.head[0].strip()
        and not np.isnan(rest).any()
        and len(np.unique(rest)) == len(rest)
        and (0 in sheet.words or counts[0] > 0)
    ):
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


def _names_rows(sheet: Sheet, of_numbers: Sequence[int]) -> bool:
    return 0 not in of_numbers or not sheet.head[0].strip() or not cells.is_number(sheet.head[0])


def _counting(row: Sequence[str], sheet: Sheet, columns: Sequence[int]) -> str:
    """What the cells count, in words, where most other rows do not count so; "" otherwise."""
    if len(row) < 2:
        return ""
    body = sheet.values[1 : FIRST_ROWS + 1][:, columns]
    steps = np.diff(body, axis=1)
    candidates = (
        ("dates", cells.are_dates(row), body > _FIRST_DATE),
        ("years", cells.are_years(row), (body >= _FIRST_YEAR) & (body <= _LAST_YEAR)),
        ("the numbers 0, 1, 2, …", cells.counts_from(row) == 0, steps == 1.0),
        (
            "the numbers 1, 2, 3, …",
            cells.counts_from(row) == 1 and 0 not in columns,
            steps == 1.0,
        ),
        (
            "numbers that rise from column to column",
            len(row) >= LONGEST_CHANCE and bool((np.diff(sheet.values[0, columns]) > 0).all()),
            steps > 0,
        ),
    )
    for what, counts, others in candidates:
        if counts and others.all(axis=1).mean() <= 0.5:
            return what
    return ""
