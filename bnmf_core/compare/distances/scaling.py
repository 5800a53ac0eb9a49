"""Normalized rows by which two factorizations are compared, without the arbitrary scale.

Every function here takes A (M, D, R) and W (M, R, N) and returns (M, R, P) float64: one
row of length P for each component. Only the arrays a function needs are read, so the other
may be a memory map that stays on disk.
"""

import numpy as np


def unit_l2_columns(A: np.ndarray, W: np.ndarray | None = None) -> np.ndarray:
    """Columns of A with Euclidean length 1, as rows: (M, R, D). A zero column stays zero."""
    columns = _columns(A)
    _divide(columns, np.sqrt(np.einsum("mrd,mrd->mr", columns, columns)))
    return columns


def unit_l1_columns(A: np.ndarray, W: np.ndarray | None = None) -> np.ndarray:
    """Columns of A with absolute sum 1, as rows: (M, R, D). A zero column stays zero."""
    columns = _columns(A)
    _divide(columns, np.abs(columns).sum(axis=2))
    return columns


def rows_of_W(A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Rows of W when every column of A sums to 1: (M, R, N)."""
    rows = np.array(W, dtype=np.float64, order="C")
    rows *= np.abs(A).sum(axis=1, dtype=np.float64)[:, :, None]
    return rows


def component_shares(A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Part of the reconstruction's total that each component makes: (M, R), rows sum to 1.

    The row sums of W when the columns of A sum to 1, normalised to sum to 1 (paper 2,
    section 2, "weighted angular distance"). All-zero reconstructions get equal shares.
    """
    shares = W.sum(axis=2, dtype=np.float64) * np.abs(A).sum(axis=1, dtype=np.float64)
    total = shares.sum(axis=1, keepdims=True)
    equal = np.full_like(shares, 1.0 / shares.shape[1])
    return np.divide(shares, total, out=equal, where=total > 0)


def _columns(A: np.ndarray) -> np.ndarray:
    columns = np.array(np.swapaxes(A, 1, 2), dtype=np.float64, order="C")
    # First to a largest entry of 1, so that squares of tiny or huge columns stay representable.
    _divide(columns, np.abs(columns).max(axis=2))
    return columns


def _divide(rows: np.ndarray, size: np.ndarray) -> None:
    size[size == 0] = 1.0
    rows /= size[:, :, None]
