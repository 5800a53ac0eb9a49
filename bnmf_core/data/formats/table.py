"""A table of text: cells separated by comma, semicolon, tab, bar or spaces."""

import dataclasses
from collections.abc import Mapping
from functools import partial
from typing import Any

from bnmf_core.core.dataset import Parts
from bnmf_core.data import cells, text
from bnmf_core.data.formats import texts
from bnmf_core.data.formats.format import Format
from bnmf_core.data.reading import SEPARATORS, Reading
from bnmf_core.data.sheet import Table
from bnmf_core.data.tables import inspect_table, table_parts

KEY, WHAT = "table", "a table of text"


def inspect(content: bytes, chosen: Mapping[str, Any], limit_bytes: int) -> Reading:
    """How a table of text would be read."""
    dialect = text.find_dialect(
        content,
        chosen.get("encoding", ""),
        chosen.get("separator", ""),
        chosen.get("decimal_mark", ""),
    )
    words = tuple(chosen.get("missing_words", ()))
    begun = Reading(
        format=KEY,
        what=f"{WHAT}, separated by {SEPARATORS.get(dialect.separator, dialect.separator)}",
        encoding=dialect.encoding,
        separator=dialect.separator,
        missing_words=words,
        reasons=dialect.reasons,
        doubts=dialect.doubts,
    )
    table = _table(content, dialect.encoding, dialect.separator, dialect.decimal_comma, words)
    if why := texts.found_in(content, dialect.encoding, dialect.separator):
        if "format" not in chosen:
            reading = texts.FORMAT.inspect(content, chosen, limit_bytes)
            return reading.because({"format": why})
        begun = dataclasses.replace(begun, formats=(texts.KEY, KEY))
    points = not (table.decimal_comma or "decimal_mark" in chosen) and b"." in content
    return inspect_table(dataclasses.replace(table, points=points), chosen, begun)


def parts(content: bytes, reading: Reading, limit_bytes: int) -> Parts:
    """The matrix, names and labels."""
    text.check_encoding(content, reading.encoding)
    comma = reading.decimal_mark == ","
    table = _table(content, reading.encoding, reading.separator, comma, reading.missing_words)
    return table_parts(table, reading)


def _table(
    content: bytes, encoding: str, separator: str, comma: bool, words: tuple[str, ...]
) -> Table:
    records = partial(text.records, content, encoding, separator)
    return Table(records, comma, cells.missing_with(words), thousands=comma or separator == ",")


# It has no signature and comes last.
FORMAT = Format(KEY, WHAT, lambda content, _: True, inspect, parts)
