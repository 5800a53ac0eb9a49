"""Import factorizations of other programs: matrices in files, paired into X ≈ A W.

NetCDF of this program, scikit-learn (W and H or components), cNMF (spectra and usages),
SigProfilerExtractor (signatures and activities), or any pair of matrices, also many in a folder.

Draws of a posterior are arrays A (chains, draws, D, R) and W (chains, draws, R, N) of an NPZ or
NetCDF file, in the latter also in the group ``posterior`` of ArviZ. Values and chains stay.
"""

import io
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_name, listed
from bnmf_core.data.channels import named
from bnmf_core.data.formats import table
from bnmf_core.data.formats.arrays import members, read_npy
from bnmf_core.data.formats.hdf5 import HDF5, index_of, inside, numbers, open_hdf5, words
from bnmf_core.data.limits import MAX_ENTRIES, ZIP, archive_names, member, open_archive, unpacked
from bnmf_core.numerics.matrix import dense
from bnmf_core.numerics.residuals import squared_errors

MOST_FILES = 5_000
# Chains and draws of the example file.
EXAMPLE = (2, 8)
# Words that distinguish the two matrices of a pair; its name excludes them.
_ROLE_WORDS = """
a w h x p e nmf spectra usages usage signatures signature activities activity components component
basis weights exposures exposure coef coefficients loadings scores factors txt csv tsv npy npz gz
gene tpm consensus
"""
_ROLES = frozenset(_ROLE_WORDS.split())
# A smaller relative change of the scale of W is not applied.
SCALE_TOLERANCE = 0.01


class NamedMatrix(NamedTuple):
    """A matrix of a file, or a stack of matrices, with row and column names if there are any.

    source : the program that made it and the file. as_it_is : this program made it, so its scale
    is correct. chain, draw : of posterior draws, for each matrix.
    """

    name: str
    values: np.ndarray
    rows: list[str] | None = None
    columns: list[str] | None = None
    source: str = ""
    as_it_is: bool = False
    chain: list[int] | None = None
    draw: list[int] | None = None


class Foreign(NamedTuple):
    """One factorization: A (D, R), W (R, N), its name and an optional note.

    source : program and file. chain, draw : of a posterior draw; None for others.
    """

    name: str
    A: np.ndarray
    W: np.ndarray
    note: str = ""
    source: str = ""
    chain: int | None = None
    draw: int | None = None


def matrices_of(content: bytes, filename: str, limit_bytes: int) -> list[NamedMatrix]:
    """Every matrix in a file, or in the files of a zip; files without one are skipped.

    DataError when a single file has none.
    """
    content = unpacked(content, limit_bytes)
    names = archive_names(content)
    found: list[NamedMatrix] = []
    if not names or all(name.endswith(".npy") for name in names):
        found += _of_one(content, filename, limit_bytes)
    elif len(names) > MOST_FILES:
        raise DataError(f"The archive holds {len(names):,} files; at most {MOST_FILES:,}.")
    else:
        with open_archive(content, limit_bytes) as archive:
            for entry in archive.infolist():
                if not entry.is_dir() and "__MACOSX" not in entry.filename:
                    with suppress(DataError):
                        data = unpacked(member(archive, entry), limit_bytes)
                        found += _of_one(data, entry.filename, limit_bytes)
    return [one._replace(source=one.source or clean_name(filename, 60)) for one in found]


def _of_one(content: bytes, filename: str, limit_bytes: int) -> Iterator[NamedMatrix]:
    name = clean_name(filename)
    if content.startswith(ZIP):
        for key, array in members(content, limit_bytes).items():
            if array.ndim in (2, 3, 4) and array.dtype.kind in "buif":
                yield _chained(NamedMatrix(f"{name}/{key}", array))
    elif content.startswith((HDF5, b"CDF")):
        yield from _of_hdf5(content, name)
    elif content.startswith(b"\x93NUMPY"):
        yield NamedMatrix(name, read_npy(content))
    else:
        choices = {"observations": "columns", "format": table.KEY}
        reading = table.FORMAT.inspect(content, choices, limit_bytes)
        if reading.faults:
            raise DataError(f"{name!r}: {' '.join(reading.faults)}")
        parts: Any = table.FORMAT.parts(content, reading, limit_bytes)
        yield NamedMatrix(name, parts["X"], parts["features"], parts["observations"])


