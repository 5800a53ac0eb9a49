"""Formats that hold a matrix whose rows and columns may have names and labels beside it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bnmf_core.core.dataset import Parts
from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_name, clean_names
from bnmf_core.data.formats.format import Format, array_preview
from bnmf_core.data.orientation import Side, find_side
from bnmf_core.data.reading import Reading


@dataclass(frozen=True)
class Found:
    """A matrix as it lies in its file, with what stands beside it.

    side : where the observations are and why, where the format says so.
    row_labels, column_labels : name → one word for each row or column.
    formats : keys of the formats that the file can be taken for, where these are several.
    settings, offers : what was chosen of what the format offers.
    shown : the columns that tell most at a glance; left out, the first.
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


Find = Callable[[bytes, Mapping[str, Any], int], Found]


def named_format(
    key: str,
    what: str,
    recognises: Callable[[bytes, str], bool],
    find: Find,
    features_are: str = "",
) -> Format:
    """A format of which ``find`` (content, settings, limit in bytes) gives the matrix."""

    def inspect(content: bytes, chosen: Mapping[str, Any], limit_bytes: int) -> Reading:
        return reading_of(key, what, find(content, chosen.get("settings", {}), limit_bytes), chosen)

    def parts(content: bytes, reading: Reading, limit_bytes: int) -> Parts:
        return parts_of(find(content, reading.settings, limit_bytes), reading.observations)

    return Format(key, what, recognises, inspect, parts, True, features_are)


def reading_of(key: str, what: str, found: Found, chosen: Mapping[str, Any]) -> Reading:
    """How a matrix with names would be read."""
    side = found.side or find_side(found.rows or [], found.columns or [], "", "")
    if "observations" in chosen:
        side = Side(chosen["observations"], "chosen by you")
    doubts = (*found.doubts, *((side.doubt,) if side.doubt else ()))
    matrix: Any = found.matrix
    values = matrix if isinstance(matrix, np.ndarray) else matrix.data
    faults: tuple[str, ...] = ()
    wrong = ""
    if np.iscomplexobj(values):
        wrong = "complex numbers; save their magnitudes and open those"
    elif values.size and np.nanmin(values) < 0:
        wrong = f"{np.nanmin(values):g}, which is negative"
    if wrong:
        others = [
            name for name in found.offers.get("matrix", ()) if name != found.settings["matrix"]
        ]
        hint = (
            f" Another matrix may be meant: {', '.join(map(repr, others[:5]))}." if others else ""
        )
        faults = (f"The matrix holds {wrong}; every entry must be a finite number ≥ 0.{hint}",)
    return Reading(
        key,
        what,
        observations=side.observations,
        image_shape=found.image_shape,
        formats=found.formats,
        settings=dict(found.settings),
        offers=dict(found.offers),
        reasons={"observations": side.reason},
        doubts=doubts,
        faults=faults,
        preview=array_preview(found.matrix, found.rows, found.columns, found.shown),
    )


def parts_of(found: Found, observations: str) -> Parts:
    """The arguments of ``Dataset.from_array``, with the observations on this side of the file."""
    sides = (found.rows, found.row_labels), (found.columns, found.column_labels)
    matrix = found.matrix
    if observations == "rows":
        sides, matrix = sides[::-1], matrix.T
    (features, _), (names, labels) = sides
    parts: Parts = {"X": matrix, "labels": {key: list(v) for key, v in labels.items()}}
    parts["features"] = None if features is None else clean_names(features, "feature")
    parts["observations"] = None if names is None else clean_names(names, "observation")
    return parts


def pick(settings: Mapping[str, Any], key: str, offered: Sequence[Any], what: str) -> Any:
    """What was chosen of what is offered; the first where nothing was.

    Raises
    ------
    DataError
        When it is not among what is offered.
    """
    chosen = settings.get(key, offered[0])
    for one in offered:
        if str(one) == str(chosen):
            return one
    listed = ", ".join(repr(clean_name(one, 40)) for one in offered[:8])
    raise DataError(f"There is no {what} {clean_name(chosen, 40)!r}; there are {listed}.")
