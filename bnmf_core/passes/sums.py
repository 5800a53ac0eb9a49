"""Sums over one block of X in a pass: the loss and its derivatives in A."""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from bnmf_core.blocks.whole import block_problem, whole_of
from bnmf_core.core.kullback_leibler import KULLBACK_LEIBLER
from bnmf_core.core.problem import Problem
from bnmf_core.numerics.matrix import Matrix, stored

# Fields that are added over blocks; others are concatenated.
ADDED = ("loss", "slope", "curvature", "shared", "totals", "squares", "log_joint", "data")


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over some observations for m bases A (m, R, D) with the best weights W ≥ 0.

    Attributes
    ----------
    loss : (m,). slope : (m, R, D), its derivative by A; of the squared error half of it.
    curvature : second derivatives by A: (m, R, R), the same for every row, or (m, D, R, R).
    shared : (m, R², R²), what best weights take off them, see :func:`faces.on_faces`; empty
        where it is not requested.
    totals, squares : (m, R), Σ_n W_rn and Σ_n W_rn².
    sampled : (m, R, s), the weights of the sample's observations.
    log_joint : (m,), log p(X, A, W) with the prior of A counted in every block; NaN where it was
        not requested.
    data : (4,), see :func:`of_data`.
    """

    loss: np.ndarray
    slope: np.ndarray
    curvature: np.ndarray
    shared: np.ndarray
    totals: np.ndarray
    squares: np.ndarray
    sampled: np.ndarray
    log_joint: np.ndarray
    data: np.ndarray


def of_weights(
    problem: Problem,
    i: int,
    X: Matrix,
    A: np.ndarray,
    W: np.ndarray,
    loss: np.ndarray,
    slope: np.ndarray,
    curvature: np.ndarray,
    judged: bool,
) -> Sums:
    """The sums of block i, X (D, n), from its weights W (m, R, n) and the loss's derivatives.

    ``judged`` : whether to compute the log joint.
    """
    log_joint, part = np.full(len(A), np.nan), block_problem(problem, i, X)
    if judged:
        log_joint = problem.model.log_joint(part, A.transpose(0, 2, 1), W, loss)
    return Sums(
        loss=loss,
        slope=slope,
        curvature=curvature,
        shared=np.zeros((len(A), 0, 0)),
        totals=W.sum(axis=2),
        squares=np.einsum("mrn,mrn->mr", W, W),
        sampled=np.ascontiguousarray(W[:, :, whole_of(problem).sampled(i)]),
        log_joint=log_joint,
        data=of_data(X, KULLBACK_LEIBLER.floor(problem.dataset)),
    )


def of_data(X: Matrix, floor: float) -> np.ndarray:
    """‖X‖², ΣX, and Σ x log x and Σ x of the entries above 0 raised by the floor, (4,)."""
    values = np.ravel(stored(X), order="K")
    raised = values[values > 0] + floor
    entropy = np.einsum("i,i->", raised, np.log(raised))
    return np.array([np.einsum("i,i->", values, values), values.sum(), entropy, raised.sum()])


def added(parts: Iterable[Sums]) -> Sums:
    """The sums of all blocks, in their order."""
    total: dict[str, np.ndarray] = {}
    sampled = []
    for part in parts:
        sampled.append(part.sampled)
        for name in ADDED:
            value = getattr(part, name)
            total[name] = total[name] + value if name in total else value
    return Sums(**total, sampled=np.concatenate(sampled, axis=2))


def chosen(sums: Sums, some: np.ndarray) -> Sums:
    """Sums of some of the bases."""
    names = [field.name for field in dataclasses.fields(Sums) if field.name != "data"]
    return dataclasses.replace(sums, **{name: getattr(sums, name)[some] for name in names})


def prior_of_A(problem: Problem, A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """log p(A) of A (m, R, D), (m,), for any model.

    log p(X, A, W) is a sum over observations and log p(A): two observations by themselves count
    log p(A) twice, and together once. W (m, R, S) : weights of the sample.
    """
    X, bases = problem.dataset.X, A.transpose(0, 2, 1)

    def log_joint(places: list[int]) -> np.ndarray:
        part = block_problem(problem, 0, X[:, places])
        return problem.model.log_joint(part, bases, W[:, :, places])

    return log_joint([0]) + log_joint([1]) - log_joint([0, 1])
