"""Reference factorizations from which open model settings take their values."""

from threading import Lock

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.loss import Loss
from bnmf_core.core.problem import Problem
from bnmf_core.core.squared_error import SMALLEST_RELATIVE_NOISE, SQUARED_ERROR
from bnmf_core.numerics.residuals import free_numbers, squared_errors
from bnmf_core.solvers import usual_solver
from bnmf_core.solvers.solution import FURTHEST, Stopping, random_start, solve_with

# Fixed, so that the model depends on the data only, not on the run's seed.
REFERENCE_SEED = 20_240_229
# A reference ends as published runs do (paper 3, §6.1), converged or not.
AS_PUBLISHED = Stopping(200, 1e-4)
# This part of the entries tells the noise at least, however many numbers were fitted to them.
LEAST_LEFT = 1 / 4
# The noise is read from converged NMFs: where features differ much in size, the usual ending leaves
# four times the residual (wines, seven components). One that fits up to rounding need not go on.
CONVERGED = Stopping(20_000, None, SMALLEST_RELATIVE_NOISE * LEAST_LEFT**0.5)
OPTIMA = 3
# An X of more entries times components has one, which need not turn to its end.
LARGE, OF_LARGE = 5e7, Stopping(1_000, None, movement=FURTHEST)
_last: dict[tuple[str, int, int, str, Stopping], tuple[np.ndarray, np.ndarray]] = {}
_LOCK = Lock()


def reference_start(dataset: Dataset, rank: int, restart: int) -> tuple[np.ndarray, np.ndarray]:
    """The random start of one reference NMF: A (D, R), W (R, N)."""
    return random_start(dataset, rank, np.random.default_rng([REFERENCE_SEED, restart]))


def reference_factors(
    dataset: Dataset,
    rank: int,
    restarts: int,
    loss: Loss = SQUARED_ERROR,
    stopping: Stopping | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """NMFs from random starts with a fixed seed: A (restarts, D, R), W (restarts, R, N).

    They end as usual for their loss, or as ``stopping`` says.
    The last result is cached: several runs of the same data begin together.
    """
    if stopping is None:
        stopping = Stopping() if loss is SQUARED_ERROR else AS_PUBLISHED
    key = (dataset.hash, rank, restarts, loss.key, stopping)
    with _LOCK:
        if key not in _last:
            solved = _solved(dataset, rank, restarts, loss, stopping)
            _last.clear()
            _last[key] = solved
        A, W = _last[key]
    return A.copy(), W.copy()


def _solved(
    dataset: Dataset, rank: int, restarts: int, loss: Loss, stopping: Stopping
) -> tuple[np.ndarray, np.ndarray]:
    problem = Problem.without_model(dataset, rank, loss=loss)
    solver, solved = usual_solver(problem), []
    for restart in range(restarts):
        A, W = reference_start(dataset, rank, restart)
        solved.append(solve_with(solver, problem, A[None], W[None], stopping))
    return np.concatenate([A for A, _ in solved]), np.concatenate([W for _, W in solved])


def reference_errors(dataset: Dataset, rank: int, restarts: int) -> np.ndarray:
    """Squared Frobenius errors (restarts,) of :func:`reference_factors`."""
    return squared_errors(dataset.X, *reference_factors(dataset, rank, restarts), dataset.mask)


def published_noise(dataset: Dataset, rank: int) -> float:
    """σ as papers 2 and 3 take it: the residual standard deviation of one NMF."""
    return float(np.sqrt(reference_errors(dataset, rank, 1)[0] / dataset.observed))


def reference_variance(dataset: Dataset, rank: int) -> float:
    """Variance of the noise on one entry: the squared error over the entries left to tell it by.

    That of the best of three converged NMFs (one of an X of more than 5·10⁷ entries times
    components), over the seen entries less the numbers that were free to fit them. Over all seen
    entries it would be too small: σ by a third for seven components of 13 features (planted).
    """
    large = dataset.observed * rank > LARGE
    restarts, stopping = (1, OF_LARGE) if large else (OPTIMA, CONVERGED)
    A, W = reference_factors(dataset, rank, restarts, stopping=stopping)
    errors = squared_errors(dataset.X, A, W, dataset.mask)
    best = int(errors.argmin())
    left = dataset.observed - free_numbers(A[best], W[best])
    return float(errors[best]) / max(left, LEAST_LEFT * dataset.observed)


def reference_values(dataset: Dataset, rank: int, restarts: int, loss: Loss) -> np.ndarray:
    """f (restarts,) of NMFs that minimise a loss."""
    A, W = reference_factors(dataset, rank, restarts, loss)
    return loss.values(Problem.without_model(dataset, rank, loss=loss), A, W)
