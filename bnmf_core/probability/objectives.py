"""Objectives that measure how well AW reproduces X, batched over particles, with gradients.

- ``frobenius``: ‖X − AW‖²_F.
- ``kullback_leibler``: Σ x log(x/y) − x + y over the entries, with y = AW (Lee & Seung 2001).
- ``itakura_saito``: Σ x/y − log(x/y) − 1 (Févotte, Bertin & Durrieu 2009).

The last two are infinite, or have infinite slopes, where x or y is 0. There both X and AW are
raised by ``FLOOR`` times the mean entry of X: the objective stays 0 exactly where X = AW, and
values and slopes are finite for all A, W ≥ 0. What the Itakura–Saito divergence says of an X with
many zeros depends on that floor.
"""

import warnings
from collections.abc import Iterator

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.problem import Problem
from bnmf_core.lazy import lazy
from bnmf_core.numerics.linalg import BLOCK_ENTRIES, blocks
from bnmf_core.numerics.matrix import Matrix
from bnmf_core.numerics.residuals import squared_errors
from bnmf_core.probability import likelihood
from bnmf_core.probability.reference import reference_start
from bnmf_core.solvers import hals

decomposition = lazy("sklearn.decomposition")
exceptions = lazy("sklearn.exceptions")

FROBENIUS, KULLBACK_LEIBLER, ITAKURA_SAITO = "frobenius", "kullback_leibler", "itakura_saito"
OBJECTIVES = (FROBENIUS, KULLBACK_LEIBLER, ITAKURA_SAITO)
FLOOR = 1e-6
# Reference NMFs of the divergences: scikit-learn's defaults, as in paper 3, §6.1.
REFERENCE_ITERATIONS, REFERENCE_TOLERANCE, REFERENCE_CHECK = 200, 1e-4, 10


def objective_values(
    problem: Problem,
    A: np.ndarray,
    W: np.ndarray,
    objective: str,
    squared: np.ndarray | None = None,
) -> np.ndarray:
    """f(X, AW) of each particle, (M,): A (M, D, R), W (M, R, N).

    ``squared`` (M,) is ‖X − AW‖² where it is known already.
    """
    if objective != FROBENIUS:
        return _divergence(problem, A, W, objective, gradients=False)[0]
    if squared is None:
        return squared_errors(problem.dataset.X, A, W, problem.dataset.mask)
    return squared


