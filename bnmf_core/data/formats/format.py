"""The interface of file formats, and two kinds: bare arrays and named matrices."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, cast

import numpy as np

from bnmf_core.core.dataset import Parts
from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_name, clean_names
from bnmf_core.data.orientation import UNSAID, UNSAID_DOUBT, Side, find_side
from bnmf_core.data.reading import (
    AXES,
    IS_NEGATIVE,
    PREVIEW_CHARACTERS,
    PREVIEW_COLUMNS,
    PREVIEW_ROWS,
    Preview,
    Reading,
    other_axis,
)
from bnmf_core.numerics.matrix import is_sparse

# (content, file name) → whether the file is of this kind.
Recognises = Callable[[bytes, str], bool]


@dataclass(frozen=True)
class Format:
    """A file format.

    Attributes
    ----------
    key : in a Reading. what : description in a sentence, after "taken as".
    recognises : (content, file name) → whether the file has this format; the name decides only
        between formats that begin alike.
    inspect : (content, chosen, limit in bytes) → Reading. ``chosen`` : fixed fields of a Reading.
    parts : (content, reading, limit in bytes) → the arguments of ``Dataset.from_array``.
    features_are : plural noun for the features of such files.
    """

    key: str
    what: str
    recognises: Recognises
    inspect: Callable[[bytes, Mapping[str, Any], int], Reading]
    parts: Callable[[bytes, Reading, int], Parts]
    features_are: str = ""


def array_format(
    key: str, what: str, recognises: Recognises, read: Callable[[bytes, int], Parts]
) -> Format:
    """A format for a matrix of numbers without names.

    ``read`` takes content and the limit in bytes; X and mask are oriented as in the file.
    """

    def inspect(content: bytes, chosen: Mapping[str, Any], limit_bytes: int) -> Reading:
        found = read(content, limit_bytes)
        side = _side_of(found)
        if "observations" in chosen:
            side = Side(chosen["observations"], "chosen by you")
        return Reading(
            format=key,
            what=what,
            observations=side.observations,
            image_shape=found.get("image_shape"),
            reasons={"observations": side.reason},
            doubts=(side.doubt,) if side.doubt else (),
            faults=_negative(found["X"]),
            preview=_preview(found["X"]),
        )

    def parts(content: bytes, reading: Reading, limit_bytes: int) -> Parts:
        found: Any = read(content, limit_bytes)
        if reading.observations == "rows":
            found |= {name: found[name].T for name in ("X", "mask") if name in found}
        return cast(Parts, found)

    return Format(key, what, recognises, inspect, parts)


def _side_of(found: Parts) -> Side:
    """The axis of the observations, by what has a value for each of one axis only."""
    X: Any = found["X"]
    told = [
        (f"the labels {clean_name(key, 40)!r} have", len(words), False)
        for key, words in found.get("labels", {}).items()
    ]
    if shape := found.get("image_shape"):
        told.append((f"an image of {shape[0]}×{shape[1]} has", shape[0] * shape[1], True))
    for what, count, of_features in told:
        fitting = [axis for axis, n in zip(AXES, X.shape, strict=True) if n == count]
        if len(fitting) == 1:
            axis = other_axis(fitting[0]) if of_features else fitting[0]
            why = f"{what} a value for each of the {count:,} {fitting[0]}"
            return Side(
                axis, why, f"{why[0].upper()}{why[1:]}: rows are features." * (axis == "columns")
            )
    return Side("rows", UNSAID, UNSAID_DOUBT)


@dataclass(frozen=True)
class Found:
    """A matrix as in its file, with names and labels.

    side : axis of the observations and the reason, if the format determines it.
    row_labels, column_labels : name → one word for each row or column; labels of observations, and
        descriptions of features.
    formats : keys of possible formats, if there are several.
    settings, offers : choices and options of the format.
    shown : columns of the preview; by default the first.
    texts : of the rows, if they are stored texts.
    """

    matrix: Any
    rows: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    row_labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    column_labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    side: Side | None = None
    image_shape: tuple[int, int] | None = None
    formats: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    offers: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()
    shown: np.ndarray | None = None
    texts: Sequence[str] | None = None


def named_format(
    key: str,
    what: str,
    recognises: Recognises,
    find: Callable[[bytes, Mapping[str, Any], int], Found],
    features_are: str = "",
) -> Format:
    """A format whose matrix may have names and labels for its rows and columns.

    ``find`` takes content, settings and the limit in bytes.
    """

    def inspect(content: bytes, chosen: Mapping[str, Any], limit_bytes: int) -> Reading:
        found = find(content, chosen.get("settings", {}), limit_bytes)
        side = found.side or find_side(found.rows or [], found.columns or [], "", "")
        if "observations" in chosen:
            side = Side(chosen["observations"], "chosen by you")
        return Reading(
            key,
            what,
            observations=side.observations,
            image_shape=found.image_shape,
            formats=found.formats,
            settings=dict(found.settings),
            offers=dict(found.offers),
            reasons={"observations": side.reason},
            doubts=(*found.doubts, *((side.doubt,) if side.doubt else ())),
            faults=_faults(found),
            preview=_preview(found.matrix, found.rows, found.columns, found.shown),
        )

    def parts(content: bytes, reading: Reading, limit_bytes: int) -> Parts:
        found = find(content, reading.settings, limit_bytes)
        sides = (found.rows, found.row_labels), (found.columns, found.column_labels)
        matrix = found.matrix
        if reading.observations == "rows":
            sides, matrix = sides[::-1], matrix.T
        (features, descriptions), (names, labels) = sides
        made: Parts = {
            "X": matrix,
            "labels": {key: list(words) for key, words in labels.items()},
            "descriptions": {
                key: [clean_name(word) for word in words] for key, words in descriptions.items()
            },
            "features": None if features is None else clean_names(features, "feature"),
            "observations": None if names is None else clean_names(names, "observation"),
        }
        if found.texts is not None and reading.observations == "rows":
            made["texts"] = found.texts
        return made

    return Format(key, what, recognises, inspect, parts, features_are)


def _negative(X: Any) -> tuple[str, ...]:
    """A sentence on the first negative entry and the number of others."""
    stored = X.tocoo() if is_sparse(X) else X
    values = stored.data if is_sparse(X) else X
    if not np.isrealobj(values) or not (count := int((values < 0).sum())):
        return ()
    first = np.argwhere(values < 0)[0]
    row, column = (stored.row[first[0]], stored.col[first[0]]) if is_sparse(X) else first
    more = f" So are {count - 1:,} more." if count > 1 else ""
    return (
        f"Row {row + 1}, column {column + 1} holds {values[tuple(first)]:g}, {IS_NEGATIVE}; every "
        f"entry must be a finite number ≥ 0.{more}",
    )


def _faults(found: Found) -> tuple[str, ...]:
    values = found.matrix if isinstance(found.matrix, np.ndarray) else found.matrix.data
    if np.iscomplexobj(values):
        wrong = "complex numbers; save their magnitudes and open those"
    elif values.size and np.nanmin(values) < 0:
        wrong = f"{np.nanmin(values):g}, which is negative"
    else:
        return ()
    others = [name for name in found.offers.get("matrix", ()) if name != found.settings["matrix"]]
    hint = f" Another matrix may be meant: {', '.join(map(repr, others[:5]))}." if others else ""
    return (f"The matrix holds {wrong}; every entry must be a finite number ≥ 0.{hint}",)


def pick(settings: Mapping[str, Any], key: str, offered: Sequence[Any], what: str) -> Any:
    """The chosen option, by default the first.

    DataError for an unknown option.
    """
    chosen = settings.get(key, offered[0])
    for one in offered:
        if str(one) == str(chosen):
            return one
    listed = ", ".join(repr(clean_name(one, 40)) for one in offered[:8])
    raise DataError(f"There is no {what} {clean_name(chosen, 40)!r}; there are {listed}.")


def names_and_folders(files: Sequence[str]) -> tuple[list[str], dict[str, list[str]]]:
    """The stems of files in an archive, and their folders as a label if there are several."""
    paths = [PurePosixPath(file) for file in files]
    folders = [path.parent.name for path in paths]
    return [path.stem for path in paths], {"folder": folders} if len(set(folders)) > 1 else {}


def _preview(
    matrix: Any,
    row_names: Sequence[str] | None = None,
    column_names: Sequence[str] | None = None,
    shown: np.ndarray | None = None,
) -> Preview:
    """The first rows and columns of a dense or sparse matrix as in its file."""
    height, width = matrix.shape
    first = np.arange(min(width, PREVIEW_COLUMNS)) if shown is None else shown[:PREVIEW_COLUMNS]
    if isinstance(matrix, np.ndarray):
        corner = matrix[:PREVIEW_ROWS][:, first]
    else:
        corner = matrix.tocsr()[:PREVIEW_ROWS][:, first].toarray()
    rows = tuple(tuple(f"{float(value.real):.6g}" for value in row) for row in corner)
    heads = [] if column_names is None else [column_names[i] for i in first]
    return Preview(
        tuple(range(1, len(rows) + 1)),
        rows,
        tuple(tuple(i for i, cell in enumerate(row, 1) if cell == "nan") for row in rows),
        width,
        height,
        tuple(clean_name(name, PREVIEW_CHARACTERS) for name in (row_names or ())[:PREVIEW_ROWS]),
        tuple(clean_name(name, PREVIEW_CHARACTERS) for name in heads),
    )
