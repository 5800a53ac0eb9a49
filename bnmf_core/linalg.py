"""Linear algebra that several rooms share."""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh

# Above this size a few singular vectors are found faster by Lanczos iteration.
DENSE_SVD_LIMIT = 800


def signed_svd(X: Any, rank: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Top singular triplets with the signs of Bro, Acar & Kolda (2008).

    Each pair (u, v) points the way most of the data point: with Y the data less the other
    components, uᵀY = σ v, so the paper's two votes Σ sign(uᵀy)(uᵀy)² and Σ sign(vᵀy)(vᵀy)²
    are σ² Σ sign(v) v² and σ² Σ sign(u) u², and the larger one decides.

    Parameters
    ----------
    X : (D, N) array or sparse array. rank : number of triplets, at most min(D, N).

    Returns
    -------
    U (D, rank), singular values (rank,) from large to small, V (N, rank).
    """
    smallest = min(X.shape)
    if rank < smallest and (sparse.issparse(X) or smallest > DENSE_SVD_LIMIT):
        U, s, V = _lanczos_svd(X, rank)
    else:
        dense = X.toarray() if sparse.issparse(X) else X
        U, s, Vt = np.linalg.svd(dense, full_matrices=False)
        U, s, V = U[:, :rank], s[:rank], Vt[:rank].T
    votes = (np.sign(U) * U**2).sum(axis=0) + (np.sign(V) * V**2).sum(axis=0)
    signs = np.where(votes < 0, -1.0, 1.0)
    return U * signs, s, V * signs


def _lanczos_svd(X: Any, rank: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    # scipy's svds restarts from unseeded random vectors where the Krylov space is exhausted
    # (a matrix of few distinct singular values), so the same X would not give the same bits.
    if X.shape[0] < X.shape[1]:
        V, s, U = _lanczos_svd(X.T, rank)
        return U, s, V
    n = X.shape[1]
    normal = LinearOperator((n, n), matvec=lambda v: X.T @ (X @ v), dtype=np.float64)
    _, basis = eigsh(normal, k=rank, v0=np.full(n, n**-0.5), rng=np.random.default_rng(0))
    basis, _ = np.linalg.qr(basis)
    U, s, Vt = np.linalg.svd(X @ basis, full_matrices=False)
    return U, s, basis @ Vt.T


def balanced_svd(X: Any, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """A_SVD = U√Σ (D, rank) and W_SVD = √Σ Vᵀ (rank, N): the SVD split evenly."""
    U, s, V = signed_svd(X, rank)
    root = np.sqrt(s)
    return U * root, (V * root).T


def rank_explaining(X: Any, share: float, limit: int) -> tuple[np.ndarray, int | None]:
    """Singular values, and the smallest rank whose share of Σσ² reaches ``share``.

    Returns
    -------
    (values (k,), rank or None when more than ``limit`` components would be needed)
    """
    k = min(limit, *X.shape)
    _, s, _ = signed_svd(X, k)
    entries = X.data if sparse.issparse(X) else X
    total = float(np.vdot(entries, entries))
    reached = np.flatnonzero(np.cumsum(s**2) >= share * total)
    return s, int(reached[0]) + 1 if reached.size else None