def objective_and_gradients(
    problem: Problem, A: np.ndarray, W: np.ndarray, objective: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """f (M,) and its gradients in A (M, D, R) and W (M, R, N), every entry free.

    ‖X − AW‖² is exact to about 1e-15·‖X‖² here, see ``likelihood.fit_and_gradients``.
    """
    if objective != FROBENIUS:
        return _divergence(problem, A, W, objective, gradients=True)
    fit, gradient_A, gradient_W = likelihood.fit_and_gradients(problem, A, W, 2.0)
    return -fit, -gradient_A, -gradient_W


def gradients_along(
    problem: Problem,
    A: np.ndarray,
    W: np.ndarray,
    moved_A: np.ndarray,
    moved_W: np.ndarray,
    objective: str,
) -> tuple[np.ndarray, np.ndarray]:
    """Derivative of f's gradients along (moved_A, moved_W): its Hessian times the direction.

    Shapes (M, D, R) and (M, R, N), in and out. For a divergence Σ φ(x, y), y = AW, the gradient in
    A is φ' Wᵀ; along Ȧ, Ẇ it changes by (φ'' ∘ ẏ) Wᵀ + φ' Ẇᵀ with ẏ = ȦW + AẆ; likewise in W.
    """
    if objective == FROBENIUS:
        along = likelihood.fit_gradients_along(problem, A, W, moved_A, moved_W, 2.0)
        return -along[0], -along[1]
    dataset, floor = problem.dataset, _floor(problem.dataset)
    along_A, along_W = np.zeros(A.shape), np.zeros(W.shape)
    for rows, columns, x in _dense_blocks(dataset.X):
        x = x + floor  # noqa: PLW2901  (a new array: X is never changed)
        for m in range(A.shape[0]):
            basis, weights = A[m, rows], W[m][:, columns]
            moved_basis, moved_weights = moved_A[m, rows], moved_W[m][:, columns]
            y = basis @ weights + floor
            change = moved_basis @ weights + basis @ moved_weights
            ratio = x / y
            if objective == KULLBACK_LEIBLER:
                slopes, bends = 1.0 - ratio, ratio / y
            else:
                slopes, bends = (1.0 - ratio) / y, (2.0 * ratio - 1.0) / y**2
            change *= bends
            if dataset.mask is not None:
                slopes *= dataset.mask[rows, columns]
                change *= dataset.mask[rows, columns]
            along_A[m, rows] += change @ weights.T + slopes @ moved_weights.T
            along_W[m][:, columns] += basis.T @ change + moved_basis.T @ slopes
    return along_A, along_W


def natural_scale(dataset: Dataset, objective: str) -> float:
    """An f that is as large as the data: ‖X‖², ΣX or the number of entries, of what was seen."""
    if objective == FROBENIUS:
        return dataset.squared_norm
    if objective == KULLBACK_LEIBLER:
        return dataset.total
    return float(dataset.observed)


def reference_values(dataset: Dataset, rank: int, restarts: int, objective: str) -> np.ndarray:
    """f (restarts,) of NMFs that minimise the objective, from random starts with a fixed seed.

    ‖X − AW‖² by hierarchical least squares, the divergences by multiplicative updates.
    """
    pairs = [reference_start(dataset, rank, restart) for restart in range(restarts)]
    A, W = (np.stack(factors) for factors in zip(*pairs, strict=True))
    problem = Problem.without_model(dataset, rank)
    if objective == FROBENIUS:
        A, W = hals.solve(problem, A, W)
    else:
        minimised = _minimised_on_seen if dataset.missing else _minimised
        solved = [minimised(problem, *pair, objective) for pair in zip(A, W, strict=True)]
        A, W = (np.stack(factors) for factors in zip(*solved, strict=True))
    return objective_values(problem, A, W, objective)


def _divergence(
    problem: Problem, A: np.ndarray, W: np.ndarray, objective: str, gradients: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    # One block of X after the other, so that no more than a block of any AW is held.
    dataset, M = problem.dataset, A.shape[0]
    floor = _floor(dataset)
    values, by_A, by_W = np.zeros(M), np.zeros(A.shape), np.zeros(W.shape)
    for rows, columns, x in _dense_blocks(dataset.X):
        x = x + floor  # noqa: PLW2901  (a new array: X is never changed)
        for m in range(M):
            basis, weights = A[m, rows], W[m][:, columns]
            y = basis @ weights
            y += floor
            ratio = x / y
            if objective == KULLBACK_LEIBLER:
                terms, slopes = x * np.log(ratio) + (y - x), 1.0 - ratio
            else:
                terms, slopes = ratio - np.log(ratio) - 1.0, (1.0 - ratio) / y
            if dataset.mask is not None:
                terms *= dataset.mask[rows, columns]
                slopes *= dataset.mask[rows, columns]
            values[m] += terms.sum()
            if gradients:
                by_A[m, rows] += slopes @ weights.T
                by_W[m][:, columns] += basis.T @ slopes
    return values, by_A, by_W


def _dense_blocks(X: Matrix) -> Iterator[tuple[slice, slice, np.ndarray]]:
    if isinstance(X, np.ndarray):
        for rows, columns in blocks(X):
            yield rows, columns, X[rows, columns]
        return
    step = max(1, BLOCK_ENTRIES // X.shape[0])
    for first in range(0, X.shape[1], step):
        part = slice(first, min(first + step, X.shape[1]))
        yield slice(None), part, X[:, part].toarray()


def _floor(dataset: Dataset) -> float:
    return FLOOR * (dataset.mean or 1.0)


def _minimised(
    problem: Problem, A: np.ndarray, W: np.ndarray, objective: str
) -> tuple[np.ndarray, np.ndarray]:
    dataset = problem.dataset
    X = dataset.X.T
    if objective == ITAKURA_SAITO:  # scikit-learn takes no zeros there
        X = dataset.dense().T + _floor(dataset)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", exceptions.ConvergenceWarning
        )  # the limit is the paper's own
        Wt, At, _ = decomposition.non_negative_factorization(
            X,
            W.T.copy(),
            A.T.copy(),
            n_components=A.shape[1],
            init="custom",
            solver="mu",
            beta_loss=objective.replace("_", "-"),
            tol=REFERENCE_TOLERANCE,
            max_iter=REFERENCE_ITERATIONS,
        )
    return At.T, Wt.T


def _minimised_on_seen(
    problem: Problem, A: np.ndarray, W: np.ndarray, objective: str
) -> tuple[np.ndarray, np.ndarray]:
    """A (D, R), W (R, N) lowered on the seen entries, by scikit-learn's updates and stopping rule.

    Févotte & Idier 2011, with S = 1 where X was seen and y = AW: A ← A ∘ ((S ∘ x y^(β−2)) Wᵀ /
    (S ∘ y^(β−1)) Wᵀ)^γ, with β = 1, γ = 1 for Kullback–Leibler and β = 0, γ = ½ for Itakura–Saito;
    for W alike. The constant that raises x and y is one more component that stays as it is, so the
    objective still never rises.
    """
    data, floor = problem.dataset, _floor(problem.dataset)
    x, seen = data.dense() + floor, problem.seen
    assert seen is not None
    square_root = objective == ITAKURA_SAITO

    def factor(A: np.ndarray, W: np.ndarray, on_A: bool) -> np.ndarray:
        y = A @ W + floor
        below = seen / y if square_root else seen
        above = below * x / y
        if on_A:
            above, below = above @ W.T, below @ W.T
        else:
            above, below = A.T @ above, A.T @ below
        ratio = np.divide(above, below, out=np.ones_like(above), where=below > 0)
        return np.sqrt(ratio) if square_root else ratio

    def error(A: np.ndarray, W: np.ndarray) -> float:
        return float(np.sqrt(objective_values(problem, A[None], W[None], objective)[0]))

    first = before = error(A, W)
    for iteration in range(1, REFERENCE_ITERATIONS + 1):
        W = W * factor(A, W, False)
        A = A * factor(A, W, True)
        if iteration % REFERENCE_CHECK == 0:
            now = error(A, W)
            if before - now < REFERENCE_TOLERANCE * first:
                break
            before = now
    return A, W
