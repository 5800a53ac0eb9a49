"""Weights of observations for a given basis, the best ones under any loss."""

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.loss import ByObservation, Loss
from bnmf_core.core.problem import Problem
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.solvers import usual_solver
from bnmf_core.solvers.nnls import solve_columns, solve_weights
from bnmf_core.solvers.solution import Stopping, solve_with

# Nats that are left to gain. With A held nothing turns.
GAIN = 1e-4
SETTLED = Stopping(2_000, None, gain=GAIN)
# Maximum number of Newton steps, the factor that shortens a failed step, and the length below which
# its observation is given up.
STEPS, SHORTER, NOWHERE = 300, 0.25, 1e-9
# Armijo constant; minimum curvature, as part of its trace and of the expected one.
ARMIJO, FLATTEST, BENT = 1e-4, 1e-10, 0.1
# Maximum number of second derivatives, 64 MB.
SECOND = 2**23


def weights_given(dataset: Dataset, A: np.ndarray, loss: Loss) -> np.ndarray:
    """W (M, R, N) ≥ 0 that make f(X, A[m] W) smallest, each basis of A (M, D, R) held fixed.

    Non-negative least squares for the squared error, to the exact minimum. Else until less than
    1e-4 nats can be gained, by projected Newton steps of each observation by itself (Bertsekas
    1982) where the loss says its second derivatives, or by the usual solver of the loss.

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
    A = np.asarray(A, dtype=np.float64)
    derivatives = loss.of_observations
    if derivatives is not None and dataset.N * R**2 <= SECOND:
        pairs = zip(A, W, strict=True)
        return np.stack([_by_observation(derivatives, problem, *pair) for pair in pairs])
    return solve_with(usual_solver(problem), problem, A, W, SETTLED)[1]


def _by_observation(
    derivatives: ByObservation, problem: Problem, A: np.ndarray, W: np.ndarray
) -> np.ndarray:
    """The best weights (R, N) for A (D, R), from W on."""

    def of(weights: np.ndarray) -> list[np.ndarray]:
        return [one[0] for one in derivatives(problem, A[None], weights[None])]

    in_nats = float(problem.loss.nats(problem.dataset, np.ones(())))
    f, slope, second, expected = of(W)
    length = np.ones(W.shape[1])
    for _ in range(STEPS):
        step, gain = _newton(W, slope, second, expected)
        # An expected curvature promises less than there is.
        if in_nats * gain[length > NOWHERE].sum() <= 0.1 * GAIN:
            break
        tried = W + length * step
        after = of(tried)
        better = after[0] <= f + ARMIJO * length * (slope * step).sum(axis=0)
        W = np.where(better, tried, W)
        f, slope = np.where(better, after[0], f), np.where(better, after[1], slope)
        second, expected = np.where(better[:, None, None], after[2:], (second, expected))
        length = np.where(better, 1.0, SHORTER * length)
    return W


def _newton(
    W: np.ndarray, slope: np.ndarray, second: np.ndarray, expected: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Steps (R, N) to the minima of quadratics over W + step ≥ 0, and what each gains (N,).

    Where f bends down, or hardly up, its curvature is the expected one.
    """
    hardly = np.linalg.eigvalsh(second)[:, 0] < BENT * np.linalg.eigvalsh(expected)[:, 0]
    bent = np.where(hardly[:, None, None], expected, second)
    bent += FLATTEST * np.einsum("nrr->n", bent)[:, None, None] * np.eye(len(W))
    target = np.einsum("nrk,kn->nr", bent, W) - slope.T
    step = solve_columns(bent, target).T - W
    gain = -(slope * step).sum(axis=0) - 0.5 * np.einsum("rn,nrk,kn->n", step, bent, step)
    return step, np.maximum(gain, 0.0)
