"""A catalogue of known components: signatures of COSMIC, topics or spectra, from a user's file."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bnmf_core.core.axis import axis_of, interpolated
from bnmf_core.core.dataset import Parts
from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_names
from bnmf_core.data.channels import named
from bnmf_core.data.isolation import ReaderProcess, brought
from bnmf_core.data.matching import KEYS, bare_names
from bnmf_core.data.reading import Reading
from bnmf_core.numerics.matrix import dense

# The unit in a heading such as "wavelength (nm)".
_UNIT = re.compile(r"[(\[]\s*([^)\]]+?)\s*[)\]]")
# Largest number of columns of words whose joined words may name a row.
MOST_COLUMNS_OF_WORDS = 3


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Known components by the names of their features.

    Attributes
    ----------
    name : for messages. features : D' names of rows. entries : C names of columns.
    values : (D', C), of any scale, ≥ 0.
    """

    name: str
    features: tuple[str, ...]
    entries: tuple[str, ...]
    values: np.ndarray


@dataclass(frozen=True, eq=False)
class Matched:
    """A catalogue with its rows matched to the features of a dataset.

    Attributes
    ----------
    name, entries : as of the catalogue. values : (D, C).
    summary : a sentence on how many of its rows were used, and which were not.
    """

    name: str
    entries: tuple[str, ...]
    values: np.ndarray
    summary: str


def read_catalogue(source: bytes | Path, filename: str = "") -> Catalogue:
    """Read a table whose first column names features, with a column for each entry.

    Tab, comma or semicolon separate cells, as in COSMIC's files. If the first column repeats names,
    such as "C>A" in a file with "Type" and "SubType", the names come from another column of words
    without repeats, or else from all of them joined.

    Raises
    ------
    DataError, NotFoundError
        When the file cannot be read; the message names the fault.

    Examples
    --------
    >>> from bnmf_core.data.catalogue import read_catalogue
    >>> found = read_catalogue(b"Type,SBS1,SBS2\\nA[C>A]A,0.3,1\\nA[C>A]C,0.7,0\\n", "some.csv")
    >>> found.features, found.entries
    (('A[C>A]A', 'A[C>A]C'), ('SBS1', 'SBS2'))
    """
    filename, shown = brought(source, filename, "catalogue")
    try:
        parts, reading = _read(source, filename)
        X: Any = parts["X"]
        values, seen = dense(X), parts.get("mask")
        values = values if seen is None else np.where(seen, values, np.nan)
        entries = list(parts.get("observations") or [""] * values.shape[1])
        features = bare_names(parts.get("features") or ())
        if not features and (places := _places(values, entries)):
            features, values, entries = places, values[:, 1:], entries[1:]
        features = features or tuple(str(d + 1) for d in range(len(values)))
        if len(set(features)) < len(features):
            features = _by_more_columns(source, filename, reading) or features
    except DataError as error:
        raise DataError(f"The catalogue {shown!r} cannot be read. {error}") from error
    empty = np.argwhere(~np.isfinite(values))
    if empty.size:
        d, c = empty[0].tolist()
        raise DataError(
            f"The catalogue {shown!r} has empty cells, the first in row {features[d]!r}, column "
            f"{entries[c] or str(c + 1)!r}; every entry must be a number."
        )
    if values.size and values.min() < 0:
        raise DataError(f"The catalogue {shown!r} has negative entries; every entry must be ≥ 0.")
    return Catalogue(shown, features, tuple(clean_names(entries, "entry")), values)


def _places(values: np.ndarray, entries: Sequence[str]) -> tuple[str, ...]:
    """Row names from a first column of wavelengths with the unit in its heading; () without one."""
    if values.shape[1] < 2:
        return ()
    unit = _UNIT.search(entries[0])
    names = tuple(f"{place:.12g} {unit[1] if unit else ''}".rstrip() for place in values[:, 0])
    return names if axis_of(names) is not None else ()


def _read(
    source: bytes | Path, filename: str, names_column: int | None = None
) -> tuple[Parts, Reading]:
    chosen: dict[str, object] = {"observations": "columns"}
    if names_column is not None:
        chosen["names_column"] = names_column
    with ReaderProcess(source, filename, "both", chosen=chosen) as reader:
        return reader.parts(), reader.reading()


def _by_more_columns(source: bytes | Path, filename: str, reading: Reading) -> tuple[str, ...]:
    """Row names from a column of words without repeats, or from all joined; () if none works."""
    first = min(reading.number_columns, default=1)
    columns = []
    for place in range(1, min(first, MOST_COLUMNS_OF_WORDS + 1)):
        names = bare_names(_read(source, filename, place)[0].get("features") or ())
        if len(set(names)) == len(names):
            return names
        columns.append(names)
    together = tuple(" ".join(words) for words in zip(*columns, strict=True))
    return together if len(set(together)) == len(together) else ()


