"""Linear algebra that several rooms share."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bnmf_core.lazy import lazy
from bnmf_core.numerics.matrix import Matrix, dense, is_sparse

solvers = lazy("scipy.sparse.linalg")

# Above this size a few singular vectors are found faster by Lanczos iteration.
DENSE_SVD_LIMIT = 800
# A dense SVD works on a copy; beyond this many entries (64 MB) Lanczos iteration spares it.
DENSE_SVD_ENTRIES = 2**23
# Entries (8 MB) that are processed together where a copy of a whole matrix would be too large.
BLOCK_ENTRIES = 2**20
COMPRESSION_SEED = 1
# Entries of singular vectors that a spectrum may take (256 MB).
VECTOR_ENTRIES = 2**25
POWER_ITERATIONS = 3
# Iterations that a few singular triplets may take from a compression on, and what is left of σ² v
# then, relative to the largest σ².
REFINEMENTS, EIGENVECTOR = 30, 1e-11


def blocks(X: np.ndarray, entries: int = BLOCK_ENTRIES) -> Iterator[tuple[slice, slice]]:
    """Rows and columns of consecutive parts of X (D, N), each together in memory.

    Whole rows, or whole columns where X lies column by column: a matrix on disk is then read
    from its beginning to its end. A part has about so many ``entries``.
    """
    by_columns = X.flags.f_contiguous and not X.flags.c_contiguous
    length, width = X.shape[::-1] if by_columns else X.shape
    step = max(1, entries // max(width, 1))
    for first in range(0, length, step):
        part = slice(first, min(first + step, length))
        yield (slice(None), part) if by_columns else (part, slice(None))


def evenly_spaced(count: int, most: int) -> np.ndarray:
    """At most ``most`` of the numbers 0 … count − 1, evenly spaced, first and last included."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, most).round().astype(np.int64))


