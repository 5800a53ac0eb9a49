"""Single cells of a table: numbers, also with marks (1,234 and 5 % and $5), missing ones, dates."""

import re
from collections.abc import Iterable, Sequence
from datetime import date
from itertools import pairwise, zip_longest
from typing import NamedTuple

import numpy as np

from bnmf_core.core.names import clean_name

MISSING = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "nat", "null", "?"})
# Pairs of words for 0 and 1.
YES_NO = (("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"), ("absent", "present"))
TRUTH = {word: float(value) for pair in YES_NO for value, word in enumerate(pair)}
FIRST_YEAR, LAST_YEAR = 1500, 2200

_WITH_COMMA = re.compile(r"\s*[-+]?\d*,\d+(?:[eE][-+]?\d+)?\s*")
_THOUSANDS = re.compile(r"\s*[-+]?[1-9]\d{0,2}(?:,\d{3})+\s*")
_WITH_POINT = re.compile(r"\s*[-+]?\d*\.\d+(?:[eE][-+]?\d+)?\s*")
_WITH_UNIT = re.compile(r"\s*[-+]?\d+(?:[.,]\d+)?\s*([^\W\d_][^\s\d]{0,9})\s*")
# A number whose point may be a thousands separator.
point_may_be_thousands = re.compile(r"\s*[-+]?[1-9]\d{0,2}\.\d{3}\s*").fullmatch
_WHOLE = re.compile(r"\s*\d{1,15}\s*")
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[T ][\d:.]+Z?)?|([0-9]{4})([0-9]{2})([0-9]{2})")

PERCENT, THOUSANDS, LIMIT = "percent", "thousands", "limit"
CURRENCIES = "$€£¥"
_LIMITS = "<>≤≥"
_MARKS = frozenset(f"%,.' \u00a0\u202f’{CURRENCIES}{_LIMITS}")
_SPACED = re.compile(r"[-+]?[1-9]\d{0,2}(?:[ \u00a0\u202f'’]\d{3})+(?:[.,]\d+)?")
_WITH = {
    mark: re.compile(rf"[-+]?[1-9]\d{{0,2}}(?:{re.escape(mark)}\d{{3}})+(?:{decimal}\d+)?")
    for mark, decimal in ((",", r"\."), (".", ","))
}


def number(cell: str, decimal_comma: bool = False, missing: frozenset[str] = MISSING) -> float:
    """The number in a cell, NaN if it is missing. ValueError when it holds words."""
    cell = cell.strip()
    if cell.lower() in missing:
        return np.nan
    # float() also accepts 1_000, which is no number in a table.
    if "_" in cell or (decimal_comma and "." in cell):
        raise ValueError(cell)
    return float(cell.replace(",", ".", 1) if decimal_comma else cell)


def is_number(cell: str, decimal_comma: bool = False) -> bool:
    """Whether a cell holds a number that is not NaN."""
    try:
        return not np.isnan(number(cell, decimal_comma, missing=frozenset()))
    except ValueError:
        return False


def is_missing(cell: str, missing: frozenset[str] = MISSING) -> bool:
    """Whether a cell is a missing value."""
    return cell.strip().lower() in missing


def missing_with(words: Iterable[str]) -> frozenset[str]:
    """The usual words for cells in which nothing was seen, and these."""
    return MISSING | {word.strip().lower() for word in words}


def uses_decimal_comma(cells: Iterable[str]) -> bool:
    """Whether the decimal mark of these cells is a comma.

    1,234 alone may be a thousand or more, which :func:`decimal_or_thousands` looks at.
    """
    cells = list(cells)
    return any(
        _WITH_COMMA.fullmatch(cell) and not _THOUSANDS.fullmatch(cell) for cell in cells
    ) and not any(_WITH_POINT.fullmatch(cell) for cell in cells)


def decimal_or_thousands(rows: Sequence[Sequence[str]]) -> str:
    """The first cell such as 1,234 where nothing but such cells are numbers of its column.

    "" where there is none, or another cell tells what the comma is.
    """
    first = ""
    for column in zip_longest(*rows, fillvalue=""):
        found = [cell for cell in column if _THOUSANDS.fullmatch(cell)]
        if any(cell.count(",") > 1 for cell in found) or any(map(_WITH_POINT.fullmatch, column)):
            return ""
        if found and any(map(is_number, column)):
            return ""
        first = first or next(iter(found), "").strip()
    return first