def _of_hdf5(content: bytes, name: str) -> Iterator[NamedMatrix]:
    if content.startswith(b"CDF"):
        raise DataError("The file is NetCDF of version 3; save it as NetCDF-4.")
    with open_hdf5(content) as file:
        if inside(file, "obsm") is not None and inside(file, "varm") is not None:
            yield from _of_anndata(file, name)
            return
        group = inside(file, "posterior")
        grouped = hasattr(group, "keys")
        for place in [group] if grouped else [file]:
            for key in place:
                found = inside(place, key)
                if getattr(found, "ndim", 0) not in (2, 3, 4) or found.dtype.kind not in "buif":
                    continue
                if found.size > MAX_ENTRIES:
                    raise DataError(f"{clean_name(key, 40)!r} has more entries than can be read.")
                names = [side[0].name if len(side) else "" for side in found.dims]
                sides, values = [name.rpartition("/")[2] for name in names], found[()]
                for number, side in enumerate(("chain", "draw")):
                    if "chain" in sides and "draw" in sides:
                        values = np.moveaxis(values, sides.index(side), number)
                        sides.insert(number, sides.pop(sides.index(side)))
                if values.ndim == 3 and "chain" not in sides and {"draw", "sample"} & {*sides}:
                    at = next(at for at, side in enumerate(sides) if side in ("draw", "sample"))
                    values = np.moveaxis(values, at, 0)[None]
                    sides = ["", *sides[:at], *sides[at + 1 :]]
                # With chains, or in that group, others are scalars and vectors.
                if values.ndim == 4 or not (grouped or "chain" in sides):
                    rows, columns = (words(place, side) if side else None for side in sides[-2:])
                    one = NamedMatrix(
                        f"{name}/{key}", values, rows, columns, source=_source(file, name)
                    )
                    yield _as_made(file, _chained(one))


def _of_anndata(file: Any, name: str) -> Iterator[NamedMatrix]:
    """Matrices in ``obsm`` (usages, cells by components) and ``varm``."""
    for group, frame in (("obsm", "obs"), ("varm", "var")):
        names = words(file, f"{frame}/{index_of(file, frame)}")
        for key in inside(file, group):
            values = numbers(file, f"{group}/{key}")
            # Embeddings have negative entries and are no factors.
            if values is not None and dense(values).min() >= 0:
                yield NamedMatrix(f"{name}/{key}", dense(values), names, source=name)


def _source(file: Any, name: str) -> str:
    """The program that made a file, if recorded, and the file."""
    attributes = {**file.attrs, **(group.attrs if (group := inside(file, "posterior")) else {})}
    program = attributes.get("algorithm_label", attributes.get("inference_library", ""))
    return clean_name(", ".join(filter(None, (str(program), name))), 60)


def _chained(one: NamedMatrix) -> NamedMatrix:
    """Flatten chains and draws into one stack with chain and draw numbers."""
    if one.values.ndim != 4:
        return one
    chains, draws, *sides = one.values.shape
    return one._replace(
        values=one.values.reshape(-1, *sides),
        chain=np.repeat(np.arange(chains), draws).tolist(),
        draw=np.tile(np.arange(draws), chains).tolist(),
    )


def _as_made(file: Any, one: NamedMatrix) -> NamedMatrix:
    """Restore the order and the chains of a run that this program exported."""
    stats = [inside(file, f"sample_stats/{key}") for key in ("made_by_chain", "made_as_draw")]
    number = inside(file, "posterior/particle")
    if "algorithm_label" not in file.attrs or number is None or None in stats:
        return one
    order = np.argsort(np.ravel(number[()]), kind="stable")
    chain, draw = (np.ravel(values[()])[order].tolist() for values in stats)
    one = one._replace(values=one.values[order], as_it_is=True)
    # Factorizations without chains are exported as one chain.
    separate = inside(file, "trace") is None
    return one._replace(chain=None if separate else chain, draw=None if separate else draw)


def example(dataset: Dataset) -> bytes:
    """An example NPZ file with random draws of 2 components in the shapes for these data.

    >>> import io, numpy as np
    >>> from bnmf_core import laurberg
    >>> found = np.load(io.BytesIO(example(laurberg("two"))))
    >>> found["A"].shape, found["W"].shape
    ((2, 8, 6, 2), (2, 8, 2, 6))
    """
    rng, (D, N) = np.random.default_rng(0), (dataset.D, dataset.N)
    scale = np.sqrt(dataset.total / dataset.observed / 2)
    file = io.BytesIO()
    np.savez_compressed(
        file,
        A=scale * rng.gamma(4.0, 0.25, (*EXAMPLE, D, 2)),
        W=scale * rng.gamma(4.0, 0.25, (*EXAMPLE, 2, N)),
    )
    return file.getvalue()


def pair(matrices: Sequence[NamedMatrix], dataset: Dataset) -> list[Foreign]:
    """Pair matrices into factorizations of the data.

    Files pair if their names differ only in the words for A and W. Names, else lengths, decide
    which matrix is A and which side has its features; if both ways fit, the smaller error decides.
    Rows are sorted by name, which may be that of a description; a matrix with only some of the
    names is never matched by position. DataError if no two matrices fit; it counts the names found.
    """
    groups: dict[str, list[NamedMatrix]] = defaultdict(list)
    for matrix in matrices:
        tokens = re.findall(r"[a-z]+|\d+", matrix.name.lower())
        groups[" ".join(token for token in tokens if token not in _ROLES)].append(matrix)
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
            f"of components (found: {seen or 'no matrix'}).{_partly(matrices, dataset)}"
        )
    # A chain may repeat a state; other factorizations count once.
    unique = {(one.A.tobytes(), one.W.tobytes(), one.chain, one.draw): one for one in found}
    return list(unique.values())


