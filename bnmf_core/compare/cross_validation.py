"""Bi-cross-validation: how well a factorization predicts a held-out block of X.

Rows and columns are cut into parts; a part of the rows and a part of the columns are left out
together, so that X falls into [[held out, B], [C, retained]]. The retained block is factorized,
A₀ W₀; with W₀ fixed B gives the weights of the rows left out, with A₀ fixed C those of the columns
left out, the best non-negative ones, and their product predicts the held out
block (Owen & Perry 2009, section 5: the non-negative factorization that conforms). Unlike the error
on what was seen it grows again when there are too many components.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError, raise_if_cancelled
from bnmf_core.core.loss import Loss
from bnmf_core.core.problem import Problem, check_fit
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.solvers import usual_solver
from bnmf_core.solvers.solution import Stopping, random_start, solve_with
from bnmf_core.solvers.weights import weights_given

# Number of starts on a retained block; the best fit is used.
STARTS = 5
# A line needs this fraction of the median number of observed entries.
ENOUGH = 0.75


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
    loss: Loss = SQUARED_ERROR,
) -> float:
    """The loss of the prediction of the held-out block, over its observed entries.

    Where X has gaps, rows and columns with few observed entries are left out: their weights and
    predictions are undetermined.

    Raises
    ------
    BNMFError
        When the retained block cannot be factorized at this rank.
    Cancelled
        When ``stopped()`` returned True.
    """
    raise_if_cancelled(stopped, "the error on held-out entries")
    rows, columns = block.rows, block.columns
    train_rows, train_columns = ~rows, ~columns
    if dataset.mask is not None:
        enough = _seen_enough(dataset.mask[train_rows].sum(axis=0))
        train_columns, columns = train_columns & enough, columns & enough
        enough = _seen_enough(dataset.mask[:, train_columns].sum(axis=1))
        train_rows, rows = train_rows & enough, rows & enough
    retained = _part(dataset, train_rows, train_columns)
    if not retained.squared_norm:
        raise DataError("What is left of the matrix holds nothing but zeros.")
    check_fit(retained, np.arange(retained.N), rank)
    starts = [random_start(retained, rank, rng) for _ in range(STARTS)]
    A, W = np.stack([A for A, _ in starts]), np.stack([W for _, W in starts])
    with one_blas_thread():
        problem = Problem.without_model(retained, rank, loss=loss)
        A, W = solve_with(usual_solver(problem), problem, A, W, Stopping())
        best = int(loss.values(problem, A, W).argmin())
        left = _part(dataset, rows, train_columns, turned=True)
        of_rows = weights_given(left, W[best].T[None], loss).transpose(0, 2, 1)
        of_columns = weights_given(_part(dataset, train_rows, columns), A[best][None], loss)
        held_out = Problem.without_model(_part(dataset, rows, columns), rank, loss=loss)
        return float(loss.values(held_out, of_rows, of_columns)[0])


def _seen_enough(count: np.ndarray) -> np.ndarray:
    """Which lines have so many seen entries, of each (n,), that their weights mean something."""
    enough: np.ndarray = count >= max(1.0, ENOUGH * float(np.median(count)))
    return enough


def _part(dataset: Dataset, rows: np.ndarray, columns: np.ndarray, turned: bool = False) -> Dataset:
    """The data of the chosen rows and columns, with rows and columns exchanged where turned."""
    X, mask = dataset.X[rows][:, columns], dataset.mask
    mask = None if mask is None else mask[rows][:, columns]
    names = dataset.features, dataset.observations
    features, observations = (
        tuple(np.array(words)[chosen]) for words, chosen in zip(names, (rows, columns), strict=True)
    )
    if turned:
        X, mask = X.T, None if mask is None else mask.T
        features, observations = observations, features
    # A block may hold nothing but zeros, which no dataset of a user may.
    return Dataset(X, dataset.name, features, observations, mask=mask)
