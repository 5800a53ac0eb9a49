"""Interpret a table as a Reading, and read its matrix with names and labels.

All formats with rows of cells (CSV, a sheet of a workbook, a Parquet file) share this detection of
names, classes and numbers; every fault has its row and column.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bnmf_core.core.dataset import Parts
from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_name, clean_names, listed
from bnmf_core.data import cells
from bnmf_core.data.reading import AXES, IS_NEGATIVE, REFUSED, Reading, preview_of
from bnmf_core.data.roles import CHOSEN, Columns, Roles, find_roles
from bnmf_core.data.sheet import MOST_FAULTS, Head, Sheet, Table, find_header, read_sheet

# Names of rows that summarize the others.
_SUMMARIES = frozenset(
    ("mean", "average", "median", "sum", "total", "sd", "std", "stdev", "std. dev", "std dev")
)


def inspect_table(table: Table, chosen: Mapping[str, Any], reading: Reading) -> Reading:
    """How a table would be read; ``chosen`` : fixed choices.

    ``reading`` has format, encoding and separator. DataError for fewer than two rows, or a choice
    of a missing column.
    """
    header_row = chosen.get("header_row")
    sheet = read_sheet(table, header_row)
    if "header_row" in chosen:
        head = Head(header_row is not None, CHOSEN)
    else:
        head = find_header(sheet, table)
    if sheet.short_head and not head.exists:
        raise DataError(
            f"Row {sheet.lines[1]} has {len(sheet.head)} cells, but row {sheet.lines[0]} has "
            f"{len(sheet.head) - 1}; every row needs the same number."
        )
    places: dict[str, Any] = {
        key: _columns(chosen[key], sheet)
        for key in ("label_columns", "number_columns", "left_out_columns")
        if key in chosen
    }
    if "names_column" in chosen:
        places["names_column"] = _column(chosen["names_column"], sheet)
    if "observations" in chosen:
        places["observations"] = chosen["observations"]
    roles, columns = find_roles(sheet, table, head.exists, places)
    doubts = [*reading.doubts, *([head.doubt] if head.doubt else []), *roles.doubts]
    with_marks = sorted(sheet.marked.keys() & {*roles.numbers})
    doubts += [f"{columns.place(c)} {sheet.marked[c]}" for c in with_marks[:MOST_FAULTS]]
    if (more := len(with_marks) - MOST_FAULTS) > 0:
        doubts.append(f"{more:,} more columns hold numbers with such marks, read in the same way.")
    if table.points and roles.numbers:
        doubts += _doubt_points(sheet, columns, roles, of_all=reading.separator == ";")
    return replace(
        reading,
        decimal_mark="," if table.decimal_comma else ".",
        header_row=int(sheet.lines[0]) if head.exists else None,
        names_column=None if roles.names is None else roles.names + 1,
        label_columns=tuple(column + 1 for column in roles.labels),
        number_columns=tuple(column + 1 for column in roles.numbers),
        yes_no_columns=tuple(column + 1 for column in roles.yes_no),
        observations=roles.observations,
        reasons={**reading.reasons, "header_row": head.reason, **roles.reasons},
        doubts=(*doubts, *_row_doubts(sheet, columns, roles)),
        faults=tuple(_faults(sheet, columns, roles)),
        columns=tuple(clean_name(cell, 60) if head.exists else "" for cell in sheet.head),
        preview=preview_of(sheet.first, table.missing, sheet.width, len(sheet.lines)),
    )


def table_parts(table: Table, reading: Reading) -> Parts:
    """The arguments of ``Dataset.from_array`` for a table read according to the Reading.

    DataError that lists all faults by row and column.
    """
    sheet = read_sheet(table, reading.header_row)
    roles = Roles(
        names=_column(reading.names_column, sheet),
        labels=_columns(reading.label_columns, sheet),
        numbers=_columns(reading.number_columns, sheet),
        yes_no=_columns(reading.yes_no_columns, sheet),
        observations=reading.observations,
    )
    columns = Columns(sheet, table, reading.header_row is not None)
    chosen = reading.negative not in ("", REFUSED)
    faults = [one for one in _faults(sheet, columns, roles) if not (chosen and IS_NEGATIVE in one)]
    if faults:
        raise DataError(" ".join(faults))
    rows = np.flatnonzero(~_without_numbers(sheet, columns, roles))
    columns.fetch({*roles.labels, *roles.yes_no, *([] if roles.names is None else [roles.names])})
    values = sheet.values[columns.first :][np.ix_(rows, np.array(roles.numbers))]
    places = {column: place for place, column in enumerate(roles.numbers)}
    for column in roles.yes_no:
        truths = [cells.TRUTH.get(cell.strip().lower(), np.nan) for cell in columns.text(column)]
        values[:, places[column]] = np.array(truths)[rows]
    row_names = _row_names(sheet, columns, roles, rows)
    column_names = _heads(columns, roles.numbers) if columns.has_header else None
    labels = {}
    for key, column in zip(_heads(columns, roles.labels), roles.labels, strict=True):
        found = [columns.text(column)[row] for row in rows]
        labels[key] = ["" if cells.is_missing(c, table.missing) else clean_name(c) for c in found]
    if reading.observations != "rows":
        names: Parts = {"X": values, "features": row_names, "observations": column_names}
        return names | {"descriptions": labels}
    return {"X": values.T, "features": column_names, "observations": row_names, "labels": labels}


def _column(reference: int | str | None, sheet: Sheet) -> int | None:
    """Index of a column from its number, counted from 1, or its heading."""
    if reference is None:
        return None
    text = str(reference).strip()
    if text in sheet.by_head and not isinstance(reference, int):
        return sheet.by_head[text]
    if text.isdigit() and 1 <= int(text) <= sheet.width:
        return int(text) - 1
    heads = [cell.strip() for cell in sheet.head[:6]]
    shown = ", ".join(repr(clean_name(head, 30)) for head in heads if head)
    raise DataError(
        f"There is no column {clean_name(text, 40)!r}; give a number from 1 to {sheet.width:,}, or "
        f"a name of the first row ({shown} …)."
    )


def _columns(references: Sequence[int | str], sheet: Sheet) -> list[int]:
    found = (_column(reference, sheet) for reference in references)
    return [column for column in found if column is not None]


def _heads(columns: Columns, numbers: Sequence[int]) -> list[str]:
    heads = [columns.head(column) or f"column {column + 1}" for column in numbers]
    return clean_names(heads, "column")


def _without_numbers(sheet: Sheet, columns: Columns, roles: Roles) -> np.ndarray:
    """(rows,) bool, True if all columns of numbers are missing."""
    body = sheet.values[columns.first :]
    nothing = np.isnan(body[:, np.array(roles.numbers, dtype=np.intp)]).all(axis=1)
    with_words = [c for c in roles.numbers if columns.words[c]] if nothing.any() else []
    columns.fetch({*with_words})
    for column in with_words:
        if not nothing.any():
            break
        found = columns.text(column)
        for row in np.flatnonzero(nothing):
            nothing[row] = cells.is_missing(found[row], columns.table.missing)
    return nothing


def _row_names(sheet: Sheet, columns: Columns, roles: Roles, rows: np.ndarray) -> list[str] | None:
    if roles.names is not None:
        found = columns.text(roles.names)
        return clean_names([found[row] for row in rows], "row")
    if not sheet.empty_lines:
        return None
    # Rows of empty cells are left out; the others keep their numbers.
    word = "observation" if roles.observations == "rows" else "feature"
    lines = sheet.lines[columns.first :]
    numbers = np.arange(1, len(lines) + 1) + np.searchsorted(np.array(sheet.empty_lines), lines)
    return [f"{word} {number}" for number in numbers[rows]]


def _row_doubts(sheet: Sheet, columns: Columns, roles: Roles) -> list[str]:
    """Sentences about rows that are left out and names that are missing or repeated."""
    lines = sheet.lines[columns.first :]
    keep = "the others keep their numbers" if roles.names is None else "names keep their rows"
    doubts = _row_sentences(sheet.above, "stands", "stand", "above the table: left out.")
    doubts += _row_sentences(sheet.empty_lines, "is", "are", f"empty: left out; {keep}.")
    if roles.numbers and not (nothing := _without_numbers(sheet, columns, roles)).all():
        doubts += _row_sentences(lines[nothing].tolist(), "holds", "hold", "no number: left out.")
    if roles.names is not None:
        found = columns.text(roles.names)
        blank = [int(line) for line, cell in zip(lines, found, strict=True) if not cell.strip()]
        doubts += _row_sentences(blank, "has", "have", "no name: a number stands in for it.")
        if not columns.differ(roles.names):
            doubts.append(
                f"{columns.place(roles.names)} repeats names: those that come again get a number."
            )
        doubts += _doubt_summaries(found)
    heads = [columns.head(column) for column in roles.numbers]
    if columns.has_header and len(set(heads)) < len(heads):
        doubts.append("Columns share a name: those that come again get a number.")
    return doubts


def _doubt_summaries(names: Sequence[str]) -> list[str]:
    """A sentence about first and last rows named like summaries of the others."""
    others = [i for i, name in enumerate(names) if name.strip().lower() not in _SUMMARIES]
    rows = [*range(others[0]), *range(others[-1] + 1, len(names))] if others else []
    if not 0 < len(rows) < len(others):
        return []
    called = [*dict.fromkeys(repr(names[row].strip()) for row in rows)][:MOST_FAULTS]
    return [
        f"Rows named {listed(called)} look like summaries of the others: taken as data like them; "
        "leave them out of the file if they are."
    ]


def _doubt_points(sheet: Sheet, columns: Columns, roles: Roles, of_all: bool) -> list[str]:
    """A sentence if every point may be a thousands separator.

    of_all : even if no column has integers.
    """
    values = sheet.values[columns.first :][:, roles.numbers]
    fractions = np.abs(values[np.nan_to_num(values, posinf=0.0, neginf=0.0) % 1 != 0])
    if ((fractions < 1) | (fractions > 1000) | (fractions.round(3) != fractions)).any():
        return []
    first: dict[int, tuple[int, str]] = {}
    pointed = dict.fromkeys(roles.numbers, 0)
    for line, row in columns.table.records():
        if line < sheet.lines[columns.first] or len(row) != sheet.width or "." not in "".join(row):
            continue
        for column in roles.numbers:
            if "." not in (cell := row[column]):
                continue
            if cells.point_may_be_thousands(cell):
                pointed[column] += 1
                first.setdefault(column, (line, cell.strip()))
            elif cells.is_number(cell):
                return []
    for column, (line, cell) in first.items():
        if of_all or columns.counts[column] > pointed[column]:
            return [
                f"{columns.cell(line, column)} holds {cell!r}: like all numbers with a point, it "
                f"is read as {cell}, not as {cell.replace('.', '')}. If the point stands between "
                "thousands, choose the comma as the decimal mark (--decimal comma)."
            ]
    return []


def _row_sentences(lines: Sequence[int], one: str, several: str, words: str) -> list[str]:
    """A sentence about rows: "Row 3 is", "Rows 3, 5 and 8 are", "Rows 3, 5 and 12 more are"."""
    if len(lines) < 2:
        return [f"Row {line} {one} {words}" for line in lines]
    shown = [str(line) for line in lines[:MOST_FAULTS]]
    more = len(lines) - len(shown)
    last = f"{more:,} more" if more else shown.pop()
    return [f"Rows {', '.join(shown)} and {last} {several} {words}"]


def _faults(sheet: Sheet, columns: Columns, roles: Roles) -> list[str]:
    """Sentences about all faults: rows of other lengths, words, invalid numbers."""
    faults = list(sheet.ragged)
    if roles.observations not in AXES:
        faults.append("Say whether the rows or the columns are the observations.")
    if not roles.numbers:
        return [*faults, "The table has no column of numbers.", *_units(sheet, columns)]
    strays = sorted({c for c in roles.numbers if columns.words[c]} - {*roles.yes_no})
    if second := _second_header(sheet, columns, roles, strays):
        faults.append(second)
    else:
        faults += [columns.stray(column) for column in strays[:MOST_FAULTS]]
        if len(strays) > MOST_FAULTS:
            faults.append(f"{len(strays) - MOST_FAULTS:,} more columns of numbers hold words.")
    lines = sheet.lines[columns.first :]
    values = sheet.values[columns.first :][:, roles.numbers]
    for bad, words in ((np.isinf(values), "not finite"), (values < 0, "negative")):
        if bad.any():
            row, column = (int(i) for i in np.argwhere(bad)[0])
            place = columns.cell(lines[row], roles.numbers[column])
            more = f" So are {bad.sum() - 1:,} more." if bad.sum() > 1 else ""
            faults.append(
                f"{place} holds {values[row, column]:g}, which is {words}; every entry must be a "
                f"finite number ≥ 0.{more}"
            )
    if not strays and _without_numbers(sheet, columns, roles).all():
        faults.append("No row holds a number.")
    return faults


def _units(sheet: Sheet, columns: Columns) -> list[str]:
    """A sentence about cells with a number and its unit, which are not parsed."""
    for column, words in sorted(sheet.words.items()):
        if unit := cells.unit_of([cell for _, cell in words.first]):
            line, cell = words.first[0]
            return [
                f"{columns.cell(line, column)} holds {clean_name(cell.strip(), 40)!r}, a number "
                f"with its unit; take {unit!r} out of the cells, and put it into the header."
            ]
    return []


def _second_header(sheet: Sheet, columns: Columns, roles: Roles, strays: Sequence[int]) -> str:
    """A sentence about words directly below the header: a second header or units."""
    if not columns.has_header or len(strays) < 2 or len(sheet.lines) < 3:
        return ""
    line, comma = int(sheet.lines[1]), columns.table.decimal_comma
    found = [sheet.words[column].first for column in strays]
    heads = {
        cell.strip(): None
        for (first, cell), *_ in found
        if first == line and not cells.marked(cell, comma)
    }
    above = sum(first == line and cell.strip() in heads for (first, cell), *_ in found)
    below = {cell.strip(): cells.marked(cell, comma) for words in found for at, cell in words[1:]}
    alone = above == len(strays) == sum(columns.words[strays])
    if below.keys() & heads.keys() or not (alone or 2 * above > len(roles.numbers)):
        return ""
    unread = [
        cell for cell, marking in below.items() if marking is None or marking.mark == cells.LIMIT
    ]
    units = " ".join(map(cells.missing_option, [*heads, *unread[:2]]))
    left_out = f", or leave it out as missing cells ({units})" if len(heads) < 4 else ""
    return (
        f"Row {line} holds words such as {clean_name(next(iter(heads)), 40)!r} above the numbers "
        f"of {above:,} columns, like a second header or units; choose row {line} as the header "
        f"(--header {line}), make one row of the two, bring labels in a file of their own (--join)"
        f"{left_out}."
    )