def whole(cells: Sequence[str]) -> list[int] | None:
    """The whole numbers, written without a decimal mark; None where any is something else."""
    if not cells or not all(_WHOLE.fullmatch(cell) for cell in cells):
        return None
    return [int(cell) for cell in cells]


def counts_from(cells: Sequence[str]) -> int | None:
    """0 or 1 where the cells count 0, 1, 2, … or 1, 2, 3, …; else None.

    Empty cells may stand among them, at most half of all.
    """
    filled = [(place, cell) for place, cell in enumerate(cells) if cell.strip()]
    found = whole([cell for _, cell in filled])
    if found is None or 2 * len(found) < len(cells):
        return None
    starts = {number - place for number, (place, _) in zip(found, filled, strict=True)}
    return starts.pop() if starts in ({0}, {1}) else None


def are_years(cells: Sequence[str]) -> bool:
    """Whether all are years that rise."""
    found = whole(cells) or [0]
    in_range = all(FIRST_YEAR <= year <= LAST_YEAR for year in found)
    return in_range and all(before < after for before, after in pairwise(found))


def are_dates(cells: Sequence[str]) -> bool:
    """Whether all are days, written 20240101 or 2024-01-01."""
    return bool(cells) and all(map(_is_date, cells))


def _is_date(cell: str) -> bool:
    found = _DATE.fullmatch(cell.strip())
    try:
        parts = [int(part) for part in found.groups() if part] if found else []
        return bool(parts) and FIRST_YEAR <= date(*parts).year <= LAST_YEAR
    except ValueError:
        return False


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
        return Marked(LIMIT, np.nan) if found or is_number(rest, decimal_comma) else None
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
        value = number(sign + text, decimal_comma, missing=frozenset())
    except ValueError:
        return None
    return Marked(mark, value) if mark and np.isfinite(value) else None


def marked_column(
    cells: Sequence[str], decimal_comma: bool, missing: frozenset[str]
) -> np.ndarray | None:
    """The numbers of a column of which some have marks, NaN where nothing was seen.

    None where they cannot be read as one quantity: limits, percentages beside plain numbers, or
    amounts in several currencies. The first cell may be a header.
    """
    values, marks, plain = np.full(len(cells), np.nan), set(), False
    for row, cell in enumerate(cells):
        if is_missing(cell, missing):
            continue
        if (one := marked(cell, decimal_comma)) is not None:
            values[row] = one.value
            marks |= {one.mark} if row else set()
            continue
        try:
            values[row] = number(cell, decimal_comma, missing)
            plain = plain or row > 0
        except ValueError:
            if row:
                return None
    kinds = marks - {THOUSANDS}
    if LIMIT in kinds or len(kinds) > 1 or (PERCENT in kinds and (plain or THOUSANDS in marks)):
        return None
    return values


def may_be_decimals(cells: Sequence[str]) -> bool:
    """Whether the commas of a column may all be decimal marks, as in 1,234."""
    return any("," in cell for cell in cells) and not any(
        cell.count(",") > 1 or "." in cell for cell in cells
    )


def unit_of(cells: Sequence[str]) -> str:
    """The unit that stands behind the number in every cell, as in 37.8 mg; "" where none does."""
    found = {unit[1] if (unit := _WITH_UNIT.fullmatch(cell)) else "" for cell in cells}
    return found.pop() if len(found) == 1 else ""


def how_marked(example: str, decimal_comma: bool) -> str:
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


def missing_option(word: str) -> str:
    """The option of the command line that takes a word for a missing value."""
    return f'--missing "{clean_name(word.strip(), 40)}"'


def remedy(word: str, decimal_comma: bool) -> str:
    """What to do about a word among numbers."""
    found = marked(word, decimal_comma)
    if found is not None and found.mark == LIMIT:
        return (
            f" {word.strip()!r} is a limit, not a number: write a number, or say that it means "
            f"that nothing was seen ({missing_option(word)})."
        )
    if found is not None and found.mark == PERCENT:
        return " Write all numbers of the column as percentages, or none."
    if found is not None and found.mark in CURRENCIES:
        return " Write all numbers of the column in the same way."
    if decimal_comma and _WITH_POINT.fullmatch(word):
        return " Elsewhere in this file the decimal mark is a comma."
    if _WITH_COMMA.fullmatch(word) or _THOUSANDS.fullmatch(word):
        other = ", or choose the comma as the decimal mark (--decimal comma)"
        other = "" if decimal_comma else other
        return f" Write decimals with a point and thousands without a mark{other}."
    return ""
