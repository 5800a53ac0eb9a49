"""Formats whose rows are cells with values of their own: written as text, they are tables."""

from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from typing import Any, NamedTuple

from bnmf_core.core.dataset import Parts
from bnmf_core.data import cells
from bnmf_core.data.formats.format import Format
from bnmf_core.data.reading import Reading
from bnmf_core.data.sheet import Record, Table
from bnmf_core.data.tables import inspect_table, table_parts


class Found(NamedTuple):
    """What lies in a file: rows of cells, the settings as they were taken, what is offered of each.

    doubts : sentences about what was read otherwise than it may be meant.
    """

    rows: list[list[str]]
    settings: dict[str, Any]
    offers: dict[str, tuple[Any, ...]]
    doubts: tuple[str, ...] = ()


# (content, settings, limit in bytes) → what lies in the file.
Rows = Callable[[bytes, Mapping[str, Any], int], Found]


def row_format(
    key: str,
    what: str,
    recognises: Callable[[bytes, str], bool],
    rows: Rows,
    known: Mapping[str, Any] | None = None,
) -> Format:
    """A format whose content ``rows`` writes as text; ``known`` are choices that it settles."""

    def table(found: Iterable[list[str]], words: tuple[str, ...]) -> Table:
        records: list[Record] = [(line, row) for line, row in enumerate(found, start=1) if any(row)]
        missing = cells.MISSING | {word.strip().lower() for word in words}
        return Table(lambda: iter(records), missing=missing)

    def inspect(content: bytes, chosen: Mapping[str, Any], limit_bytes: int) -> Reading:
        found = rows(content, chosen.get("settings", {}), limit_bytes)
        words = tuple(chosen.get("missing_words", ()))
        begun = Reading(
            key,
            what,
            missing_words=words,
            settings=found.settings,
            offers=found.offers,
            doubts=found.doubts,
        )
        reading = inspect_table(table(found.rows, words), {**(known or {}), **chosen}, begun)
        settled = {name: f"{what} says so" for name in (known or {}) if name not in chosen}
        return reading.because(settled)

    def parts(content: bytes, reading: Reading, limit_bytes: int) -> Parts:
        found = rows(content, reading.settings, limit_bytes)
        return table_parts(table(found.rows, reading.missing_words), reading)

    return Format(key, what, recognises, inspect, parts, isolated=True)


def written(value: object) -> str:
    """A value as it would stand in a table of text."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        midnight = (value.hour, value.minute, value.second) == (0, 0, 0)
        return value.date().isoformat() if midnight else value.isoformat(sep=" ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float):
        # A spreadsheet knows no other numbers: 3 is 3.0 there.
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return str(value)


def same_width(rows: list[list[str]]) -> list[list[str]]:
    """Rows cut to the last column that holds anything, and filled up to it."""
    width = max(
        (len(row) - next((i for i, c in enumerate(reversed(row)) if c), len(row)) for row in rows),
        default=0,
    )
    return [[*row[:width], *[""] * (width - len(row))] for row in rows]
