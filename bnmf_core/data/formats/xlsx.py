"""XLSX: a sheet of an Excel workbook."""

import io
from collections.abc import Mapping
from typing import Any

from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_name
from bnmf_core.data.arrays import check_entries
from bnmf_core.data.formats.rows import Found, row_format, same_width, written
from bnmf_core.data.packed import ZIP, open_archive
from bnmf_core.data.text import MAX_COLUMNS, MAX_ROWS
from bnmf_core.lazy import lazy

openpyxl = lazy("openpyxl")
reader = lazy("openpyxl.worksheet._reader")


def _recognises(content: bytes, _: str) -> bool:
    # The names of an archive's files stand there as they are.
    return content.startswith(ZIP) and b"xl/workbook.xml" in content


def _rows(content: bytes, settings: Mapping[str, Any], limit_bytes: int) -> Found:
    open_archive(content, limit_bytes).close()
    book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    names = tuple(sheet.title for sheet in book.worksheets)
    if not names:
        raise DataError("The workbook has no sheet with cells.")
    chosen = settings.get("sheet") or names[0]
    if chosen not in names:
        listed = ", ".join(repr(clean_name(name, 40)) for name in names[:8])
        raise DataError(f"There is no sheet {clean_name(chosen, 40)!r}; there are {listed}.")
    rows, unknown = _cells(book, book[chosen])
    if not any(any(row) for row in rows):
        raise DataError(f"The sheet {clean_name(chosen, 40)!r} is empty; choose another one.")
    doubts: tuple[str, ...] = ()
    if unknown:
        formulas = f"{len(unknown):,} formulas have" if len(unknown) > 1 else "1 formula has"
        first = f", the first in {unknown[0]}" if len(unknown) > 1 else f", in {unknown[0]}"
        doubts = (
            f"{formulas} no value in the file{first}: taken as not seen. Open the workbook in a "
            "spreadsheet program and save it to store the values.",
        )
    return Found(same_width(rows), {"sheet": chosen}, {"sheet": names}, doubts)


def _cells(book: Any, sheet: Any) -> tuple[list[list[str]], list[str]]:
    """The cells by row and column, and the places of formulas without a value.

    Every cell stands where it says, wherever in the file it is and whatever size the sheet claims.
    """
    unknown: list[str] = []
    held: dict[int, dict[int, str]] = {}
    entries = 0
    with book._archive.open(sheet._worksheet_path) as file:
        parser = reader.WorkSheetParser(
            file,
            sheet._shared_strings,
            data_only=True,
            epoch=book.epoch,
            date_formats=book._date_formats,
            timedelta_formats=book._timedelta_formats,
        )
        parse = parser.parse_cell

        def parse_cell(element: Any) -> dict[str, Any]:
            found: dict[str, Any] = parse(element)
            # A result that is an empty text has a value, which is empty.
            computed = element.find(reader.FORMULA_TAG) is not None
            if computed and element.find(reader.VALUE_TAG) is None:
                unknown.append(str(element.get("r", f"row {found['row']}")))
            return found

        parser.parse_cell = parse_cell
        for number, row in parser.parse():
            filled = {cell["column"]: text for cell in row if (text := written(cell["value"]))}
            if not filled:
                continue
            if not (1 <= number <= MAX_ROWS and max(filled) <= MAX_COLUMNS):
                raise DataError(f"Row {number:,} has cells beyond what can be read.")
            held.setdefault(number, {}).update(filled)
            entries += len(filled)
            check_entries(entries, 1)
    width = max((max(row) for row in held.values()), default=0)
    check_entries(len(held), width)
    empty: list[str] = []
    rows = [empty] * max(held, default=0)
    for number, filled in held.items():
        rows[number - 1] = [filled.get(column, "") for column in range(1, width + 1)]
    return rows, unknown


FORMAT = row_format("xlsx", "a sheet of an Excel workbook", _recognises, _rows)
