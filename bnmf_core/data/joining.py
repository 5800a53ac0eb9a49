"""Names and labels that come in files of their own, joined by name or by order."""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_name, clean_names
from bnmf_core.data import cells, text
from bnmf_core.data.limits import unpacked
from bnmf_core.data.orientation import word_of
from bnmf_core.data.roles import HEADS

SIDES = ("observations", "features")
LIMIT_BYTES = 32 * 2**20
# Some files of text are filled up with zeros to the end of a block.
PADDING = bytes(4)


class Joined(NamedTuple):
    """The dataset with what was joined, and in a sentence what that was."""

    dataset: Dataset
    said: str


def join(dataset: Dataset, content: bytes, filename: str, side: str | None = None) -> Joined:
    """A dataset with the names or labels of a file: one row for each observation or feature.

    A column that holds the names of the data joins by name, whatever the order of its rows; else
    there have to be as many rows as observations or features, and they are in their order. Then
    the first column whose words all differ gives names. All other columns are labels, which only
    observations have.

    Parameters
    ----------
    content : one name a line, or a table with or without a header. filename : for the sentence.
    side : "observations" or "features"; left out, what fits decides.

    Raises
    ------
    DataError
        When it fits neither, or both.
    """
    shown = clean_name(filename, 60)
    rows = rows_of(content, shown)
    if side is not None and side not in SIDES:
        raise DataError(f"The side was {side!r}; choose one of {', '.join(SIDES)}.")
    for one in (side,) if side else SIDES:
        if (found := _by_name(dataset, rows, one, shown)) is not None:
            return found
    fits = [
        (one, above)
        for above in headers_of(rows)
        for one in ((side,) if side else SIDES)
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
    return _by_order(dataset, rows[1:] if above else rows, rows[0] if above else [], one, shown)


def rows_of(content: bytes, shown: str) -> list[list[str]]:
    """The rows of a list or a table, all of one width.

    Raises
    ------
    DataError
        When it is too large, or no text.
    """
    content = unpacked(content, LIMIT_BYTES)
    if content.endswith(PADDING):
        content = content.rstrip(b"\0")
    if len(content) > LIMIT_BYTES:
        raise DataError(f"{shown!r} is larger than {LIMIT_BYTES / 2**20:.0f} MB.")
    written = content.decode(text.find_encoding(content)[0])
    lines = [line.strip() for line in written.splitlines()]
    lines = [line for line in lines if line and not line.startswith("%")]
    content = "\n".join(lines).encode()
    try:
        separator = text.find_dialect(content).separator
        found = [row for _, row in text.records(content, "utf-8", separator)]
    except DataError:
        found = []
    if len({len(row) for row in found}) != 1:
        # One name a line, perhaps with commas in it.
        found = [[line] for line in lines]
    return found


def headers_of(rows: Sequence[Sequence[str]]) -> tuple[int, ...]:
    """How many rows may stand above the names: one where it is headed so, else none or one."""
    return (1,) if rows and any(word_of(cell) in HEADS for cell in rows[0]) else (0, 1)


def _by_name(dataset: Dataset, rows: Sequence[list[str]], side: str, shown: str) -> Joined | None:
    names = getattr(dataset, side)
    for column in range(len(rows[0]) if rows else 0):
        places = {clean_name(row[column]): i for i, row in enumerate(rows)}
        if any(name not in places for name in names) or len(rows) - len(names) > len(names):
            continue
        order = [places[name] for name in names]
        header = rows[0] if 0 not in order else [""] * len(rows[0])
        labels = _labels([rows[i] for i in order], header, [column])
        if side == "features":
            return Joined(dataset, f"{shown!r} only repeats the names of the features.")
        joined = dataclasses.replace(dataset, labels={**dataset.labels, **labels})
        return Joined(joined, f"{_listed(labels)} from {shown!r} joined by name.")
    return None


def _by_order(
    dataset: Dataset, rows: Sequence[list[str]], header: Sequence[str], side: str, shown: str
) -> Joined:
    width = len(rows[0])
    header = list(header) or [""] * width
    named = next((c for c in range(width) if differing([row[c] for row in rows])), None)
    said, joined = [], dataset
    if named is not None:
        names = tuple(clean_names([row[named] for row in rows], side[:-1]))
        if side == "features":
            joined = dataclasses.replace(joined, features=names)
        else:
            joined = dataclasses.replace(joined, observations=names)
        said.append(f"names of the {side}")
    if side == "observations":
        stem = clean_name(shown.split(".", maxsplit=1)[0])
        skipped = [] if named is None else [named]
        labels = _labels(rows, header, skipped, stem)
        if labels:
            joined = dataclasses.replace(joined, labels={**dataset.labels, **labels})
            said.append(_listed(labels))
    if not said:
        raise DataError(f"{shown!r} names features twice; every feature needs its own name.")
    words = " and ".join(said)
    return Joined(joined, f"{words} from {shown!r} joined by order.")


def _labels(
    rows: Sequence[list[str]], header: Sequence[str], skipped: Sequence[int], stem: str = "label"
) -> dict[str, np.ndarray]:
    # 0, 1, 2, … only counts the rows.
    columns = [
        column
        for column in range(len(rows[0]))
        if column not in skipped and cells.counts_from([row[column] for row in rows]) is None
    ]
    heads = [clean_name(header[column]) or stem for column in columns]
    found = {}
    for key, column in zip(clean_names(heads, "label"), columns, strict=True):
        values = ["" if cells.is_missing(row[column]) else clean_name(row[column]) for row in rows]
        found[key] = np.array(values)
        found[key].flags.writeable = False
    return found


def differing(words: Sequence[str]) -> bool:
    """Whether words may be names: all differ, and they do not only count."""
    return len(set(words)) == len(words) and cells.counts_from(words) is None


def _listed(labels: dict[str, np.ndarray]) -> str:
    if not labels:
        return "No labels"
    return f"label{'s' if len(labels) > 1 else ''} {', '.join(repr(key) for key in labels)}"
