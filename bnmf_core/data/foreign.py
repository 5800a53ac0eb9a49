"""Factorizations that other programs made: matrices in files, paired into X ≈ A W.

NetCDF of this program, scikit-learn (W and H or components), cNMF (spectra and usages),
SigProfilerExtractor (signatures and activities), or any pair of matrices, also many in a folder.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from bnmf_core.data.arrays import MAX_ENTRIES, members
from bnmf_core.data.formats import npy, table
from bnmf_core.data.formats.hdf5 import inside, open_hdf5
from bnmf_core.data.packed import ZIP, archive_names, member, open_archive, unpacked
from bnmf_core.nouns.dataset import Dataset
from bnmf_core.nouns.errors import DataError
from bnmf_core.nouns.names import clean_name
from bnmf_core.numerics.matrix import dense
from bnmf_core.numerics.residuals import squared_errors

MOST_FILES = 5_000
# What tells the two matrices of a pair apart, and is no part of the pair's name.
_ROLE_WORDS = """
a w h x p e nmf spectra usages usage signatures signature activities activity components component
basis weights exposures exposure coef coefficients loadings scores factors txt csv tsv npy npz gz
"""
_ROLES = frozenset(_ROLE_WORDS.split())
# A W that is nearest to X without being scaled needs no word.
SCALE_TOLERANCE = 0.01


class NamedMatrix(NamedTuple):
    """A matrix of a file: two dimensions, or three where it holds many; names where there are."""

    name: str
    values: np.ndarray
    rows: list[str] | None = None
    columns: list[str] | None = None


class Foreign(NamedTuple):
    """One factorization: A (D, R), W (R, N), what it is called, and a note on it if any."""

    name: str
    A: np.ndarray
    W: np.ndarray
    note: str = ""


def matrices_of(content: bytes, filename: str, limit_bytes: int) -> list[NamedMatrix]:
    """Every matrix in a file, or in the files of a zip; what holds none is passed over.

    Raises
    ------
    DataError
        When a single file holds none.
    """
    content = unpacked(content, limit_bytes)
    names = archive_names(content) if content.startswith(ZIP) else []
    if not names or all(name.endswith(".npy") for name in names):
        return list(_of_one(content, filename, limit_bytes))
    if len(names) > MOST_FILES:
        raise DataError(f"The archive holds {len(names):,} files; at most {MOST_FILES:,}.")
    found: list[NamedMatrix] = []
    with open_archive(content, limit_bytes) as archive:
        for entry in archive.infolist():
            if entry.is_dir() or "__MACOSX" in entry.filename:
                continue
            try:
                data = unpacked(member(archive, entry), limit_bytes)
                found += _of_one(data, entry.filename, limit_bytes)
            except DataError:
                continue
    return found


def _of_one(content: bytes, filename: str, limit_bytes: int) -> Iterator[NamedMatrix]:
    name = clean_name(filename)
    if content.startswith(ZIP):
        for key, array in members(content, limit_bytes).items():
            if array.ndim in (2, 3) and array.dtype.kind in "buif":
                yield NamedMatrix(f"{name}/{key}", array)
    elif content.startswith((b"\x89HDF", b"CDF")):
        yield from _of_hdf5(content, name)
    elif content.startswith(b"\x93NUMPY"):
        reading = npy.FORMAT.inspect(content, {"observations": "columns"}, limit_bytes)
        parts: Any = npy.FORMAT.parts(content, reading, limit_bytes)
        yield NamedMatrix(name, parts["X"])
    else:
        told = {"observations": "columns", "format": table.KEY}
        reading = table.FORMAT.inspect(content, told, limit_bytes)
        if reading.faults:
            raise DataError(f"{name!r}: {' '.join(reading.faults)}")
        parts = table.FORMAT.parts(content, reading, limit_bytes)
        yield NamedMatrix(name, parts["X"], parts["features"], parts["observations"])


def _of_hdf5(content: bytes, name: str) -> Iterator[NamedMatrix]:
    if content.startswith(b"CDF"):
        raise DataError("The file is NetCDF of version 3; save it as NetCDF-4.")
    with open_hdf5(content) as file:
        # The layout of ArviZ has chains and draws in a group.
        group = inside(file, "posterior")
        places = [file, group] if hasattr(group, "keys") else [file]
        for place in places:
            for key in place:
                found = inside(place, key)
                if getattr(found, "ndim", 0) in (2, 3, 4) and found.dtype.kind in "buif":
                    if found.size > MAX_ENTRIES:
                        raise DataError(
                            f"{clean_name(key, 40)!r} has more entries than can be read."
                        )
                    yield NamedMatrix(f"{name}/{key}", _of_draws(found[()]))


def _of_draws(values: np.ndarray) -> np.ndarray:
    """Matrices of chains and draws as a stack of matrices; others as they are."""
    return values.reshape(-1, *values.shape[2:]) if values.ndim == 4 else values


def pair(matrices: Sequence[NamedMatrix], dataset: Dataset) -> list[Foreign]:
    """The matrices that belong together, as factorizations of the data.

    Files belong together where their names are the same but for what tells A from W. Which
    matrix is A and which side holds its features is told by names, else by lengths; where both
    ways fit, by the smaller error. Rows are put into the order of the data by name.

    Raises
    ------
    DataError
        When no two matrices make a factorization of these data.
    """
    groups: dict[str, list[NamedMatrix]] = defaultdict(list)
    for matrix in matrices:
        groups[_stem(matrix.name)].append(matrix)
    if not any(len(group) > 1 for group in groups.values()):
        groups = {"": list(matrices)}
    found = [one for name, group in groups.items() for one in _pairs(name, group, dataset)]
    if not found:
        seen = ", ".join(
            f"{clean_name(m.name, 50)!r} ({'×'.join(map(str, m.values.shape))})"
            for m in matrices[:6]
        )
        raise DataError(
            "No two matrices make a factorization of these data: A needs "
            f"{dataset.D:,} features and W {dataset.N:,} observations, and both the same number "
            f"of components (found: {seen or 'no matrix'})."
        )
    unique = {(one.A.tobytes(), one.W.tobytes()): one for one in found}
    return list(unique.values())


def _pairs(stem: str, group: Sequence[NamedMatrix], dataset: Dataset) -> Iterator[Foreign]:
    best: dict[int, tuple[float, list[Foreign]]] = {}
    for first in group:
        for second in group:
            if first is second:
                continue
            A = _sided(first, dataset.features, component_last=True)
            W = _sided(second, dataset.observations, component_last=False)
            if A is None or W is None or A.shape[2] != W.shape[1] or len(A) != len(W):
                continue
            name = clean_name(stem or first.name, 60)
            made = [_scaled(name, a, w, dataset) for a, w in zip(A, W, strict=True)]
            error = float(np.mean([_error(dataset, one.A, one.W) for one in made]))
            if A.shape[2] not in best or error < best[A.shape[2]][0]:
                best[A.shape[2]] = error, made
    for _, made in best.values():
        yield from made


def _sided(matrix: NamedMatrix, names: Sequence[str], component_last: bool) -> np.ndarray | None:
    """(M, length, R) or (M, R, length) of a matrix that has the names, or as many rows; or None."""
    values = np.asarray(matrix.values, dtype=np.float64)
    order: np.ndarray | None = None
    if values.ndim == 2:
        for axis, known in ((0, matrix.rows), (1, matrix.columns)):
            places = {name: i for i, name in enumerate(known or [])}
            if all(name in places for name in names):
                order = np.array([places[name] for name in names])
                values = values.T if axis else values
                return _turned(values[order][None], component_last)
    stack = values[None] if values.ndim == 2 else values
    # The usual side first: features of A in rows, observations of W in columns.
    for axis in (1, 2) if component_last else (2, 1):
        if stack.shape[axis] == len(names):
            return _turned(stack if axis == 1 else stack.swapaxes(1, 2), component_last)
    return None


def _turned(stack: np.ndarray, component_last: bool) -> np.ndarray:
    return stack if component_last else stack.swapaxes(1, 2)


def _scaled(name: str, A: np.ndarray, W: np.ndarray, dataset: Dataset) -> Foreign:
    """The factorization; W by one number, where that brings A W nearer to X."""
    for factor, letter in ((A, "A"), (W, "W")):
        bad = factor[~(np.isfinite(factor) & (factor >= 0))]
        if bad.size:
            raise DataError(
                f"{letter} of {name!r} holds {bad[0]:g}; every entry must be a finite number ≥ 0."
            )
    inner = float(np.einsum("dr,rd->", A, np.asarray(W @ dataset.X.T)))
    squared = float(np.einsum("rs,rs->", A.T @ A, W @ W.T))
    if dataset.mask is not None:
        product = np.where(dataset.mask, A @ W, 0.0)
        inner, squared = float((product * dense(dataset.X)).sum()), float((product**2).sum())
    if squared <= 0 or inner <= 0:
        raise DataError(f"A W of {name!r} has nothing in common with the data.")
    scale = inner / squared
    if abs(scale - 1.0) <= SCALE_TOLERANCE:
        return Foreign(name, np.ascontiguousarray(A), np.ascontiguousarray(W))
    note = f"W of {name} was multiplied by {scale:.4g}, so that A W is nearest to the data."
    return Foreign(name, np.ascontiguousarray(A), W * scale, note)


def _error(dataset: Dataset, A: np.ndarray, W: np.ndarray) -> float:
    squared = squared_errors(dataset.X, A[None], W[None], dataset.mask)[0]
    return float(np.sqrt(squared / dataset.squared_norm))


def _stem(name: str) -> str:
    """What the names of a pair have in common."""
    tokens = re.findall(r"[a-z]+|\d+", name.lower())
    return " ".join(token for token in tokens if token not in _ROLES)
