"""Gradients of a binary matrix over drawn cases, and the steps of a clamped Langevin chain.

Both factors have the component last here, A (D, R) and V = Wᵀ (N, R), and the table is the places
of its ones. With c_q the times that case q was drawn, the gradient of −½ Σ_q c_q ‖x_q − F v_q‖² in
F is Σ_q c_q x_q v_qᵀ − F (VᵀCV): the first sum goes over the ones of drawn cases only. A cell that
was not seen gives back what the second term takes for it, c_q (v_q · f_p) v_q.
"""

from dataclasses import dataclass

import numba
import numpy as np
from scipy import sparse

from bnmf_core.core.dataset import Dataset
from bnmf_core.numerics.matrix import dense

BINS = 50


@dataclass(frozen=True, eq=False)
class Table:
    """Where a table has its ones and its gaps, case by case.

    ones, gaps : (starts, places) by observations: places[starts[n] : starts[n + 1]] are features.
    ones_of_features, gaps_of_features : the same by features.
    """

    ones: tuple[np.ndarray, np.ndarray]
    gaps: tuple[np.ndarray, np.ndarray]
    ones_of_features: tuple[np.ndarray, np.ndarray]
    gaps_of_features: tuple[np.ndarray, np.ndarray]
    squared_norm: float

    @classmethod
    def of(cls, dataset: Dataset) -> "Table":
        """The places of a dataset of 0 and 1."""
        X = sparse.csc_array(dense(dataset.X))
        missing = np.zeros(X.shape, dtype=bool)
        if dataset.mask is not None:
            missing = ~dataset.mask
        gaps = sparse.csc_array(missing)
        return cls(
            _places(X),
            _places(gaps),
            _places(X.tocsr()),
            _places(gaps.tocsr()),
            dataset.squared_norm,
        )


def _places(X: sparse.csc_array | sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    return X.indptr.astype(np.int64), X.indices.astype(np.int64)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def drawn_gradient(
    F: np.ndarray,
    other: np.ndarray,
    counts: np.ndarray,
    ones: tuple[np.ndarray, np.ndarray],
    gaps: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """Gradient (P, R) in F (P, R) of −½ Σ_q c_q ‖x_q − F v_q‖², other (Q, R), counts (Q,)."""
    Q, R = other.shape
    starts, places = ones
    gap_starts, gap_places = gaps
    weighted = np.empty((Q, R))
    gradient = np.zeros(F.shape)
    for q in range(Q):
        c = counts[q]
        for r in range(R):
            weighted[q, r] = c * other[q, r]
        if c == 0.0:
            continue
        v = weighted[q]
        for e in range(starts[q], starts[q + 1]):
            row = gradient[places[e]]
            for r in range(R):
                row[r] += v[r]
    gradient -= np.dot(F, np.dot(weighted.T, other))
    if gap_places.size:
        for q in range(Q):
            if counts[q] == 0.0:
                continue
            for e in range(gap_starts[q], gap_starts[q + 1]):
                p = gap_places[e]
                product = 0.0
                for r in range(R):
                    product += other[q, r] * F[p, r]
                for r in range(R):
                    gradient[p, r] += product * weighted[q, r]
    return gradient


@numba.njit(cache=True, nogil=True, error_model="numpy")
def squared_error(
    A: np.ndarray,
    V: np.ndarray,
    ones: tuple[np.ndarray, np.ndarray],
    gaps: tuple[np.ndarray, np.ndarray],
    squared_norm: float,
) -> float:
    """‖X − A Vᵀ‖² over the cells that were seen; ones and gaps by observations."""
    starts, places = ones
    gap_starts, gap_places = gaps
    overlap, unseen, R = 0.0, 0.0, A.shape[1]
    total = np.empty(R)
    for n in range(V.shape[0]):
        total[:] = 0.0
        for e in range(starts[n], starts[n + 1]):  # rows are added before they are multiplied
            row = A[places[e]]
            for r in range(R):
                total[r] += row[r]
        for r in range(R):
            overlap += total[r] * V[n, r]
        for e in range(gap_starts[n], gap_starts[n + 1]):
            row, product = A[gap_places[e]], 0.0
            for r in range(R):
                product += row[r] * V[n, r]
            unseen += product * product
    size = (np.dot(A.T, A) * np.dot(V.T, V)).sum()
    return max(squared_norm - 2.0 * overlap + size - unseen, 0.0)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def drawn_counts(cases: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """How often each case is drawn, (cases,), when so many are drawn with replacement."""
    counts = np.zeros(cases)
    for _ in range(size):
        counts[min(int(rng.random() * cases), cases - 1)] += 1.0
    return counts


@numba.njit(cache=True, error_model="numpy")
def _slope(x: float, rate: float, prior_precision: float, arcsine: bool) -> float:
    if arcsine:
        return 0.5 / (1.0 - x) - 0.5 / x
    return -rate - prior_precision * x


@numba.njit(cache=True, nogil=True, error_model="numpy")
def log_joint_gradient(
    F: np.ndarray,
    other: np.ndarray,
    size: int,
    ones: tuple[np.ndarray, np.ndarray],
    gaps: tuple[np.ndarray, np.ndarray],
    precision: float,
    prior: tuple[float, float, bool],
    weight: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """A drawn gradient of the log joint (P, R): the likelihood's as it is, the prior's weighted.

    prior : rate, precision, and whether it is Beta(½, ½) instead.
    """
    gradient = drawn_gradient(F, other, drawn_counts(other.shape[0], size, rng), ones, gaps)
    for p in range(F.shape[0]):
        for r in range(F.shape[1]):
            slope = _slope(F[p, r], prior[0], prior[1], prior[2])
            gradient[p, r] = precision * gradient[p, r] + weight * slope
    return gradient


@numba.njit(cache=True, nogil=True, error_model="numpy")
def add_to_moments(x: np.ndarray, count: int, mean: np.ndarray, squares: np.ndarray) -> None:
    """Welford's update of a mean and a sum of squared deviations with the ``count``-th x."""
    for p in range(x.shape[0]):
        for r in range(x.shape[1]):
            away = x[p, r] - mean[p, r]
            mean[p, r] += away / count
            squares[p, r] += away * (x[p, r] - mean[p, r])


@numba.njit(cache=True, nogil=True, error_model="numpy")
def advance(
    F: np.ndarray, gradient: np.ndarray, step: np.ndarray, scale: float, low: float
) -> None:
    """F ← F + scale·step·gradient, clamped to low … 1 − low, in place."""
    for p in range(F.shape[0]):
        for r in range(F.shape[1]):
            moved = F[p, r] + scale * step[p, r] * gradient[p, r]
            F[p, r] = min(max(moved, low), 1.0 - low)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def add_to_histogram(x: np.ndarray, histogram: np.ndarray) -> None:
    """Count every entry of x (P, R) in its bin, histogram (P, R, BINS)."""
    for p in range(x.shape[0]):
        for r in range(x.shape[1]):
            histogram[p, r, min(int(x[p, r] * BINS), BINS - 1)] += 1
