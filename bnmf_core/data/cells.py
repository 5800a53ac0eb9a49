"""Single cells of a table: numbers, missing ones, yes and no, dates and counts."""

import re
from collections.abc import Iterable, Sequence
from datetime import date
from itertools import pairwise

import numpy as np

MISSING = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "nat", "null", "?"})
# What stands for 0 and for 1, in pairs that are used together.
YES_NO = (("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"), ("absent", "present"))
TRUTH = {word: float(value) for pair in YES_NO for value, word in enumerate(pair)}

_WITH_COMMA = re.compile(r"\s*[-+]?\d*,\d+(?:[eE][-+]?\d+)?\s*")
_THOUSANDS = re.compile(r"\s*[-+]?[1-9]\d{0,2}(?:,\d{3})+\s*")
_WITH_POINT = re.compile(r"\s*[-+]?\d*\.\d+(?:[eE][-+]?\d+)?\s*")
_WHOLE = re.compile(r"\s*\d{1,15}\s*")
_ISO_DATE = re.compile(r"\s*(\d{4})-(\d{2})-(\d{2})(?:[T ][\d:.]+Z?)?\s*")
_FIRST_YEAR, _LAST_YEAR = 1500, 2200


def number(cell: str, decimal_comma: bool = False, missing: frozenset[str] = MISSING) -> float:
    """The number in a cell, NaN if it is missing.

    Raises
    ------
    ValueError
        When it holds words.
    """
    cell = cell.strip()
    if cell.lower() in missing:
        return np.nan
    if decimal_comma:
        if "." in cell:
            raise ValueError(cell)
        cell = cell.replace(",", ".", 1)
    # float() also takes 1_000, which no table means as a number.
    if "_" in cell:
        raise ValueError(cell)
    return float(cell)


def is_number(cell: str, decimal_comma: bool = False) -> bool:
    """Whether a cell holds a number that is not NaN."""
    try:
        return not np.isnan(number(cell, decimal_comma, missing=frozenset()))
    except ValueError:
        return False


def is_missing(cell: str, missing: frozenset[str] = MISSING) -> bool:
    """Whether nothing was seen."""
    return cell.strip().lower() in missing


def missing_with(words: Iterable[str]) -> frozenset[str]:
    """The usual words for cells in which nothing was seen, and these."""
    return MISSING | {word.strip().lower() for word in words}


def uses_decimal_comma(cells: Iterable[str]) -> bool:
    """Whether the decimal mark of these cells is a comma.

    1,234 alone may be a thousand or more: it is then refused, not guessed.
    """
    cells = list(cells)
    return any(
        _WITH_COMMA.fullmatch(cell) and not _THOUSANDS.fullmatch(cell) for cell in cells
    ) and not any(_WITH_POINT.fullmatch(cell) for cell in cells)


def remedy(word: str, decimal_comma: bool) -> str:
    """What to do about a word among numbers."""
    if decimal_comma and _WITH_POINT.fullmatch(word):
        return " Elsewhere in this file the decimal mark is a comma."
    if _WITH_COMMA.fullmatch(word) or _THOUSANDS.fullmatch(word):
        return " Write decimals with a point and thousands without a mark."
    return ""


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
    found = whole(cells)
    return (
        found is not None
        and all(_FIRST_YEAR <= year <= _LAST_YEAR for year in found)
        and all(before < after for before, after in pairwise(found))
    )


def are_dates(cells: Sequence[str]) -> bool:
    """Whether all are days, written 20240101 or 2024-01-01."""
    return bool(cells) and all(_is_date(cell) for cell in cells)


def _is_date(cell: str) -> bool:
    text = cell.strip()
    if found := _ISO_DATE.fullmatch(text):
        parts = [int(part) for part in found.groups()]
    elif len(text) == len("20240101") and text.isascii() and text.isdigit():
        parts = [int(text[:4]), int(text[4:6]), int(text[6:])]
    else:
        return False
    if not _FIRST_YEAR <= parts[0] <= _LAST_YEAR:
        return False
    try:
        date(*parts)
    except ValueError:
        return False
    return True