def _pairs(stem: str, group: Sequence[NamedMatrix], dataset: Dataset) -> Iterator[Foreign]:
    best: dict[int, tuple[float, list[Foreign]]] = {}
    for first in group:
        for second in group:
            if first is second:
                continue
            A = _sided(first, [*dataset.namings.values()], component_last=True)
            W = _sided(second, [dataset.observations], component_last=False)
            if A is None or W is None or (len(A), A.shape[2]) != W.shape[:2]:
                continue
            if (first.chain, first.draw) != (second.chain, second.draw):
                continue
            name = clean_name(stem or first.name, 60)
            source = clean_name(listed(dict.fromkeys((first.source, second.source))), 60)
            made = [Foreign(name, a, w, "", source) for a, w in zip(A, W, strict=True)]
            for one in made:
                check(one)
            if first.chain is not None and first.draw is not None:
                places = zip(made, first.chain, first.draw, strict=True)
                made = [one._replace(chain=chain, draw=draw) for one, chain, draw in places]
            elif not first.as_it_is:
                made = [_scaled(one, dataset) for one in made]
            error = float(np.mean([_error(dataset, one.A, one.W) for one in made]))
            if A.shape[2] not in best or error < best[A.shape[2]][0]:
                best[A.shape[2]] = error, made
    for _, made in best.values():
        yield from made


def _partly(matrices: Sequence[NamedMatrix], dataset: Dataset) -> str:
    """A sentence on the first matrix that has some but not all names of the features."""
    for matrix in matrices:
        for known in (matrix.rows, matrix.columns):
            names = {*(known or [])}
            lacking = [name for name in dataset.features if name not in names]
            if 0 < len(lacking) < dataset.D:
                return (
                    f" {clean_name(matrix.name, 50)!r} names {dataset.D - len(lacking):,} of them; "
                    f"it lacks {named(lacking)}."
                )
    return ""


def _sided(
    matrix: NamedMatrix, namings: Sequence[Sequence[str]], component_last: bool
) -> np.ndarray | None:
    """Orient a matrix as (M, length, R) or (M, R, length) by names or length; None if neither fits.

    namings : alternative lists of row names.
    """
    values = np.asarray(matrix.values, dtype=np.float64)
    stack = values[None] if values.ndim == 2 else values
    # Features of A are usually in rows, observations of W in columns.
    usual, other = (1, 2) if component_last else (2, 1)
    length, partly = len(namings[0]), set()
    for axis, known in ((1, matrix.rows), (2, matrix.columns)):
        places = {name: i for i, name in enumerate(known or [])}
        whole = (names for names in namings if all(name in places for name in names))
        if (names := next(whole, None)) is not None:
            stack = np.take(stack, [places[name] for name in names], axis=axis)
            break
        if any(name in places for name in namings[0]):
            partly.add(axis)
    else:
        lengths = {one: stack.shape[one] for one in (usual, other) if one not in partly}
        axis = next((one for one, count in lengths.items() if count == length), 0)
        if not axis:
            return None
    return stack if axis == usual else stack.swapaxes(1, 2)


def check(one: Foreign) -> None:
    """Raise a DataError where an entry is negative or not finite."""
    for factor, letter in ((one.A, "A"), (one.W, "W")):
        bad = factor[~(np.isfinite(factor) & (factor >= 0))]
        if bad.size:
            raise DataError(
                f"{letter} of {one.name!r} holds {bad[0]:g}; every entry must be a finite number "
                "≥ 0."
            )


def inner_products(A: np.ndarray, W: np.ndarray, dataset: Dataset) -> tuple[float, float]:
    """⟨X, AW⟩ and ‖AW‖² over the seen entries; A (D, R), W (R, N)."""
    if dataset.mask is not None:
        product = np.where(dataset.mask, A @ W, 0.0)
        return float((product * dense(dataset.X)).sum()), float((product**2).sum())
    inner = float(np.einsum("dr,rd->", A, np.asarray(W @ dataset.X.T)))
    return inner, float(np.einsum("rs,rs->", A.T @ A, W @ W.T))


def _scaled(one: Foreign, dataset: Dataset) -> Foreign:
    """Scale W by the factor that brings A W nearest to X."""
    A, W = one.A, one.W
    inner, squared = inner_products(A, W, dataset)
    if squared <= 0 or inner <= 0:
        raise DataError(f"A W of {one.name!r} has nothing in common with the data.")
    scale = inner / squared
    if abs(scale - 1.0) <= SCALE_TOLERANCE:
        return one
    note = f"W of {one.name} was multiplied by {scale:.4g}, so that A W is nearest to the data."
    return one._replace(W=W * scale, note=note)


def _error(dataset: Dataset, A: np.ndarray, W: np.ndarray) -> float:
    squared = squared_errors(dataset.X, A[None], W[None], dataset.mask)[0]
    return float(np.sqrt(squared / dataset.squared_norm))
