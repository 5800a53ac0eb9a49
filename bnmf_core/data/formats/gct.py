"""GCT: expression of genes (rows) in samples (columns), version 1.2 and 1.3 of GenePattern."""

import dataclasses
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from bnmf_core.core.dataset import Parts
from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_name, clean_names
from bnmf_core.data import cells, text
from bnmf_core.data.formats.format import Format
from bnmf_core.data.reading import Reading
from bnmf_core.data.sheet import Record, Table
from bnmf_core.data.tables import inspect_table, table_parts

KEY, WHAT = "gct", "a GCT file of GenePattern"
HEADER = 3


class _Claims(NamedTuple):
    """The second row: numbers of genes, samples, columns about genes, rows about samples."""

    rows: int
    columns: int
    about_rows: int = 1
    about_columns: int = 0


def inspect(content: bytes, chosen: Mapping[str, Any], limit_bytes: int) -> Reading:
    """How the file would be read; the format determines nearly everything."""
    encoding, why, doubt = text.find_encoding(content)
    claims = _claims(content, encoding)
    about = tuple(range(2, 2 + claims.about_rows))
    settled = {
        "header_row": HEADER,
        "names_column": 1,
        "label_columns": about,
        "left_out_columns": (),
        "observations": "columns",
    }
    begun = Reading(
        KEY, WHAT, encoding, "\t", reasons={"encoding": why}, doubts=(doubt,) if doubt else ()
    )
    reading = inspect_table(_table(content, encoding, claims), {**settled, **chosen}, begun)
    faults = list(reading.faults)
    found = reading.preview.height - 1, len(reading.columns) - 1 - claims.about_rows
    if found != (claims.rows, claims.columns):
        faults.append(
            f"Row 2 says that there are {claims.rows:,} rows and {claims.columns:,} columns, but "
            f"{found[0]:,} and {found[1]:,} were found; the file is cut off or damaged."
        )
    reasons = {key: f"{WHAT} says so" for key in settled if key not in chosen}
    return dataclasses.replace(reading.because(reasons), faults=tuple(faults))


def parts(content: bytes, reading: Reading, limit_bytes: int) -> Parts:
    """The matrix; rows about samples become labels."""
    claims = _claims(content, reading.encoding)
    found = table_parts(_table(content, reading.encoding, claims), reading)
    if reading.observations == "columns" and claims.about_columns:
        rows = [row for _, row in _rows(content, reading.encoding)][1 : 1 + claims.about_columns]
        columns = [column - 1 for column in reading.number_columns]
        keys = clean_names([row[0] for row in rows], "label")
        found["labels"] = {
            key: [clean_name(row[column]) for column in columns]
            for key, row in zip(keys, rows, strict=True)
        }
    return found


def _claims(content: bytes, encoding: str) -> _Claims:
    lines = islice(text.records(content, encoding, "\t"), 2)
    numbers = [row for _, row in lines][-1]
    if len(numbers) < 2 or not all(word.strip().isdigit() for word in numbers if word.strip()):
        raise DataError("Row 2 of the GCT file must hold the numbers of rows and of columns.")
    found = [int(word) for word in numbers if word.strip()]
    return _Claims(*(found if len(found) == 4 else found[:2]))


def _rows(content: bytes, encoding: str) -> Iterator[Record]:
    return (one for one in text.records(content, encoding, "\t") if one[0] >= HEADER)


def _table(content: bytes, encoding: str, claims: _Claims) -> Table:
    def records() -> Iterator[Record]:
        rows = _rows(content, encoding)
        yield from islice(rows, 1)
        yield from islice(rows, claims.about_columns, None)

    return Table(records, missing=cells.MISSING)


FORMAT = Format(
    KEY,
    WHAT,
    lambda content, _: content[:4] in (b"#1.2", b"#1.3"),
    inspect,
    parts,
    features_are="genes",
)
