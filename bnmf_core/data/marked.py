"""Numbers that are written with marks: 1,234 and 5 % and $5; and limits, such as <5."""

import re
from typing import NamedTuple

import numpy as np

from bnmf_core.core.names import clean_name
from bnmf_core.data import cells

PERCENT, THOUSANDS, LIMIT = "percent", "thousands", "limit"
CURRENCIES = "$€£¥"
_LIMITS = "<>≤≥"
_MARKS = frozenset(f"%,.' \u00a0\u202f’{CURRENCIES}{_LIMITS}")
_SPACED = re.compile(r"[-+]?[1-9]\d{0,2}(?:[ \u00a0\u202f'’]\d{3})+(?:[.,]\d+)?")
_WITH = {
    mark: re.compile(rf"[-+]?[1-9]\d{{0,2}}(?:{re.escape(mark)}\d{{3}})+(?:{decimal}\d+)?")
    for mark, decimal in ((",", r"\."), (".", ","))
}


class Marked(NamedTuple):
    """What a cell says: the mark, a currency as its sign, and the number; NaN of a limit."""

    mark: str
    value: float


def marked(cell: str, decimal_comma: bool = False) -> Marked | None:
    """The number in a cell that is written with a mark; None where there is no such thing.

    >>> marked("1,234"), marked("5%"), marked("-$1,000.5").value, marked("five")
    (Marked(mark='thousands', value=1234.0), Marked(mark='percent', value=5.0), -1000.5, None)
    """
    text, mark = cell.strip(), ""
    if not text or len(text) > 40 or _MARKS.isdisjoint(text):
        return None
    if text[0] in _LIMITS:
        rest = text[1:].removeprefix("=").strip()
        found = marked(rest, decimal_comma)
        return Marked(LIMIT, np.nan) if found or cells.is_number(rest, decimal_comma) else None
    sign = "-" if text[0] in "-−" else ""
    text = text[len(sign) :].lstrip()
    if text.endswith("%"):
        text, mark = text[:-1].rstrip(), PERCENT
    elif text[:1] in CURRENCIES:
        text, mark = text[1:].lstrip(), text[0]
    elif text[-1:] in CURRENCIES:
        text, mark = text[:-1].rstrip(), text[-1]
    if _SPACED.fullmatch(text):
        text, mark = re.sub(r"[ \u00a0\u202f'’]", "", text), mark or THOUSANDS
    between = "." if decimal_comma else ","
    if _WITH[between].fullmatch(text):
        text, mark = text.replace(between, ""), mark or THOUSANDS
    try:
        value = cells.number(sign + text, decimal_comma, missing=frozenset())
    except ValueError:
        return None
    return Marked(mark, value) if mark and np.isfinite(value) else None


def column_of(found: list[str], decimal_comma: bool, missing: frozenset[str]) -> np.ndarray | None:
    """The numbers of a column of which some have marks, NaN where nothing was seen.

    None where they cannot be read as one quantity: limits, percentages beside plain numbers, or
    amounts in several currencies. The first cell may be a header.
    """
    values, marks, plain = np.full(len(found), np.nan), set(), False
    for row, cell in enumerate(found):
        if cells.is_missing(cell, missing):
            continue
        one = marked(cell, decimal_comma)
        if one is not None:
            values[row] = one.value
            marks |= {one.mark} if row else set()
            continue
        try:
            values[row] = cells.number(cell, decimal_comma, missing)
            plain = plain or row > 0
        except ValueError:
            if row:
                return None
    kinds = marks - {THOUSANDS}
    if LIMIT in kinds or len(kinds) > 1 or (PERCENT in kinds and (plain or THOUSANDS in marks)):
        return None
    return values


def may_be_decimals(found: list[str]) -> bool:
    """Whether the commas of a column may all be decimal marks, as in 1,234."""
    return any("," in cell for cell in found) and not any(
        cell.count(",") > 1 or "." in cell for cell in found
    )


def said_of(example: str, decimal_comma: bool) -> str:
    """How a column with such a cell was read, after its place."""
    found = marked(example, decimal_comma)
    shown, value = clean_name(example.strip(), 30), f"{found.value:.15g}" if found else ""
    if found is not None and found.mark == PERCENT:
        return f"holds percentages, such as {shown!r}: read as {value}."
    if found is not None and found.mark in CURRENCIES:
        return f"holds amounts of money, such as {shown!r}: read as {value}."
    alone = re.fullmatch(r"\d{1,3},\d{3}", shown) and not decimal_comma
    other = f", not as {float(shown.replace(',', '.')):g}" if alone else ""
    return f"has marks between thousands, such as {shown!r}: read as {value}{other}."


def remedy(word: str, decimal_comma: bool) -> str:
    """What to do about such a cell where it cannot be read."""
    found = marked(word, decimal_comma)
    if found is None:
        return ""
    if found.mark == LIMIT:
        return (
            f" {word.strip()!r} is a limit, not a number: write a number, or say that it means "
            "that nothing was seen."
        )
    if found.mark == PERCENT:
        return " Write all numbers of the column as percentages, or none."
    return " Write all numbers of the column in the same way." if found.mark in CURRENCIES else ""
