"""Newton directions of many factorizations, with the Hessian of X as it is or compressed."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from bnmf_core.core.problem import Problem
from bnmf_core.numerics.matrix import dense
from bnmf_core.numerics.memory import in_lines
from bnmf_core.solvers.conjugate import newton_direction
from bnmf_core.solvers.stationarity import Slopes
from bnmf_core.solvers.ties import Ties

# Part of the gradient that conjugate gradients may leave near the minimum.
NEAR_ACCURACY = 0.03
# Entries of a dense X, at most, that are copied for an accurate direction.
WHOLE_ENTRIES = 2**26


@dataclass(frozen=True, eq=False)
class Directions:
    """Newton directions of m factorizations.

    A : (m, R, D), W : (m, R, N). products : (m,) with the Hessian. length : (m,) in the
    preconditioner's norm. promised : (m,) by how much the quadratic of ½‖X − AW‖² falls. solved :
    (m,) whether each leads to the quadratic's minimum.
    """

    A: np.ndarray
    W: np.ndarray
    products: np.ndarray
    length: np.ndarray
    promised: np.ndarray
    solved: np.ndarray


def directions(
    problem: Problem,
    A: np.ndarray,
    W: np.ndarray,
    found: Slopes,
    accuracy: float,
    most: np.ndarray,
    radius: np.ndarray,
    ties: Ties | None = None,
    exact: bool = False,
) -> Directions:
    """See :func:`bnmf_core.solvers.conjugate.newton_direction`; A (m, R, D), W (m, R, N).

    ``exact`` : with the Hessian of X itself where X has been compressed.
    """
    m = A.shape[0]
    none = np.empty((0, 0))
    index = np.empty(0, dtype=np.int32)
    starts, places, values, seen, whole = index, index, np.empty(0), none, none
    if problem.seen is not None:
        Ut, Vt, seen = np.empty((0, A.shape[2])), np.empty((0, W.shape[2])), problem.seen
    elif exact and problem.compression_rank is not None:
        shape = problem.dataset.D, problem.dataset.N
        Ut, Vt = (in_lines(np.empty((0, n), dtype=np.float32)) for n in shape)
        if problem.dataset.is_sparse:
            X = sparse.csc_array(problem.dataset.X)
            starts, places, values = X.indptr, X.indices, X.data
        else:
            whole = np.zeros((Ut.shape[1], Vt.shape[1]), dtype=np.float32)
            whole[: shape[0], : shape[1]] = dense(problem.dataset.X)
    else:
        Ut, Vt = problem.reduced
    kind = Ut.dtype
    seen, whole = seen.astype(kind, copy=False), whole.astype(kind, copy=False)
    numbers = np.empty(m, np.int64), np.empty(m), np.empty(m), np.empty(m, bool)
    result = Directions(np.empty(A.shape), np.empty(W.shape), *numbers)
    D, N = A.shape[2], W.shape[2]
    for p in range(m):
        (
            towards_A,
            towards_W,
            result.products[p],
            result.length[p],
            result.promised[p],
            result.solved[p],
        ) = newton_direction(
            Ut,
            Vt,
            starts,
            places,
            values,
            whole,
            seen,
            found.residual[p].astype(kind),
            _as_wide_as(Ut, A[p]),
            _as_wide_as(Vt, W[p]),
            found.gram_A[p].astype(kind),
            found.gram_W[p].astype(kind),
            _as_wide_as(Ut, found.A[p]),
            _as_wide_as(Vt, found.W[p]),
            accuracy,
            most[p],
            radius[p],
            -1 if ties is None else int(ties.component[p]),
            -1 if ties is None else int(ties.entry[p]),
            0.0 if ties is None else float(ties.odds[p]),
        )
        result.A[p], result.W[p] = towards_A[:, :D], towards_W[:, :N]
    return result


def accurate(
    problem: Problem,
    A: np.ndarray,
    W: np.ndarray,
    found: Slopes,
    most: np.ndarray,
    radius: np.ndarray,
    ties: Ties | None,
) -> Directions:
    """Directions near the minimum, as good as they get.

    What compression leaves out of X makes another minimum of the quadratic, or none. A sparse X is
    not told much of by few components; of a dense one a product takes long, and so it is asked for
    where there seems to be no minimum.
    """
    data = problem.dataset
    arguments = problem, A, W, found, NEAR_ACCURACY, most, radius, ties
    towards = directions(*arguments, exact=data.is_sparse)
    left = np.flatnonzero(~towards.solved & np.isinf(radius) & (towards.products < most))
    if left.size and not data.is_sparse and data.D * data.N <= WHOLE_ENTRIES:
        again = directions(
            problem,
            A[left],
            W[left],
            of(found, left),
            NEAR_ACCURACY,
            most[left] - towards.products[left],
            radius[left],
            None if ties is None else ties.of(left),
            exact=True,
        )
        again.products[:] += towards.products[left]
        for name, part in vars(again).items():
            getattr(towards, name)[left] = part
    return towards


def _as_wide_as(rows: np.ndarray, F: np.ndarray) -> np.ndarray:
    """F (R, n) in the precision of rows (K, n or more), with zeros where these go on."""
    wide = np.zeros((F.shape[0], rows.shape[1]), rows.dtype)
    wide[:, : F.shape[1]] = F
    return wide


def of(found: Slopes, index: np.ndarray) -> Slopes:
    """Derivatives of some of the factorizations."""
    return Slopes(**{name: part[index] for name, part in vars(found).items()})


def part(towards: Directions, index: np.ndarray) -> Directions:
    """Directions of some of the factorizations."""
    return Directions(**{name: part[index] for name, part in vars(towards).items()})
