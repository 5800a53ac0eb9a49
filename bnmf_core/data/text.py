"""Detect encoding, separator and decimal mark of text tables, and read their rows."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, islice, pairwise
from typing import NamedTuple

from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_name
from bnmf_core.data.cells import decimal_or_thousands, is_number, uses_decimal_comma
from bnmf_core.data.reading import SEPARATORS

MAX_ROWS = 5_000_000
MAX_COLUMNS = 200_000
MAX_FIELD = 10_000
SAMPLE_LINES = 1_000
SAMPLE_CHARACTERS = 4 * 2**20
SPACE = " "
# Characters of Japanese text that are rare in misread Western text.
_KANA = range(0x3040, 0x3100)
_KANJI = range(0x4E00, 0xA000)
_CALLED = {"cp1252": "Windows-1252", "latin-1": "Latin-1", "cp932": "Shift-JIS"}
# Prefixes of comment lines above a table.
COMMENTS = ("#", "!", "%")


class Dialect(NamedTuple):
    """Dialect of a text table. reasons : by field name. doubts : sentences."""

    encoding: str
    separator: str
    decimal_comma: bool
    reasons: dict[str, str]
    doubts: tuple[str, ...]


def find_dialect(
    content: bytes, encoding: str = "", separator: str = "", decimal_mark: str = ""
) -> Dialect:
    """Detect encoding, separator and decimal mark from the first lines, unless given.

    DataError when the content is no text or has no columns.
    """
    reasons = dict.fromkeys(("encoding", "separator", "decimal_mark"), "chosen by you")
    doubts: list[str] = []
    if encoding:
        check_encoding(content, encoding)
    else:
        encoding, reasons["encoding"], doubt = find_encoding(content)
        doubts += [doubt] if doubt else []
    lines = first_lines(content, encoding)
    if not separator:
        separator, reasons["separator"] = _find_separator(lines)
    decimal_comma = decimal_mark == ","
    if not decimal_mark:
        rows = _cut(lines, separator)
        cells = [*chain.from_iterable(rows)]
        decimal_comma = uses_decimal_comma(cells)
        if separator == ",":  # a single quoted "4,5" is probably a mistake
            decimal_comma &= 2 * sum("," in cell for cell in cells) > sum(map(is_number, cells))
        reasons["decimal_mark"] = (
            "numbers such as 1,5 and none such as 1.5 stand in the first rows"
            if decimal_comma
            else "the usual one; no number in the first rows needs another"
        )
        if separator == ";" and not decimal_comma and (cell := decimal_or_thousands(rows)):
            decimal_comma = True
            reasons["decimal_mark"] = f"the cells are separated by semicolons, as beside {cell}"
            doubts.append(
                f"Numbers such as {cell!r} are read as {cell.replace(',', '.')}, not as "
                f"{cell.replace(',', '')}; if the comma stands between thousands, take it out."
            )
    return Dialect(encoding, separator, decimal_comma, reasons, tuple(doubts))


def find_encoding(content: bytes) -> tuple[str, str, str]:
    """The encoding, the reason and a doubt or "". DataError when it is no text or damaged."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        check_encoding(content, "utf-16")
        return "utf-16", "the file begins with the mark of UTF-16", ""
    if b"\0" in content:
        for encoding, zeros in (("utf-16-le", content[1:2000:2]), ("utf-16-be", content[:2000:2])):
            if zeros.count(0) > 0.8 * len(zeros) and _decodes(content, encoding):
                return encoding, "every other byte is zero, as in UTF-16 without its mark", ""
        raise DataError(
            "The file is neither text nor a known binary format; save the matrix as CSV, XLSX, "
            "Parquet, NPY, NPZ or MTX."
        )
    if _decodes(content, "utf-8-sig"):
        plain = content.isascii()
        return "utf-8-sig", "all of it is ASCII" if plain else "all of it is valid UTF-8", ""
    encoding = "cp1252" if _decodes(content, "cp1252") else "latin-1"
    encoding = "cp932" if _looks_japanese(content) else encoding
    words = re.split(r"[,;\s]+", content[: 2**20].decode(encoding, "replace"))
    word = clean_name(next((word for word in words if not word.isascii()), ""), 40)
    named = _CALLED[encoding]
    doubt = f"The text is not UTF-8; it is taken as {named}, in which a word reads {word!r}."
    return encoding, f"it is not valid UTF-8, and reads as {named}", doubt if word else ""