def match_catalogue(catalogue: Catalogue, features: Sequence[str]) -> Matched:
    """Match the rows of a catalogue to D features by name, never by position.

    Spectra are interpolated at the wavelengths of the data. A catalogue is transposed if its
    columns match features and its rows do not.

    Substitution channels match in every spelling. Other names match exactly, or else ignoring case.

    Raises
    ------
    DataError
        When a feature is not in the catalogue or matches two rows; the message lists them.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core.data.catalogue import Catalogue, match_catalogue
    >>> library = Catalogue("dyes", ("red", "blue"), ("300 nm", "310 nm"), np.eye(2))
    >>> match_catalogue(library, ["300 nm", "310 nm"]).entries
    ('red', 'blue')
    """
    names = tuple(features)
    turned = replace(
        catalogue,
        features=catalogue.entries,
        entries=catalogue.features,
        values=catalogue.values.T,
    )
    if _suited(turned, names) <= _suited(catalogue, names):
        return _matched(catalogue, names)
    found = _matched(turned, names, "columns")
    return replace(found, summary=f"{found.summary} Its entries stand in rows, so it was turned.")


def _suited(catalogue: Catalogue, names: Sequence[str]) -> int:
    """2 if a row of the catalogue is a feature, 1 if both have an axis, else 0."""
    if any({key(name) for name in names} & set(map(key, catalogue.features)) for key in KEYS):
        return 2
    return int(axis_of(names) is not None and axis_of(catalogue.features) is not None)


def _matched(catalogue: Catalogue, names: tuple[str, ...], side: str = "rows") -> Matched:
    """:func:`match_catalogue` for a catalogue with its features on this side."""
    for key in KEYS:
        keys, held = [key(name) for name in names], [key(name) for name in catalogue.features]
        at = {name: d for d, name in enumerate(held)}
        if all(name in at for name in keys):
            break
    lacking = [name for name, one in zip(names, keys, strict=True) if one not in at]
    if lacking and (between := _interpolated(catalogue, names)) is not None:
        return between
    wanted = set(keys)
    unused = [name for name, one in zip(catalogue.features, held, strict=True) if one not in wanted]
    matched = len(names) - len(lacking)
    counts = f"{matched:,} of {len(names):,} features are in the catalogue {catalogue.name!r}"
    others = f"Not a feature of the data: {named(unused)}." if unused else ""
    if lacking:
        raise DataError(f"{counts}. Missing: {named(lacking)}. {others}".rstrip())
    count = Counter(held)
    twice = [name for name, one in zip(names, keys, strict=True) if count[one] > 1]
    if twice:
        raise DataError(f"The catalogue {catalogue.name!r} has {side} of one name: {named(twice)}.")
    if len(wanted) < len(names):
        raise DataError("Features of the data share a name in the catalogue; give each its own.")
    rows = [at[name] for name in keys]
    summary = f"All {len(names):,} features are in the catalogue, matched by name."
    if unused:
        summary += f" {len(unused):,} of its {side} are left out. {others}"
    return Matched(catalogue.name, catalogue.entries, catalogue.values[rows], summary)


def _interpolated(catalogue: Catalogue, names: Sequence[str]) -> Matched | None:
    """Interpolate a catalogue of spectra at the places of the data; None if it has no axis."""
    data, held = axis_of(names), axis_of(catalogue.features)
    if data is None or held is None:
        return None
    if data.unit and held.unit and data.unit != held.unit:
        raise DataError(
            f"The data are along {data.unit}, the catalogue {catalogue.name!r} along {held.unit}; "
            "give both in one unit."
        )
    low, high = held.values.min(), held.values.max()
    first, last = data.values.min(), data.values.max()
    if first < low or last > high:
        apart = last < low or first > high
        raise DataError(
            f"The catalogue {catalogue.name!r} covers {low:g} to {high:g} {held.unit}".rstrip()
            + f", the data {first:g} to {last:g}; "
            + ("they share none." if apart else "leave out the features that it does not cover.")
        )
    at = interpolated(held, catalogue.values, data.values)
    summary = (
        f"The {len(catalogue.entries):,} entries are interpolated at the {len(names):,} places of "
        f"the data, from {held.values.size:,} of their own."
    )
    return Matched(catalogue.name, catalogue.entries, at, summary)