def signed_svd(
    X: Matrix, rank: int, near: "Compression | None" = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Top singular triplets with the signs of Bro, Acar & Kolda (2008).

    Each pair (u, v) points the way most of the data point: with Y the data less the other
    components, uᵀY = σ v, so the paper's two votes Σ sign(uᵀy)(uᵀy)² and Σ sign(vᵀy)(vᵀy)²
    are σ² Σ sign(v) v² and σ² Σ sign(u) u², and the larger one decides.

    Parameters
    ----------
    X : (D, N) array or sparse array. rank : number of triplets, at most min(D, N).
    near : a compression of X, from which few large triplets are found sooner.

    Returns
    -------
    U (D, rank), singular values (rank,) from large to small, V (N, rank).
    """
    # Products of a sparse X cost so little that Lanczos iteration, which takes fewer, is sooner.
    if near is not None and near.rank >= 2 * rank and not is_sparse(X):
        found = _refined_svd(X, rank, near)
        if found is not None:
            return _with_signs(*found)
    smallest = min(X.shape)
    large = smallest > DENSE_SVD_LIMIT or X.shape[0] * X.shape[1] > DENSE_SVD_ENTRIES
    if rank < smallest and (is_sparse(X) or large):
        U, s, V = _lanczos_svd(X, rank)
    else:
        U, s, Vt = np.linalg.svd(dense(X), full_matrices=False)
        U, s, V = U[:, :rank], s[:rank], Vt[:rank].T
    return _with_signs(U, s, V)


def _with_signs(
    U: np.ndarray, s: np.ndarray, V: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    votes = (np.sign(U) * U**2).sum(axis=0) + (np.sign(V) * V**2).sum(axis=0)
    signs = np.where(votes < 0, -1.0, 1.0)
    return U * signs, s, V * signs


def _lanczos_svd(X: Matrix, rank: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    # scipy's svds restarts from unseeded random vectors where the Krylov space is exhausted
    # (a matrix of few distinct singular values), so the same X would not give the same bits.
    if X.shape[0] < X.shape[1]:
        V, s, U = _lanczos_svd(X.T, rank)
        return U, s, V
    n = X.shape[1]
    normal = solvers.LinearOperator((n, n), matvec=lambda v: X.T @ (X @ v), dtype=np.float64)
    _, basis = solvers.eigsh(normal, k=rank, v0=np.full(n, n**-0.5), rng=np.random.default_rng(0))
    basis, _ = np.linalg.qr(basis)
    U, s, Vt = np.linalg.svd(X @ basis, full_matrices=False)
    return U, s, basis @ Vt.T


def _refined_svd(
    X: Matrix, rank: int, near: "Compression"
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Subspace iteration from a compression on; None where it has not converged soon."""
    if X.shape[0] > X.shape[1]:
        turned = Compression(near.V, near.U, near.squared_norm)
        found = _refined_svd(X.T, rank, turned)
        return None if found is None else (found[2], found[1], found[0])
    basis = np.linalg.qr(near.U.astype(np.float64))[0]
    for _ in range(REFINEMENTS):
        image = X @ (X.T @ basis)
        values, turns = np.linalg.eigh(basis.T @ image)
        values, turns = values[::-1][:rank], turns[:, ::-1][:, :rank]
        left = image @ turns - (basis @ turns) * values
        if np.linalg.norm(left, axis=0).max() <= EIGENVECTOR * values[0]:
            U, s, Vt = np.linalg.svd(X.T @ (basis @ turns), full_matrices=False)
            return basis @ turns @ Vt.T, s, U
        basis = np.linalg.qr(image)[0]
    return None


def balanced_svd(
    X: Matrix, rank: int, near: "Compression | None" = None
) -> tuple[np.ndarray, np.ndarray]:
    """A_SVD = U√Σ (D, rank) and W_SVD = √Σ Vᵀ (rank, N): the SVD split evenly."""
    U, s, V = signed_svd(X, rank, near)
    root = np.sqrt(s)
    return U * root, (V * root).T


def leading_singular_values(X: Matrix, limit: int) -> np.ndarray:
    """At most ``limit`` singular values of X, from large to small.

    Rows and columns of a sparse X that are empty have no part in it, and of a matrix with very
    long sides fewer values are found, so that memory goes with what is stored.
    """
    if is_sparse(X):
        by_columns = X.tocsc()
        columns = np.flatnonzero(np.diff(by_columns.indptr))
        rows = np.unique(by_columns.indices)
        X = by_columns[:, columns].tocsr()[rows].tocsc()
    k = min(limit, *X.shape, max(1, VECTOR_ENTRIES // sum(X.shape)))
    return signed_svd(X, k)[1]


@dataclass(frozen=True)
class Compression:
    """X ≈ U Vᵀ in single precision: U (D, K), V (N, K), the shorter one orthonormal; ‖U Vᵀ‖²."""

    U: np.ndarray
    V: np.ndarray
    squared_norm: float

    @property
    def rank(self) -> int:
        """K."""
        return self.U.shape[1]


def compress(X: Matrix, rank: int) -> Compression:
    """Randomised subspace iteration (Halko, Martinsson & Tropp 2011, algorithm 4.4).

    It works on the shorter side of X (D, N), dense or sparse, so that of the longer side no
    more than one array is held. ``rank`` is K, below min(D, N).
    """
    if X.shape[0] > X.shape[1]:
        turned = compress(X.T, rank)
        return Compression(turned.V, turned.U, turned.squared_norm)
    Xt = X.T
    rng = np.random.default_rng(COMPRESSION_SEED)
    U = np.linalg.qr(rng.standard_normal((X.shape[0], rank)))[0]
    for _ in range(POWER_ITERATIONS):
        U = np.linalg.qr(X @ (Xt @ U))[0]
    V = np.ascontiguousarray(Xt @ U, dtype=np.float32)
    squared_norm = float(np.einsum("nk,nk->", V, V, dtype=np.float64))
    return Compression(np.ascontiguousarray(U, dtype=np.float32), V, squared_norm)
