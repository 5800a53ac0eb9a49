"""Distance of a factorization over blocks from its optimum, by a Newton direction.

The slope is that of all observations, and the Hessian that of the sample, times N/S: sub-sampled
Newton (Roosta-Khorasani & Mahoney 2019). Where passes crawl along a valley, the direction leads
along it, and says how much is left.
"""

import time
from dataclasses import dataclass

import numpy as np

from bnmf_core.core.objective import MaximumLikelihood
from bnmf_core.core.problem import Problem
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.solvers.flat_view import FlatView
from bnmf_core.solvers.second_order import SURE, SURE_PRODUCTS, newton_direction


@dataclass(frozen=True, eq=False)
class NewtonStep:
    """Result of a Newton step.

    A : (R, D) bases. promised : by how much the loss falls. length : in the norm of the curvatures.
    solved : whether the step leads to the minimum of the quadratic.
    """

    A: np.ndarray
    promised: float
    length: float
    solved: bool


def towards(
    problem: Problem, A: np.ndarray, W: np.ndarray, slope: np.ndarray, part: float
) -> tuple[NewtonStep, float]:
    """A Newton step from A (R, D), and the seconds that it took.

    W : (R, S), the best weights of the sample. slope : (R, D), the derivative of the loss of all
    observations. part : S/N, of all observations the part that is in the sample.
    """
    began = time.thread_time()
    with one_blas_thread():
        data, R = problem.dataset, problem.rank
        view = FlatView(MaximumLikelihood(problem), data.D, R, data.N, None, None)
        balanced, weights = view.balanced(A.T[None], W[None])
        length = np.linalg.norm(A, axis=1)
        factor = np.divide(
            np.linalg.norm(balanced[0], axis=0), length, out=np.ones(R), where=length > 0
        )
        x = view.joined(balanced, weights)
        _, g, c = view.slopes(x)
        _, of_W = view.split(g)
        g = view.joined((part * slope / factor[:, None]).T[None], of_W)
        most, anywhere = np.array([SURE_PRODUCTS]), np.full(1, np.inf)
        found = newton_direction(view, x, g, c, anywhere, SURE, most)
        after, _ = view.split(view.moved(x, found.d))
    promised, length = float(found.promised[0]) / part, float(found.length[0])
    bases = np.ascontiguousarray(after[0].T)
    step = NewtonStep(bases, promised, length, bool(found.solved[0]))
    return step, time.thread_time() - began
