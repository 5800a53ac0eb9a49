"""What files of names and labels say of the data that they stand beside, before they are joined."""

import dataclasses
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_name
from bnmf_core.data.joining import differing, headers_of, rows_of
from bnmf_core.data.orientation import UNSAID, UNSAID_DOUBT, kind_of
from bnmf_core.data.reading import AXES, Reading
from bnmf_core.data.roles import MOST_CLASSES

FEWEST_OF_A_CLASS = 2
LABEL = "group"
_FIRST_LETTERS = re.compile(r"([^\W\d_]+)[\W\d_]")


def oriented(reading: Reading, beside: Mapping[str, bytes]) -> Reading:
    """The Reading, with the observations where files of names say that they are.

    Only where nothing in the file itself says: "genes.txt" with a name for each row makes the
    columns observations. What the features are called comes from there too.

    Parameters
    ----------
    beside : content of every file of names or labels, by its name.

    Examples
    --------
    >>> from bnmf_core import inspect_file
    >>> from bnmf_core.data.beside import oriented
    >>> reading = inspect_file(b"5,6\\n8,9\\n2,3\\n", filename="counts.csv")
    >>> again = oriented(reading, {"genes.txt": b"TP53\\nMYC\\nKRAS\\n"})
    >>> reading.observations, again.observations, again.features_are
    ('rows', 'columns', 'genes')
    >>> print(again.doubts[-1])
    'genes.txt' holds the names of genes, one for each row: columns are the observations.
    """
    if reading.reasons.get("observations") != UNSAID:
        return reading
    said = []
    for filename, content in beside.items():
        shown = clean_name(filename, 60)
        # Joining says what is wrong with a file that cannot be read.
        with suppress(DataError):
            said += _said(_shape(reading), shown, rows_of(content, shown))
    if not said:
        return reading
    observations, why, _ = said[0]
    against = [other for axis, other, _ in said if axis != observations]
    but = f", but {against[0]}" if against else ""
    doubts = [doubt for doubt in reading.doubts if doubt != UNSAID_DOUBT]
    return dataclasses.replace(
        reading,
        observations=observations,
        features_are=reading.features_are or next((one for *_, one in said if one), ""),
        doubts=(*doubts, f"{why}{but}: {observations} are the observations."),
    ).because({"observations": why})


def _said(shape: tuple[int, int], shown: str, rows: list[list[str]]) -> list[tuple[str, str, str]]:
    """Where one file of names has the observations, why, and what it calls features, if it tells.

    shape : (rows, columns) of the matrix as it lies in its file.
    """
    fits = [
        (axis, above)
        for above in headers_of(rows)
        for axis, count in zip(AXES, shape, strict=True)
        if len(rows) - above == count
    ]
    if shape[0] == shape[1] or not fits:
        return []
    axis, above = fits[0]
    columns = [[row[i] for row in rows[above:]] for i in range(len(rows[0]))]
    names = next((column for column in columns if differing(column)), [])
    called = [part for part in re.split(r"[\W_]+", shown.lower()) if part]
    kind = kind_of([*(rows[0] if above else ()), *called], names) if names else None
    if kind is None:
        return []
    what, of_features = kind
    other = AXES[1 - AXES.index(axis)]
    plural = [word for word in called if word.endswith("s") and kind_of([word], ())]
    why = f"{shown!r} holds {what}, one for each {axis[:-1]}"
    return [(other if of_features else axis, why, (plural or [""])[0] if of_features else "")]


def _shape(reading: Reading) -> tuple[int, int]:
    """(rows, columns) of the matrix as it lies in the file."""
    if not reading.is_table:
        return reading.preview.height, reading.preview.width
    header = 0 if reading.header_row is None else 1
    return reading.preview.height - header, len(reading.number_columns)


def labelled(dataset: Dataset) -> tuple[Dataset, str]:
    """Data without labels, with one that the letters at the beginning of its names tell.

    "ALL_1", "ALL_2", "AML_1" and "AML_2" are of two kinds. Returned with a sentence about it; as it
    is, with "", where there are labels, or names do not tell classes of several observations.
    """
    found = [_FIRST_LETTERS.match(name) for name in dataset.observations]
    words = [match[1] for match in found if match]
    counts = Counter(words)
    if dataset.labels or len(words) < dataset.N or not 2 <= len(counts) <= MOST_CLASSES:
        return dataset, ""
    if min(counts.values()) < FEWEST_OF_A_CLASS:
        return dataset, ""
    label = np.array(words)
    label.flags.writeable = False
    shown = ", ".join(f"{word} ({count:,})" for word, count in counts.most_common(6))
    more = ", …" if len(counts) > 6 else ""
    said = f"Names begin with one of {len(counts)} words, the label {LABEL!r}: {shown}{more}."
    return dataclasses.replace(dataset, labels={LABEL: label}), said
