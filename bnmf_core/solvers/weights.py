"""Weights of observations for a given basis, the best ones under any loss."""

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.loss import Loss
from bnmf_core.core.problem import Problem
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.solvers import usual_solver
from bnmf_core.solvers.nnls import solve_weights
from bnmf_core.solvers.solution import Stopping, solve_with

# With A held nothing turns.
SETTLED = Stopping(2_000, None, gain=1e-4)


def weights_given(dataset: Dataset, A: np.ndarray, loss: Loss) -> np.ndarray:
    """W (M, R, N) ≥ 0 that make f(X, A[m] W) smallest, each basis of A (M, D, R) held fixed.

    Non-negative least squares for the squared error, to the exact minimum; else by the usual
    solver of the loss, until less than 1e-4 nats can be gained.

    Raises
    ------
    DataError
        When the shapes do not fit, or an entry of A is not finite.
    """
    if loss is SQUARED_ERROR:
        return solve_weights(dataset.X, A, dataset.mask)
    R = A.shape[2]
    problem = Problem.without_model(dataset, R, np.ones(R, dtype=bool), loss)
    # Weights of least squares, raised off 0, from where slopes are finite.
    W = solve_weights(dataset.X, A, dataset.mask)
    W = np.maximum(W, 1e-3 * np.maximum(W.mean(axis=(1, 2), keepdims=True), np.finfo(float).tiny))
    return solve_with(usual_solver(problem), problem, np.asarray(A, dtype=np.float64), W, SETTLED)[
        1
    ]
