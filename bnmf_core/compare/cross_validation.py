"""Bi-cross-validation: how well a factorization tells a block of X that it has not seen.

Rows and columns are cut into parts; a part of the rows and a part of the columns are left out
together, so that X falls into [[held out, B], [C, retained]]. The retained block is factorized,
A₀ W₀; with W₀ fixed B gives the weights of the rows left out, with A₀ fixed C those of the columns
left out, both by non-negative least squares, and their product is what is said of the held out
block (Owen & Perry 2009, section 5: the non-negative factorization that conforms). Unlike the error
on what was seen it grows again when there are too many components.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import raise_if_cancelled
from bnmf_core.core.problem import Problem, check_fit
from bnmf_core.numerics.matrix import Matrix
from bnmf_core.numerics.residuals import squared_errors
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.solvers import SOLVERS
from bnmf_core.solvers.nnls import solve_weights
from bnmf_core.solvers.solution import Stopping, random_start, solve_with

# Starts of the factorization of a retained block, of which the best fit is taken.
STARTS = 5


@dataclass(frozen=True, eq=False)
class Block:
    """Rows and columns that are left out together: boolean (D,) and (N,)."""

    rows: np.ndarray
    columns: np.ndarray


def blocks_of(
    shape: tuple[int, int], folds: int, repeats: int, rng: np.random.Generator
) -> list[Block]:
    """folds² blocks that make up the whole matrix, ``repeats`` times over, cut at random."""
    D, N = shape
    blocks = []
    for _ in range(repeats):
        row_part = rng.permutation(np.arange(D) % folds)
        column_part = rng.permutation(np.arange(N) % folds)
        blocks += [
            Block(row_part == i, column_part == j) for i in range(folds) for j in range(folds)
        ]
    return blocks


def held_out_error(
    dataset: Dataset,
    block: Block,
    rank: int,
    rng: np.random.Generator,
    stopped: Callable[[], bool] | None = None,
) -> float:
    """‖held out − what the retained block says of it‖², over its seen entries.

    Raises
    ------
    BNMFError
        When the retained block cannot be factorized at this rank.
    Cancelled
        When ``stopped()`` said so.
    """
    raise_if_cancelled(stopped, "the error on hidden entries")
    rows, columns = block.rows, block.columns
    X, mask = _part(dataset, ~rows, ~columns)
    retained = Dataset.from_array(X, mask=mask, name=dataset.name)
    check_fit(retained, np.arange(retained.N), rank)
    starts = [random_start(retained, rank, rng) for _ in range(STARTS)]
    A, W = np.stack([A for A, _ in starts]), np.stack([W for _, W in starts])
    with one_blas_thread():
        problem = Problem.without_model(retained, rank)
        A, W = solve_with(SOLVERS["hals"], problem, A, W, Stopping())
        best = squared_errors(retained.X, A, W, retained.mask).argmin()
        X, mask = _part(dataset, rows, ~columns)
        turned = None if mask is None else mask.T
        of_rows = solve_weights(X.T, W[best].T[None], turned).transpose(0, 2, 1)
        X, mask = _part(dataset, ~rows, columns)
        of_columns = solve_weights(X, A[best][None], mask)
        X, mask = _part(dataset, rows, columns)
        return float(squared_errors(X, of_rows, of_columns, mask)[0])


def _part(
    dataset: Dataset, rows: np.ndarray, columns: np.ndarray
) -> tuple[Matrix, np.ndarray | None]:
    """X and its mask on the chosen rows and columns."""
    mask = dataset.mask if dataset.missing else None
    return dataset.X[rows][:, columns], None if mask is None else mask[rows][:, columns]