def check_encoding(content: bytes, encoding: str) -> None:
    """Refuse an encoding that the content does not have.

    DataError when the encoding is unknown or does not fit the content.
    """
    if encoding in ("utf-16", "utf-32") and content[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        named = encoding.upper()
        raise DataError(
            f"The file does not begin with the mark of {named}; if it is {named} nevertheless, "
            f"choose {encoding}-le or {encoding}-be."
        )
    try:
        content.decode(encoding)
    except LookupError as error:
        raise DataError(
            f"There is no encoding called {clean_name(encoding, 40)!r}; utf-8, utf-16, cp1252 and "
            "cp932 (Shift-JIS) are usual."
        ) from error
    except UnicodeError as error:
        damaged = "begins as UTF-16 text but is damaged"
        wrong = damaged if encoding == "utf-16" else f"is not written in {encoding}"
        raise DataError(f"The file {wrong}.") from error


def _decodes(content: bytes, encoding: str) -> bool:
    try:
        content.decode(encoding)
    except UnicodeError:
        return False
    return True


def _looks_japanese(content: bytes) -> bool:
    """Whether the text decodes as Shift-JIS with adjacent Japanese characters."""
    if not _decodes(content, "cp932"):
        return False
    text = content[: 2**20].decode("cp932", "replace")
    foreign = [character for character in text if not character.isascii()]
    kana = sum(ord(character) in _KANA for character in foreign)
    kanji = sum(ord(character) in _KANJI for character in foreign)
    pairs = sum(ord(a) in _KANJI and ord(b) in _KANJI for a, b in pairwise(text))
    return kana + kanji > 0.5 * len(foreign) and (kana > 0 or pairs > 0)


def first_lines(content: bytes, encoding: str) -> list[str]:
    """The first lines of the file, used to detect its dialect."""
    lines, characters = [], 0
    text = io.TextIOWrapper(io.BytesIO(content), encoding=encoding, newline="")
    for line in islice(iter(lambda: text.readline(SAMPLE_CHARACTERS), ""), SAMPLE_LINES):
        lines.append(line)
        characters += len(line)
        if characters >= SAMPLE_CHARACTERS:
            break
    return lines


def _find_separator(lines: list[str]) -> tuple[str, str]:
    separator, agreement, why = "", 0.0, ""
    for candidate in SEPARATORS:
        if candidate == SPACE and separator:
            break
        if not (rows := _cut(lines, candidate)):
            continue
        width, count = Counter(map(len, rows)).most_common(1)[0]
        # Headers written by R lack the first cell.
        count += candidate == SPACE and len(rows[0]) == width - 1
        share = count / len(rows)
        # Sentences have spaces, too, so every row must have the same number.
        if width > 1 and share > agreement and (candidate != SPACE or share == 1.0):
            separator, agreement = candidate, share
            rows_of = "every row" if share == 1.0 else f"{share:.0%} of the first rows"
            why = f"it cuts {rows_of} into {width:,} cells"
    if not separator:
        raise DataError(
            "Only one column was found; separate the cells by comma, semicolon or tab, and give "
            "at least two columns of numbers."
        )
    return separator, why


def _cut(lines: list[str], separator: str) -> list[list[str]]:
    """Split non-blank lines into cells as far as possible."""
    if separator == SPACE:
        return [row for row in (_by_space(line) for line in lines) if row]
    rows: list[list[str]] = []
    # Lines that cannot be split are reported when the table is read.
    with suppress(csv.Error):
        rows.extend(row for row in csv.reader(lines, delimiter=separator) if any(row))
    return rows


def _by_space(line: str) -> list[str]:
    if '"' in line:
        with suppress(csv.Error):
            return [cell for cell in next(csv.reader([line.strip()], delimiter=SPACE)) if cell]
    cells = line.split()
    # numpy.savetxt marks a header with "#".
    return cells[1:] if cells[:1] == ["#"] else cells


def records(
    content: bytes, encoding: str, separator: str, longest: int = MAX_FIELD
) -> Iterator[tuple[int, list[str]]]:
    """Yield non-blank rows with their line numbers in the file.

    Rows of empty cells are included. ``longest`` : largest number of characters of a cell.
    DataError when a row cannot be split, or there are too many rows or cells.
    """
    text = io.TextIOWrapper(io.BytesIO(content), encoding=encoding, newline="")
    too_many = f"The table has more than {MAX_ROWS:,} rows, the most that is read; leave some out."
    if not encoding.startswith("utf-16") and content.count(b"\n") > MAX_ROWS:
        raise DataError(too_many)

    def lines() -> Iterator[str]:
        for number, line in enumerate(text, start=1):
            if number > MAX_ROWS:
                raise DataError(too_many)
            # Count before splitting, which takes gigabytes for millions of cells.
            if line.count(separator) >= MAX_COLUMNS:
                raise DataError(
                    f"Row {number} has more than {MAX_COLUMNS:,} cells, the most that is read of "
                    "a table, whatever the limits; turn it so that features are rows, or save its "
                    "numbers as NPZ or MTX."
                )
            yield line

    if separator == SPACE:
        cut_lines = ((number, _by_space(line)) for number, line in enumerate(lines(), start=1))
        yield from (record for record in cut_lines if record[1])
        return
    reader = csv.reader(lines(), delimiter=separator, skipinitialspace=True, strict=True)
    line = 1
    try:
        for row in reader:
            if row and max(map(len, row)) > longest:
                column = next(i for i, cell in enumerate(row) if len(cell) > longest)
                raise DataError(
                    f"Row {line}, column {column + 1} holds more than {longest:,} characters; "
                    "perhaps a quotation mark is not closed."
                )
            if len(row) > 1 or any(cell.strip() for cell in row):
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"Row {line} cannot be cut into cells; perhaps a quotation mark is not closed."
        ) from error
