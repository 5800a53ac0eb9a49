"""Checks of a matrix and its names before they become a dataset.

Each function raises :class:`~bnmf_core.core.errors.DataError` with the place of the first fault.
"""

from collections.abc import Sequence
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_names
from bnmf_core.core.plain import Value
from bnmf_core.lazy import lazy
from bnmf_core.numerics.linalg import blocks
from bnmf_core.numerics.matrix import Matrix, is_sparse, parts

pandas = lazy("pandas")

MatrixT = TypeVar("MatrixT", bound=Matrix)
Words: TypeAlias = Sequence[Value] | np.ndarray
Given: TypeAlias = ArrayLike | Matrix | sparse.sparray | sparse.spmatrix


def check_pixels(shape: tuple[int, int] | None, count: int, what: str) -> None:
    """Check that an image of this shape has so many pixels; ``what`` they are."""
    if shape is not None and shape[0] * shape[1] != count:
        raise DataError(
            f"The image shape {shape[0]}×{shape[1]} has {shape[0] * shape[1]} pixels, but the "
            f"matrix has {count} {what}."
        )


def checked_matrix(given: Given, mask: np.ndarray | None) -> tuple[Matrix, np.ndarray | None]:
    """X (D, N) in double precision, missing entries 0, and where it was seen; None: everywhere."""
    if is_sparse(given):
        if given.dtype.kind == "c":
            raise DataError("The matrix holds complex numbers; real numbers ≥ 0 are needed.")
        by_columns = sparse.csc_array(given, dtype=np.float64, copy=True)
        by_columns.sum_duplicates()
        by_columns.eliminate_zeros()
        _check_size(by_columns.shape)
        if mask is not None:
            raise DataError("A mask needs a dense matrix; this one is sparse.")
        return by_columns, None
    X = np.asarray(given)
    if X.ndim != 2:
        raise DataError(f"A matrix needs two dimensions; this array has {X.ndim}.")
    if X.dtype.kind == "c":
        raise DataError("The matrix holds complex numbers; real numbers ≥ 0 are needed.")
    if X.dtype.kind not in "buif":
        raise DataError(f"The matrix holds values of type {X.dtype}; numbers are needed.")
    if mask is None and isinstance(given, np.memmap) and _can_stay_on_disk(given):
        _check_size(X.shape)
        return given, None
    X = np.array(X, dtype=np.float64, order="C")
    _check_size(X.shape)
    missing = np.isnan(X)
    if mask is not None:
        mask = np.asarray(mask, dtype=bool)
        if mask.shape != X.shape:
            raise DataError(f"The mask is {mask.shape}, but the matrix is {X.shape}.")
        missing |= ~mask
    if not missing.any():
        return X, None
    if missing.all():
        raise DataError("Every entry of the matrix is missing.")
    X[missing] = 0.0
    return X, ~missing


def _can_stay_on_disk(X: np.memmap) -> bool:
    if X.dtype != np.float64 or X.flags.writeable:
        return False
    in_order = X.flags.c_contiguous or X.flags.f_contiguous
    return in_order and not any(np.isnan(X[part]).any() for part in blocks(X))


def _check_size(shape: tuple[int, ...]) -> None:
    if min(shape) < 2:
        raise DataError(
            f"The matrix is {shape[0]}×{shape[1]}; at least 2 features and 2 observations are "
            "needed to factorize it."
        )


def check_cells(X: Matrix, features: tuple[str, ...], observations: tuple[str, ...]) -> None:
    """Check that all entries are finite and at least 0, and not all of them 0."""
    values = X.data[None] if is_sparse(X) else X
    largest = 0.0
    # The first infinite entry is named before the first negative one.
    first: dict[str, tuple[int, int]] = {}
    for rows, columns in blocks(values):
        block = values[rows, columns]
        for words, bad in (("is not finite", ~np.isfinite(block)), ("is negative", block < 0)):
            if bad.any():
                d, n = np.argwhere(bad)[0]
                first.setdefault(words, (int(d) + (rows.start or 0), int(n) + (columns.start or 0)))
        largest = max(largest, float(block.max(initial=0.0)))
    for words in ("is not finite", "is negative"):
        if words not in first:
            continue
        d, n = first[words]
        value = float(values[d, n])
        if is_sparse(X):
            d, n = int(X.indices[n]), int(np.searchsorted(X.indptr, n, side="right") - 1)
        raise DataError(
            f"The entry {value:g} at feature {d + 1} ({features[d]!r}), observation {n + 1} "
            f"({observations[n]!r}) {words}; every entry must be a finite number ≥ 0."
        )
    if largest == 0.0:
        raise DataError("Every entry of the matrix is zero; there is nothing to factorize.")
    # X is squared in every error measure: keep the squares representable.
    if not 1e-100 < largest < 1e100:
        raise DataError(
            f"The largest entry is {largest:g}; rescale the matrix so that it lies between "
            "1e-100 and 1e100."
        )


def checked_names(
    names: Sequence[str] | None, count: int, singular: str, plural: str
) -> tuple[str, ...]:
    """Names that can be shown, each once; numbers where none are given."""
    if names is None:
        return tuple(f"{singular} {i + 1}" for i in range(count))
    clean = tuple(clean_names(names, singular))
    if len(clean) != count:
        raise DataError(f"{len(clean)} names were given for {count} {plural}.")
    return clean


def checked_labels(
    key: str, values: Words, N: int, what: str = "labels", whose: str = "observations"
) -> np.ndarray:
    """Words of N, read-only; "" where there is none."""
    array = np.asarray(["" if pandas.isna(v) else str(v) for v in values])
    if array.shape != (N,):
        raise DataError(f"The {what} {key!r} have {len(array)} values for {N} {whose}.")
    array.flags.writeable = False
    return array


def read_only(X: MatrixT) -> MatrixT:
    """The matrix, which nobody can change any more."""
    for part in parts(X):
        part.flags.writeable = False
    return X
