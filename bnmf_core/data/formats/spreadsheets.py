"""XLSX and Parquet: cells with typed values, converted to text and read as tables."""

import io
import json
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any, NamedTuple

from bnmf_core.core.dataset import Parts
from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_name
from bnmf_core.data import cells
from bnmf_core.data.formats.format import Format, Recognises, pick
from bnmf_core.data.limits import ZIP, check_entries, check_side, open_archive
from bnmf_core.data.reading import Reading
from bnmf_core.data.sheet import Record, Table
from bnmf_core.data.tables import inspect_table, table_parts
from bnmf_core.data.text import MAX_COLUMNS, MAX_ROWS
from bnmf_core.lazy import lazy

openpyxl = lazy("openpyxl")
reader = lazy("openpyxl.worksheet._reader")
parquet = lazy("pyarrow.parquet")


class Found(NamedTuple):
    """The contents of a file: rows of cells, the settings in use, and the options of each.

    doubts : sentences about uncertain interpretations.
    """

    rows: list[list[str]]
    settings: dict[str, Any]
    offers: dict[str, tuple[Any, ...]]
    doubts: tuple[str, ...] = ()


def row_format(
    key: str,
    what: str,
    recognises: Recognises,
    find: Callable[[bytes, Mapping[str, Any], int], Found],
    known: Mapping[str, Any],
) -> Format:
    """A format whose content ``find`` converts to text; ``known`` : choices that it determines."""

    def table(found: Found, words: tuple[str, ...]) -> Table:
        records: list[Record] = [row for row in enumerate(found.rows, start=1) if any(row[1])]
        return Table(lambda: iter(records), missing=cells.missing_with(words))

    def inspect(content: bytes, chosen: Mapping[str, Any], limit_bytes: int) -> Reading:
        found = find(content, chosen.get("settings", {}), limit_bytes)
        words = tuple(chosen.get("missing_words", ()))
        begun = Reading(
            key,
            what,
            missing_words=words,
            settings=found.settings,
            offers=found.offers,
            doubts=found.doubts,
        )
        reading = inspect_table(table(found, words), {**known, **chosen}, begun)
        return reading.because({name: f"{what} says so" for name in known if name not in chosen})

    def parts(content: bytes, reading: Reading, limit_bytes: int) -> Parts:
        found = find(content, reading.settings, limit_bytes)
        return table_parts(table(found, reading.missing_words), reading)

    return Format(key, what, recognises, inspect, parts)


def _written(value: object) -> str:
    """Format a value for a table of text."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        midnight = (value.hour, value.minute, value.second) == (0, 0, 0)
        return value.date().isoformat() if midnight else value.isoformat(sep=" ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float):
        # A spreadsheet stores integers as floats.
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return str(value)


def _sheet(content: bytes, settings: Mapping[str, Any], limit_bytes: int) -> Found:
    open_archive(content, limit_bytes).close()
    book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    names = tuple(sheet.title for sheet in book.worksheets)
    if not names:
        raise DataError("The workbook has no sheet with cells.")
    chosen = pick({"sheet": settings.get("sheet") or names[0]}, "sheet", names, "sheet")
    rows, unknown = _cells(book, book[chosen])
    if not any(any(row) for row in rows):
        raise DataError(f"The sheet {clean_name(chosen, 40)!r} is empty; choose another one.")
    doubts: tuple[str, ...] = ()
    if unknown:
        formulas = f"{len(unknown):,} formulas have" if len(unknown) > 1 else "1 formula has"
        first = f", the first in {unknown[0]}" if len(unknown) > 1 else f", in {unknown[0]}"
        doubts = (
            f"{formulas} no value in the file{first}: treated as missing. Open the workbook in a "
            "spreadsheet program and save it to store the values.",
        )
    return Found(rows, {"sheet": chosen}, {"sheet": names}, doubts)


def _cells(book: Any, sheet: Any) -> tuple[list[list[str]], list[str]]:
    """The cells by row and column, and the positions of formulas without a value."""
    unknown: list[str] = []
    # Cells are placed by their own coordinates, whatever size the sheet declares.
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
            # An empty text is a value.
            computed = element.find(reader.FORMULA_TAG) is not None
            if computed and element.find(reader.VALUE_TAG) is None:
                unknown.append(str(element.get("r", f"row {found['row']}")))
            return found

        parser.parse_cell = parse_cell
        for number, row in parser.parse():
            columns = {cell["column"] for cell in row}
            if len(columns) < len(row) or any(cell["row"] != number for cell in row):
                raise DataError(
                    f"Row {number:,} of the sheet is damaged: it holds a cell twice, or one of "
                    "another row. Open the workbook in a spreadsheet program and save it again."
                )
            filled = {cell["column"]: text for cell in row if (text := _written(cell["value"]))}
            if not filled:
                continue
            if not (1 <= number <= MAX_ROWS and max(filled) <= MAX_COLUMNS):
                raise DataError(f"Row {number:,} has cells beyond what can be read.")
            held.setdefault(number, {}).update(filled)
            entries += len(filled)
            check_entries(entries, 1)
    width = max((max(row) for row in held.values()), default=0)
    check_entries(len(held), width)
    rows: list[list[str]] = [[]] * max(held, default=0)
    for number, filled in held.items():
        rows[number - 1] = [filled.get(column, "") for column in range(1, width + 1)]
    return rows, unknown


def _columns(content: bytes, settings: Mapping[str, Any], limit_bytes: int) -> Found:
    file = parquet.ParquetFile(io.BytesIO(content))
    metadata = file.metadata
    check_side(metadata.num_rows, metadata.num_columns)
    check_entries(metadata.num_rows, metadata.num_columns)
    table = file.read(use_threads=False)
    # Index columns of a pandas data frame.
    pandas = json.loads((table.schema.metadata or {}).get(b"pandas", b"{}"))
    index = [name for name in pandas.get("index_columns", []) if isinstance(name, str)]
    names = [*index, *(name for name in table.column_names if name not in index)]
    columns = [[_written(value) for value in table[name].to_pylist()] for name in names]
    # Prefix of an unnamed index in pandas.
    head = ["" if name.startswith("__index_level_") else name for name in names]
    return Found([head, *map(list, zip(*columns, strict=True))], {}, {})


XLSX = row_format(
    "xlsx",
    "a sheet of an Excel workbook",
    # File names in an archive are not compressed.
    lambda content, _: content.startswith(ZIP) and b"xl/workbook.xml" in content,
    _sheet,
    known={},
)
PARQUET = row_format(
    "parquet",
    "a Parquet file",
    lambda content, _: content.startswith(b"PAR1"),
    _columns,
    known={"header_row": 1},
)
