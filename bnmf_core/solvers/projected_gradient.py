"""Alternating projected gradients (Lin 2007), the solver of papers 1 and 2."""

import numpy as np

from bnmf_core.nouns.problem import Problem
from bnmf_core.solvers.full import full_solver
from bnmf_core.solvers.kernels import projected_gradient
from bnmf_core.solvers.solution import product_work

# Projected gradient steps on one factor before the other one has its turn.
INNER = 5


def _descend(F: np.ndarray, linear: np.ndarray, G: np.ndarray, step: np.ndarray) -> np.ndarray:
    projected_gradient(F, np.ascontiguousarray(linear), G, step, INNER)
    return F


def work_per_iteration(problem: Problem) -> float:
    """Multiply-adds of one iteration of one particle; about three trials per gradient step."""
    length = problem.dataset.D + problem.dataset.N
    return product_work(problem) + 4.0 * INNER * problem.rank * length * (problem.rank + 20.0)


SOLVER = full_solver(
    _descend,
    work_per_iteration,
    key="projected_gradient",
    label="Projected gradient",
    reference="Lin 2007",
)
