"""Join names and labels from separate files to a dataset, by name or by order.

Such files may also determine which side of the data has the observations.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_name, clean_names
from bnmf_core.data import cells, text
from bnmf_core.data.isolation import ReaderProcess
from bnmf_core.data.limits import unpacked
from bnmf_core.data.orientation import UNSAID, UNSAID_DOUBT, kind_of, word_of
from bnmf_core.data.reading import AXES, Reading, other_axis
from bnmf_core.data.roles import HEADS, MOST_CLASSES

SIDES = ("observations", "features")
# Field of the dataset for each side, and the noun for one of its entries.
FIELDS = {"observations": ("labels", "label"), "features": ("descriptions", "description")}
# Some text files are padded with zeros.
PADDING = bytes(4)
FEWEST_OF_A_CLASS = 2
LABEL = "group"
_FIRST_LETTERS = re.compile(r"([^\W\d_]+)[\W\d_]")


class Joined(NamedTuple):
    """The dataset with the joined names or labels, and a sentence on them."""

    dataset: Dataset
    summary: str


def join(dataset: Dataset, content: bytes, filename: str, side: str | None = None) -> Joined:
    """Join the names or labels of a file with one row for each observation or feature.

    A column with the names of the data joins by name, in any order of rows. Otherwise the file must
    have as many rows as observations or features, in their order, and the first column of distinct
    words gives names. All other columns become labels of observations or descriptions of
    features.

    Parameters
    ----------
    content : one name a line, or a table with or without a header. filename : for the sentence.
    side : "observations" or "features"; by default the one that fits.

    DataError when the file fits neither side, or both.
    """
    shown = clean_name(filename, 60)
    rows = _read(content, shown)
    if side is not None and side not in SIDES:
        raise DataError(f"The side was {side!r}; choose one of {', '.join(SIDES)}.")
    sides = (side,) if side else SIDES
    for one in sides:
        if (found := _by_name(dataset, rows, one, shown)) is not None:
            return found
    fits = [
        (one, above)
        for above in _headers_of(rows)
        for one in sides
        if len(rows) - above == len(getattr(dataset, one))
    ]
    if not fits:
        raise DataError(
            f"{shown!r} has {len(rows):,} rows, and no column of it holds the names of the data; "
            f"{dataset.N:,} rows (one an observation) or {dataset.D:,} (one a feature) are needed."
        )
    one, above = fits[0]
    if len({other for other, head in fits if head == above}) > 1:
        raise DataError(
            f"{shown!r} has {len(rows):,} rows, which fits the observations and the features; say "
            "which of them it is for."
        )
    return _by_order(dataset, rows[above:], rows[0] if above else [], one, shown)


def oriented(reading: Reading, files: Mapping[str, bytes]) -> Reading:
    """Determine the axis of the observations from files of names.

    Used only if the file itself does not tell: "genes.txt" with a name for each row makes the
    columns observations. The noun for the features comes from there too.

    Parameters
    ----------
    files : content of every file of names or labels, by file name.

    Examples
    --------
    >>> from bnmf_core import inspect_file
    >>> from bnmf_core.data.joining import oriented
    >>> reading = inspect_file(b"5,6\\n8,9\\n2,3\\n", filename="counts.csv")
    >>> again = oriented(reading, {"genes.txt": b"TP53\\nMYC\\nKRAS\\n"})
    >>> reading.observations, again.observations, again.features_are
    ('rows', 'columns', 'genes')
    >>> print(again.doubts[-1])
    'genes.txt' holds the names of genes, one for each row: columns are the observations.
    """
    if reading.reasons.get("observations") != UNSAID:
        return reading
    shape = reading.preview.height, reading.preview.width
    if reading.is_table:
        header = 0 if reading.header_row is None else 1
        shape = shape[0] - header, len(reading.number_columns)
    votes = []
    for filename, content in files.items():
        shown = clean_name(filename, 60)
        # An unreadable file raises an error later, when it is joined.
        with suppress(DataError):
            votes += _votes_of(shape, shown, _read(content, shown))
    if not votes:
        return reading
    observations, why, _ = votes[0]
    against = [other for axis, other, _ in votes if axis != observations]
    but = f", but {against[0]}" if against else ""
    doubts = [doubt for doubt in reading.doubts if doubt != UNSAID_DOUBT]
    return replace(
        reading,
        observations=observations,
        features_are=reading.features_are or next((one for *_, one in votes if one), ""),
        doubts=(*doubts, f"{why}{but}: {observations} are the observations."),
    ).because({"observations": why})


def labelled(dataset: Dataset) -> tuple[Dataset, str]:
    """Derive a label from the letters at the beginning of the names, if the data have none.

    "ALL_1", "ALL_2", "AML_1" and "AML_2" have two classes. Returns the data and a sentence, or the
    unchanged data and "" if there are labels or the names form no classes.
    """
    found = [_FIRST_LETTERS.match(name) for name in dataset.observations]
    words = [match[1] for match in found if match]
    counts = Counter(words)
    few = not 2 <= len(counts) <= MOST_CLASSES or min(counts.values()) < FEWEST_OF_A_CLASS
    if dataset.labels or len(words) < dataset.N or few:
        return dataset, ""
    shown = ", ".join(f"{word} ({count:,})" for word, count in counts.most_common(6))
    more = ", …" if len(counts) > 6 else ""
    sentence = f"Names begin with one of {len(counts)} words, the label {LABEL!r}: {shown}{more}."
    return replace(dataset, labels={LABEL: _read_only(words)}), sentence


def _votes_of(
    shape: tuple[int, int], shown: str, rows: list[list[str]]
) -> list[tuple[str, str, str]]:
    """Axis of the observations according to a file of names, the reason, and a noun for features.

    shape : (rows, columns) of the matrix in its file.
    """
    fits = [
        (axis, above)
        for above in _headers_of(rows)
        for axis, count in zip(AXES, shape, strict=True)
        if len(rows) - above == count
    ]
    if shape[0] == shape[1] or not fits:
        return []
    axis, above = fits[0]
    names = next(
        (list(column) for column in zip(*rows[above:], strict=True) if _differ(column)), []
    )
    called = [part for part in re.split(r"[\W_]+", shown.lower()) if part]
    kind = kind_of([*(rows[0] if above else ()), *called], names) if names else None
    if kind is None:
        return []
    what, of_features = kind
    plural = [word for word in called if word.endswith("s") and kind_of([word], ())]
    why = f"{shown!r} holds {what}, one for each {axis[:-1]}"
    if of_features:
        return [(other_axis(axis), why, (plural or [""])[0])]
    return [(axis, why, "")]


def _read(content: bytes, shown: str) -> list[list[str]]:
    with ReaderProcess(content, shown, "rows") as reader:
        return reader.rows()


def rows_of(content: bytes, limit_bytes: int) -> list[list[str]]:
    """The rows of a list or a table, all of one width; DataError for binary content."""
    content = unpacked(content, limit_bytes)
    if content.endswith(PADDING):
        content = content.rstrip(b"\0")
    written = content.decode(text.find_encoding(content)[0])
    # A tab at the end is an empty cell.
    lines = [line.strip(" ") for line in written.splitlines()]
    lines = [line for line in lines if line.strip() and not line.startswith("%")]
    content = "\n".join(lines).encode()
    with suppress(DataError):
        separator = text.find_dialect(content).separator
        found = [row for _, row in text.records(content, "utf-8", separator)]
        if len({len(row) for row in found}) == 1:
            return found
    # One name a line, perhaps with commas in it.
    return [[line] for line in lines]


def _headers_of(rows: Sequence[Sequence[str]]) -> tuple[int, ...]:
    """Possible numbers of header rows: 1 for a known heading, else 0 or 1."""
    return (1,) if rows and any(word_of(cell) in HEADS for cell in rows[0]) else (0, 1)


def _by_name(dataset: Dataset, rows: Sequence[list[str]], side: str, shown: str) -> Joined | None:
    names = getattr(dataset, side)
    for column in range(len(rows[0]) if rows else 0):
        places = {clean_name(row[column]): i for i, row in enumerate(rows)}
        if any(name not in places for name in names) or len(rows) - len(names) > len(names):
            continue
        order = [places[name] for name in names]
        header = rows[0] if 0 not in order else [""] * len(rows[0])
        field, what = FIELDS[side]
        labels = _labels([rows[i] for i in order], header, column, what)
        if side == "features" and not labels:
            return Joined(dataset, f"{shown!r} only repeats the names of the features.")
        changed: dict[str, Any] = {field: {**getattr(dataset, field), **labels}}
        return Joined(
            replace(dataset, **changed), f"{_listed(labels, what)} from {shown!r} joined by name."
        )
    return None


def _by_order(
    dataset: Dataset, rows: Sequence[list[str]], header: Sequence[str], side: str, shown: str
) -> Joined:
    columns = list(zip(*rows, strict=True))
    named = next((c for c, column in enumerate(columns) if _differ(column)), None)
    parts: list[str] = []
    changed: dict[str, Any] = {}
    if named is not None:
        changed[side] = tuple(clean_names(columns[named], side[:-1]))
        parts.append(f"names of the {side}")
    field, what = FIELDS[side]
    stem = clean_name(shown.split(".", maxsplit=1)[0])
    if labels := _labels(rows, header or [""] * len(columns), named, stem):
        changed[field] = {**getattr(dataset, field), **labels}
        parts.append(_listed(labels, what))
    if side == "features" and named is None:
        raise DataError(f"{shown!r} names features twice; every feature needs its own name.")
    words = " and ".join(parts)
    return Joined(replace(dataset, **changed), f"{words} from {shown!r} joined by order.")


def _labels(
    rows: Sequence[list[str]], header: Sequence[str], named: int | None, stem: str
) -> dict[str, np.ndarray]:
    # 0, 1, 2, … only counts the rows.
    columns = {
        c: column
        for c, column in enumerate(zip(*rows, strict=True))
        if c != named and any(column) and cells.counts_from(column) is None
    }
    keys = clean_names([clean_name(header[c]) or stem for c in columns], "label")
    return {
        key: _read_only(["" if cells.is_missing(cell) else clean_name(cell) for cell in column])
        for key, column in zip(keys, columns.values(), strict=True)
    }


def _read_only(words: Sequence[str]) -> np.ndarray:
    found = np.array(words)
    found.flags.writeable = False
    return found


def _differ(words: Sequence[str]) -> bool:
    """Whether words may be names: all differ, and they are no row numbers."""
    return len(set(words)) == len(words) and cells.counts_from(words) is None


def _listed(labels: dict[str, np.ndarray], what: str) -> str:
    if not labels:
        return f"No {what}s"
    return f"{what}{'s' if len(labels) > 1 else ''} {', '.join(repr(key) for key in labels)}"
