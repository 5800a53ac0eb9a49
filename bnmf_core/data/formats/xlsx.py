"""XLSX: a sheet of an Excel workbook."""

import io
from collections.abc import Mapping
from typing import Any

from bnmf_core.data.arrays import check_entries
from bnmf_core.data.formats.rows import row_format, same_width, written
from bnmf_core.data.packed import ZIP, open_archive
from bnmf_core.data.text import MAX_COLUMNS
from bnmf_core.lazy import lazy
from bnmf_core.nouns.errors import DataError
from bnmf_core.nouns.names import clean_name

openpyxl = lazy("openpyxl")


def _recognises(content: bytes, _: str) -> bool:
    # The names of an archive's files stand there as they are.
    return content.startswith(ZIP) and b"xl/workbook.xml" in content


def _rows(
    content: bytes, settings: Mapping[str, Any], limit_bytes: int
) -> tuple[list[list[str]], dict[str, Any], dict[str, tuple[Any, ...]]]:
    open_archive(content, limit_bytes).close()
    book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    names = tuple(sheet.title for sheet in book.worksheets)
    if not names:
        raise DataError("The workbook has no sheet with cells.")
    chosen = settings.get("sheet") or names[0]
    if chosen not in names:
        listed = ", ".join(repr(clean_name(name, 40)) for name in names[:8])
        raise DataError(f"There is no sheet {clean_name(chosen, 40)!r}; there are {listed}.")
    rows = []
    for row in book[chosen].iter_rows(values_only=True, max_col=MAX_COLUMNS):
        rows.append([written(value) for value in row])
        check_entries(len(rows), len(row))
    if not any(any(row) for row in rows):
        raise DataError(f"The sheet {clean_name(chosen, 40)!r} is empty; choose another one.")
    return same_width(rows), {"sheet": chosen}, {"sheet": names}


FORMAT = row_format("xlsx", "a sheet of an Excel workbook", _recognises, _rows)
