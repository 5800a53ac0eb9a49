"""A table of text: cells separated by comma, semicolon, tab, bar or spaces."""

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any

from bnmf_core.data import cells, text
from bnmf_core.data.formats import texts
from bnmf_core.data.formats.format import Format
from bnmf_core.data.reading import SEPARATORS, Reading
from bnmf_core.data.sheet import Table
from bnmf_core.data.tables import inspect_table, table_parts
from bnmf_core.nouns.dataset import Parts
from bnmf_core.nouns.errors import DataError

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
    if "format" not in chosen and _holds_texts(table):
        return texts.FORMAT.inspect(content, chosen, limit_bytes)
    return inspect_table(table, chosen, begun)


def _holds_texts(table: Table) -> bool:
    """Whether some column holds sentences and none holds numbers."""
    rows = []
    # Sentences may be longer than a cell of a table, or hold quotation marks.
    with suppress(DataError):
        for _, row in islice(table.records(), texts.SAMPLE):
            rows.append(row)
    body = rows[1:]
    if not body or not texts.text_columns(rows):
        return False
    return not any(
        sum(column < len(row) and cells.is_number(row[column]) for row in body) > len(body) // 2
        for column in range(len(body[0]))
    )


def parts(content: bytes, reading: Reading, limit_bytes: int) -> Parts:
    """The matrix, names and labels."""
    text.check_encoding(content, reading.encoding)
    comma = reading.decimal_mark == ","
    table = _table(content, reading.encoding, reading.separator, comma, reading.missing_words)
    return table_parts(table, reading)


def _table(
    content: bytes, encoding: str, separator: str, comma: bool, words: tuple[str, ...]
) -> Table:
    missing = cells.MISSING | {word.strip().lower() for word in words}
    return Table(partial(text.records, content, encoding, separator), comma, missing)


# It begins with nothing of its own: it is asked last.
FORMAT = Format(KEY, WHAT, lambda content, _: True, inspect, parts)
