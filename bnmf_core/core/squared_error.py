"""The squared error ‖X − AW‖²: the loss of ordinary NMF, for which most solvers are made."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.loss import Loss, Part, Slopes, slopes_along
from bnmf_core.numerics.linalg import blocks
from bnmf_core.numerics.matrix import dense
from bnmf_core.numerics.residuals import squared_errors

if TYPE_CHECKING:
    from bnmf_core.core.problem import Problem

# Entries of a residual (512 kB) that are processed together: they stay in the cache.
RESIDUAL_ENTRIES = 2**16
# An exact factorization leaves no residual; noise below this part of X would be rounding.
SMALLEST_RELATIVE_NOISE = 1e-3


class SquaredError(Loss):
    """‖X − AW‖²; what is shown of it is ‖X − AW‖/‖X‖."""

    key = "frobenius"
    label = "squared error"
    measure = "relative error"
    axis = "‖X − AW‖/‖X‖"
    ends = "0 fits everything, 1 nothing"

    def __reduce__(self) -> str:
        # Solvers made for it are chosen by identity, on a worker as here.
        return "SQUARED_ERROR"

    def values(self, problem: "Problem", A: np.ndarray, W: np.ndarray) -> np.ndarray:
        """‖X − AW‖² of each particle, (M,)."""
        return squared_errors(problem.dataset.X, A, W, problem.dataset.mask)

    def values_and_gradients(
        self, problem: "Problem", A: np.ndarray, W: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """‖X − AW‖² (M,) and its gradients in A (M, D, R) and W (M, R, N).

        One product of X with all A and one with all W. ‖X − AW‖² comes from the same products as
        ‖X‖² − 2⟨XWᵀ, A⟩ + ⟨AᵀA, WWᵀ⟩, exact to about 1e-15·‖X‖². Where X has gaps, the residual E
        of the seen entries is formed instead: ‖E‖², EWᵀ and AᵀE.
        """
        if problem.dataset.missing:
            return _seen_values_and_gradients(problem, A, W)
        transposed = A.transpose(0, 2, 1)
        gram_A, gram_W = transposed @ A, W @ W.transpose(0, 2, 1)
        linear_A, linear_W = problem.times_rows(W), problem.times_columns(transposed)
        M = A.shape[0]
        product = np.vecdot(linear_A, transposed).sum(axis=1)
        square = np.vecdot(gram_A.reshape(M, -1), gram_W.reshape(M, -1))
        by_A = 2.0 * (gram_W @ transposed - linear_A)
        by_W = 2.0 * (gram_A @ W - linear_W)
        squared = problem.dataset.squared_norm - 2.0 * product + square
        return squared, by_A.transpose(0, 2, 1), by_W

    def gradients_along(
        self,
        problem: "Problem",
        A: np.ndarray,
        W: np.ndarray,
        moved_A: np.ndarray,
        moved_W: np.ndarray,
    ) -> Slopes:
        """The derivative of the gradients along (moved_A, moved_W).

        With E = X − AW and Ȧ, Ẇ the direction, −2EWᵀ and −2AᵀE change by −2(XẆᵀ − Ȧ WWᵀ −
        A(ẆWᵀ + WẆᵀ)) and −2(ȦᵀX − (ȦᵀA + AᵀȦ)W − AᵀA Ẇ). Where X has gaps, by −2(ĖWᵀ + EẆᵀ) and
        −2(ȦᵀE + AᵀĖ) with Ė = −(ȦW + AẆ), over the seen entries.
        """
        if problem.dataset.missing:
            halves = slopes_along(_residuals(problem, A, W), A, W, moved_A, moved_W)
            return 2.0 * halves[0], 2.0 * halves[1]
        transposed, moved = A.transpose(0, 2, 1), moved_A.transpose(0, 2, 1)
        mixed_A, mixed_W = moved @ A, moved_W @ W.transpose(0, 2, 1)
        along_A = problem.times_rows(moved_W)
        along_A -= (W @ W.transpose(0, 2, 1)) @ moved
        along_A -= (mixed_W + mixed_W.transpose(0, 2, 1)) @ transposed
        along_W = problem.times_columns(np.ascontiguousarray(moved))
        along_W -= (mixed_A + mixed_A.transpose(0, 2, 1)) @ W
        along_W -= (transposed @ A) @ moved_W
        along_A *= -2.0
        along_W *= -2.0
        return along_A.transpose(0, 2, 1), along_W

    def curvatures(self, problem: "Problem", A: np.ndarray, W: np.ndarray) -> Slopes:
        """2Σ_n W_rn² and 2Σ_d A_dr², over the seen entries."""
        seen = problem.seen
        if seen is None:
            of_A = np.broadcast_to(np.einsum("mrn,mrn->mr", W, W)[:, None, :], A.shape)
            of_W = np.broadcast_to(np.einsum("mdr,mdr->mr", A, A)[:, :, None], W.shape)
        else:
            of_A = seen @ (W**2).transpose(0, 2, 1)
            of_W = (A**2).transpose(0, 2, 1) @ seen
        return 2.0 * of_A, 2.0 * of_W

    def by_observation(self, problem: "Problem", A: np.ndarray, W: np.ndarray) -> np.ndarray:
        """‖X_n − AW_n‖² of each column: (M, N)."""
        X, seen = problem.dataset.dense(), problem.seen
        seen = np.ones(X.shape) if seen is None else seen
        return np.array(
            [np.einsum("dn,dn->n", seen, (X - a @ w) ** 2) for a, w in zip(A, W, strict=True)]
        )

    def work(self, problem: "Problem") -> float:
        """Multiply-adds of two products with X; with gaps a third one computes the residual."""
        data = problem.dataset
        products = (3.0 if data.missing else 2.0) * data.stored_entries * problem.rank
        return products * (8.0 if data.is_sparse else 1.0)

    def size(self, dataset: Dataset) -> float:
        """‖X‖²."""
        return dataset.squared_norm

    def measured(self, dataset: Dataset, f: np.ndarray) -> np.ndarray:
        """‖X − AW‖/‖X‖."""
        return np.sqrt(f / self.size(dataset))

    def unmeasured(self, dataset: Dataset, shown: np.ndarray) -> np.ndarray:
        """‖X − AW‖²."""
        return shown**2 * self.size(dataset)

    def nats(self, dataset: Dataset, f: np.ndarray) -> np.ndarray:
        """1/(2σ²), σ² the mean square that the fit leaves, a millionth of that of X at least."""
        least = max(SMALLEST_RELATIVE_NOISE**2 * self.size(dataset), float(np.finfo(float).tiny))
        return dataset.observed / (2.0 * np.maximum(f, least))


SQUARED_ERROR = SquaredError()


def _seen_values_and_gradients(
    problem: "Problem", A: np.ndarray, W: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    squared, by_A, by_W = np.zeros(A.shape[0]), np.zeros(A.shape), np.zeros(W.shape)
    for m, rows, columns, _, E in _residuals(problem, A, W):
        squared[m] += np.vdot(E, E)
        by_A[m, rows] += E @ W[m][:, columns].T
        by_W[m][:, columns] += A[m, rows].T @ E
    return squared, 2.0 * by_A, 2.0 * by_W


def _residuals(problem: "Problem", A: np.ndarray, W: np.ndarray) -> Iterator[Part]:
    """Each particle with each block of X: 1 where the block was seen, and AW − X there."""
    seen = problem.seen
    assert seen is not None
    for rows, columns in blocks(dense(problem.dataset.X), RESIDUAL_ENTRIES):
        for m in range(A.shape[0]):
            E = A[m, rows] @ W[m][:, columns] - problem.dataset.X[rows, columns]
            E *= seen[rows, columns]
            yield m, rows, columns, seen[rows, columns], E
