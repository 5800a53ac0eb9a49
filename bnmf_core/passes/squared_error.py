"""The squared error over blocks: exact weights given A, and the sums that A's next step needs."""

import time
from dataclasses import replace

import numpy as np

from bnmf_core.blocks.whole import whole_of
from bnmf_core.core.problem import Problem
from bnmf_core.numerics.matrix import Matrix, is_sparse, stored
from bnmf_core.numerics.sparse_products import product
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.passes.faces import MOST_COMPONENTS, on_faces
from bnmf_core.passes.sums import Sums, of_weights
from bnmf_core.solvers.nnls import solve_columns


def sums(problem: Problem, i: int, A: np.ndarray, judged: np.ndarray) -> tuple[Sums, float]:
    """Sums of block i at the bases A (m, R, D), and the seconds that it took.

    W = argmin over W ≥ 0 of ‖X − AᵀW‖² by the active-set method of Lawson and Hanson (1974).
    ``judged`` (m,) : whether to compute the log joint.
    """
    began = time.thread_time()
    with one_blas_thread():
        X = whole_of(problem).read(i)
        linear, gram = times(X, A), A @ A.transpose(0, 2, 1)
        W = np.empty_like(linear)
        for p in range(len(A)):
            W[p] = solve_columns(gram[p][None], np.ascontiguousarray(linear[p].T)).T
        found = of_factors(problem, i, X, A, W, bool(judged.any()))
        if problem.rank <= MOST_COMPONENTS:
            shared = np.stack([on_faces(*one) for one in zip(A, W, strict=True)])
            found = replace(found, shared=shared)
    return found, time.thread_time() - began


def of_factors(
    problem: Problem, i: int, X: Matrix, A: np.ndarray, W: np.ndarray, judged: bool
) -> Sums:
    """Sums of block i, X (D, n), at A (m, R, D) and any W (m, R, n)."""
    linear, gram = times(X.T, W), W @ W.transpose(0, 2, 1)
    overlap = np.einsum("mrd,mrd->m", linear, A)
    size = np.einsum("mrs,mrs->m", A @ A.transpose(0, 2, 1), gram)
    values = np.ravel(stored(X), order="K")
    loss = np.maximum(np.einsum("i,i->", values, values) - 2 * overlap + size, 0.0)
    return of_weights(problem, i, X, A, W, loss, gram @ A - linear, gram, judged)


def times(X: Matrix, F: np.ndarray) -> np.ndarray:
    """F (m, R, n) times X (n, k)."""
    if is_sparse(X):
        return product(X, F)
    m, R, n = F.shape
    return (F.reshape(m * R, n) @ X).reshape(m, R, -1)
