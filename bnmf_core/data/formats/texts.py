"""Texts as word counts: a column of a table, or a zip of .txt files."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bnmf_core.core.dates import dates_of
from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_name
from bnmf_core.core.texts import MOST_BYTES
from bnmf_core.data import cells
from bnmf_core.data.formats.format import Found, named_format, names_and_folders, pick
from bnmf_core.data.limits import ZIP, archive_names, member, open_archive
from bnmf_core.data.orientation import Side
from bnmf_core.data.text import find_dialect, find_encoding, first_lines, records
from bnmf_core.data.vocabulary import (
    COUNTS,
    TF_IDF,
    YES_NO,
    Rule,
    counted,
    english_stop_words,
)

KEY = "texts"
SIDE = Side("rows", "every text is an observation")
# Setting → options, the first by default, and the noun for one of them.
OFFERS: dict[str, tuple[tuple[Any, ...], str]] = {
    "weighting": ((COUNTS, TF_IDF, YES_NO), "weighting"),
    "stop_words": (("English", "none"), "list of words"),
    "minimum_documents": ((2, 1, 3, 5, 10, 20, 50), "number"),
    "maximum_documents": ((0.5, 0.9, 1.0, 0.25, 0.1), "part"),
    "vocabulary_size": ((5000, 1000, 2000, 10_000, 20_000), "number"),
}
# Least average number of words per cell in a column of texts.
WORDS_OF_TEXT = 4.0
# The same in a table with numbers, where shorter cells are descriptions of rows.
WORDS_OF_RUNNING_TEXT = 20.0
LONGEST = 2**20
SAMPLE = 500
# Words in the lines below the header of Orange files, which declare the columns.
_ORANGE = frozenset({"d", "s", "c", "string", "discrete", "continuous", "class", "meta", ""})


class _Texts(NamedTuple):
    texts: list[str]
    names: list[str] | None
    labels: dict[str, list[str]]
    columns: tuple[str, ...] = ()
    column: str = ""
    doubts: tuple[str, ...] = ()


def _find(content: bytes, settings: Mapping[str, Any], limit_bytes: int) -> Found:
    if content.startswith(ZIP):
        with open_archive(content, limit_bytes) as archive:
            entries = [entry for entry in archive.infolist() if _is_text(entry.filename)]
            held = [member(archive, entry) for entry in entries]
        texts = [data.decode(find_encoding(data)[0], "replace") if data else "" for data in held]
        found = _Texts(texts, *names_and_folders([entry.filename for entry in entries]))
    else:
        found = _from_table(content, settings)
    chosen = {key: pick(settings, key, *offered) for key, offered in OFFERS.items()}
    offers = {key: offered for key, (offered, _) in OFFERS.items()}
    if found.columns:
        chosen, offers = {"column": found.column} | chosen, {"column": found.columns} | offers
    matrix, words = _counted(found.texts, chosen)
    empty = int((matrix.sum(axis=1) == 0).sum())
    counts = f"{len(found.texts):,} texts with {len(words):,} different words that are kept"
    doubts = [*found.doubts, f"{counts}: {chosen['weighting']} of words are the data."]
    if empty:
        who = "One text holds" if empty == 1 else f"{empty:,} texts hold"
        doubts.append(f"{who} none of these words: nothing but zeros.")
    size = sum(len(text.encode("utf-8", "replace")) for text in found.texts)
    if size > MOST_BYTES:
        doubts.append(
            f"Words are counted; the texts themselves are not kept: they have {size / 2**20:,.0f} "
            f"MB, and at most {MOST_BYTES / 2**20:g} MB are."
        )
    return Found(
        matrix,
        found.names,
        words,
        found.labels,
        side=SIDE,
        formats=(KEY, "table") if found.columns else (),
        settings=chosen,
        offers=offers,
        doubts=tuple(doubts),
        shown=np.argsort(-np.asarray(matrix.sum(axis=0)).ravel(), kind="stable"),
        texts=found.texts if size <= MOST_BYTES else None,
    )


def _counted(texts: Sequence[str], chosen: Mapping[str, Any]) -> tuple[Any, list[str]]:
    english = chosen["stop_words"] == "English"
    rule = Rule(
        english_stop_words() if english else frozenset(),
        chosen["minimum_documents"],
        chosen["maximum_documents"],
        chosen["vocabulary_size"],
    )
    try:
        return counted(texts, chosen["weighting"], rule)
    except ValueError as error:
        raise DataError(
            f"No word is left: it has to stand in at least {chosen['minimum_documents']} texts "
            f"and in at most {chosen['maximum_documents']:.0%} of them; change these settings."
        ) from error


def _from_table(content: bytes, settings: Mapping[str, Any]) -> _Texts:
    dialect = find_dialect(content)
    rows = _rows(content, dialect.encoding, dialect.separator)
    head, body = rows[0], rows[1:]
    long = _text_columns(rows)
    if not long:
        raise DataError("No column of the table holds texts of several words.")
    if any(_length(head[column]) >= WORDS_OF_TEXT for column in long):
        head, body = [f"column {column + 1}" for column in range(len(head))], rows
    while body and all(cell.strip().lower() in _ORANGE for cell in body[0]):
        body = body[1:]
    heads = [clean_name(cell) or f"column {i + 1}" for i, cell in enumerate(head)]
    offered = [heads[column] for column in long]
    column = heads.index(pick(settings, "column", offered, "column"))
    others = [c for c in range(len(heads)) if c != column and c not in long]
    words = {c: [row[c].strip() for row in body] for c in others}
    # Dates are always labels, never names.
    seen = {c: ["" if cells.is_missing(word) else word for word in words[c]] for c in others}
    dates = [c for c in others if dates_of(seen[c]) is not None]
    unique = (c for c in others if len(set(words[c])) == len(body) and c not in dates)
    named = next(unique, None)
    labels = {
        heads[c]: [clean_name(word) for word in seen[c]]
        for c in others
        if c != named and (c in dates or len(set(words[c])) <= max(2, len(body) // 2))
    }
    texts = [row[column] for row in body]
    names = None if named is None else words[named]
    doubt = f"Column {column + 1} ({heads[column]!r}) {_running(texts)}: its words are counted."
    if labels:
        doubt += f" The labels are {', '.join(repr(key) for key in labels)}."
    return _Texts(texts, names, labels, tuple(offered), heads[column], (doubt,))


def _rows(content: bytes, encoding: str, separator: str) -> list[list[str]]:
    try:
        found = [row for _, row in records(content, encoding, separator, LONGEST)]
    except DataError:
        # Quotation marks in texts do not quote cells.
        lines = content.decode(encoding).splitlines()
        found = [line.split(separator) for line in lines if line.strip()]
    width = max((len(row) for row in found[:SAMPLE]), default=0)
    return [[*row, *[""] * (width - len(row))] for row in found if len(row) <= width]


def found_in(content: bytes, encoding: str, separator: str) -> str:
    """Why a table holds texts, to follow "because"; "" if it does not.

    A column must have mostly distinct running text; in a table with columns of numbers, the texts
    must be longer than descriptions and have more words than there are such columns.
    """
    rows = _rows("".join(first_lines(content, encoding)).encode(), "utf-8", separator)
    if len(rows) < 2 or not (long := _text_columns(rows)):
        return ""
    column, body = long[0], rows[1:]
    texts = [row[column] for row in body]
    numbers = sum(
        2 * sum(cells.is_number(row[other]) for row in body) > len(body)
        for other in range(len(rows[0]))
    )
    if numbers and _words_a_cell(texts) < max(WORDS_OF_RUNNING_TEXT, numbers):
        return ""
    if 2 * len(set(texts)) < len(texts):
        return ""
    return f"column {column + 1} {_running(texts)}"


def _running(texts: Sequence[str]) -> str:
    """Describe a column of texts."""
    differ = "all cells" if len(set(texts)) == len(texts) else "most cells"
    return f"holds running text, {_words_a_cell(texts):.0f} words a cell, {differ} different"


def _words_a_cell(texts: Sequence[str]) -> float:
    return sum(map(_length, texts)) / len(texts)


def _text_columns(rows: Sequence[Sequence[str]]) -> list[int]:
    """Indices of columns whose cells have several words, the longest first."""
    sample = rows[1:SAMPLE] or rows
    means = [_words_a_cell(cells_of) for cells_of in zip(*sample, strict=True)]
    long = [column for column, mean in enumerate(means) if mean >= WORDS_OF_TEXT]
    return sorted(long, key=lambda column: -means[column])


def _length(cell: str) -> int:
    words = cell.split()
    return 0 if all(cells.is_number(word) for word in words) else len(words)


def _is_text(name: str) -> bool:
    return name.lower().endswith(".txt") and "__MACOSX" not in name


FORMAT = named_format(
    KEY,
    "texts, of which words are counted",
    lambda content, _: any(map(_is_text, archive_names(content))),
    _find,
    "words",
)
