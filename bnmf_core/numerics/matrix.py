"""The matrix X as it is stored: all of its entries, or the non-zero ones only."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Sparse: TypeAlias = sparse.csc_array | sparse.csr_array
Matrix: TypeAlias = np.ndarray | Sparse


def is_sparse(X: object) -> TypeIs[Sparse]:
    """Whether X holds its non-zero entries only."""
    return sparse.issparse(X)


def dense(X: Matrix) -> np.ndarray:
    """X with all of its entries; X itself where it has them."""
    return X.toarray() if is_sparse(X) else X


def parts(X: Matrix) -> tuple[np.ndarray, ...]:
    """The arrays that X is made of: itself, or the non-zero entries and their places."""
    return (X.data, X.indices, X.indptr) if is_sparse(X) else (X,)


def stored(X: Matrix) -> np.ndarray:
    """The stored entries: the non-zero ones (k,) of a sparse X, or X itself."""
    return X.data if is_sparse(X) else X


def only_yes_and_no(values: np.ndarray) -> bool:
    """Whether every entry is 0 or 1."""
    return bool(np.isin(values, (0.0, 1.0)).all())


def boolean_product(A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Where some component r has both A_dr and W_rn on: A (…, D, R), W (…, R, N) → (…, D, N) bool.

    Every entry other than 0 is on.
    """
    # Sums of ones in single precision are exact up to 2²⁴ tiles.
    on: np.ndarray = (A != 0).astype(np.float32) @ (W != 0).astype(np.float32) > 0.5
    return on
