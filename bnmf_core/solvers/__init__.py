"""Solvers: a start in, an NMF out, many particles side by side. One file each, one line here."""

import numpy as np

from bnmf_core.core.problem import Problem
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.solvers import (
    coordinate_descent,
    full,
    hals,
    newton,
    projected_gradient,
    second_order,
)
from bnmf_core.solvers.solution import Solution, Solver

SOLVERS: dict[str, Solver] = {
    solver.key: solver
    for solver in (
        hals.SOLVER,
        projected_gradient.SOLVER,
        full.SOLVER,
        coordinate_descent.SOLVER,
        second_order.SOLVER,
    )
}


def usual_solver(problem: Problem) -> Solver:
    """The first solver that makes the problem's loss small: the fastest one."""
    return next(solver for solver in SOLVERS.values() if solver.serves(problem.loss))


def certificate(problem: Problem, solution: Solution) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """KKT residual, movement and gain (m,) of a solution, measured where it does not say them."""
    if problem.loss is SQUARED_ERROR:
        return newton.with_unmeasured(problem, solution)
    return solution.kkt, solution.movement, solution.gain
