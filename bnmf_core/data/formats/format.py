"""What every format says of itself."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bnmf_core.core.dataset import Parts
from bnmf_core.core.names import clean_name
from bnmf_core.data.orientation import UNSAID, UNSAID_DOUBT
from bnmf_core.data.reading import (
    PREVIEW_CHARACTERS,
    PREVIEW_COLUMNS,
    PREVIEW_ROWS,
    Preview,
    Reading,
)

DEFAULT_AXIS = "rows"


@dataclass(frozen=True)
class Format:
    """A kind of file.

    Attributes
    ----------
    key : it is called so in a Reading. what : in a sentence, after "taken as".
    recognises : (content, file name) → whether the file is of this kind; content decides, the
        name only between kinds that begin alike.
    inspect : (content, chosen, limit in bytes) → Reading. ``chosen`` holds the fields of a Reading
        that are not to be guessed.
    parts : (content, reading, limit in bytes) → the arguments of ``Dataset.from_array``.
    isolated : whether its parser is one that hostile bytes may crash or swell, so that it runs
        in a process of its own.
    features_are : what the features of such a file are called, in the plural.
    """

    key: str
    what: str
    recognises: Callable[[bytes, str], bool]
    inspect: Callable[[bytes, Mapping[str, Any], int], Reading]
    parts: Callable[[bytes, Reading, int], Parts]
    isolated: bool = False
    features_are: str = ""


def array_format(
    key: str,
    what: str,
    recognises: Callable[[bytes, str], bool],
    read: Callable[[bytes, str, int], Parts],
    isolated: bool = False,
) -> Format:
    """A format that holds a matrix of numbers: only its orientation is to be chosen.

    ``read`` takes content, observations and the limit in bytes.
    """

    def inspect(content: bytes, chosen: Mapping[str, Any], limit_bytes: int) -> Reading:
        observations = chosen.get("observations", DEFAULT_AXIS)
        return array_reading(key, what, read(content, observations, limit_bytes), chosen)

    def parts(content: bytes, reading: Reading, limit_bytes: int) -> Parts:
        return read(content, reading.observations, limit_bytes)

    return Format(key, what, recognises, inspect, parts, isolated)


def array_reading(key: str, what: str, found: Parts, chosen: Mapping[str, Any]) -> Reading:
    """The Reading of a matrix that was found whole; ``found`` has X as (D, N)."""
    given = "observations" in chosen
    observations = chosen.get("observations", DEFAULT_AXIS)
    X = found["X"]
    reason = "chosen by you" if given else UNSAID
    return Reading(
        format=key,
        what=what,
        observations=observations,
        image_shape=found.get("image_shape"),
        reasons={"observations": reason},
        doubts=() if given else (UNSAID_DOUBT,),
        preview=array_preview(X if observations == "columns" else X.T),  # type: ignore[union-attr]
    )


def array_preview(
    matrix: Any,
    row_names: Sequence[str] | None = None,
    column_names: Sequence[str] | None = None,
    shown: np.ndarray | None = None,
) -> Preview:
    """The first rows and columns of a matrix as it lies in its file, dense or sparse.

    ``shown`` are the columns to be seen where these are not the first.
    """
    height, width = matrix.shape
    first = np.arange(min(width, PREVIEW_COLUMNS)) if shown is None else shown[:PREVIEW_COLUMNS]
    corner = matrix
    if not isinstance(matrix, np.ndarray):
        corner = matrix.tocsr()
    corner = corner[:PREVIEW_ROWS][:, first]
    corner = corner if isinstance(corner, np.ndarray) else corner.toarray()
    rows = [[f"{float(value.real):.6g}" for value in row] for row in corner]
    return Preview(
        tuple(range(1, len(rows) + 1)),
        tuple(tuple(row) for row in rows),
        tuple(tuple(i for i, cell in enumerate(row, 1) if cell == "nan") for row in rows),
        width,
        height,
        tuple(clean_name(name, PREVIEW_CHARACTERS) for name in (row_names or ())[:PREVIEW_ROWS]),
        tuple(clean_name(column_names[i], PREVIEW_CHARACTERS) for i in first)
        if column_names is not None
        else (),
    )
