"""Problems solved from random starts."""

import numpy as np

from bnmf_core.solvers import second_order
from bnmf_core.solvers.solution import Stopping, random_start

USUAL = Stopping(10_000, None)


def started(problem, count, seed=0):
    rng = np.random.default_rng(seed)
    pairs = [random_start(problem.dataset, problem.rank, rng) for _ in range(count)]
    return np.stack([A for A, _ in pairs]), np.stack([W for _, W in pairs])


def solved(problem, A, W, stopping=USUAL, solver=second_order.SOLVER):
    state = solver.start(problem, A, W)
    while state.active.any():
        state = solver.advance(problem, state, stopping)
    return state
