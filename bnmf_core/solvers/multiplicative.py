"""Multiplicative updates (Lee & Seung 2001): simple, monotone, slow near the end."""

import numpy as np

from bnmf_core.problem import Problem
from bnmf_core.solvers.solution import (
    Solution,
    Solver,
    Stopping,
    advance_full,
    product_work,
    start_full,
)

# Where the product falls below this the quotient could overflow; such an entry is left alone.
TINY = 1e-150


def advance(problem: Problem, solution: Solution, stopping: Stopping) -> Solution:
    """Run one bounded step; particles that have settled are left as they are."""
    return advance_full(problem, solution, stopping, work_per_iteration(problem), _multiply)


def _multiply(F: np.ndarray, linear: np.ndarray, G: np.ndarray, step: np.ndarray) -> np.ndarray:
    product = G @ F
    return F * np.divide(linear, product, out=np.ones_like(F), where=product > TINY)


def work_per_iteration(problem: Problem) -> float:
    """Multiply-adds of one iteration of one particle."""
    length = problem.dataset.D + problem.dataset.N
    return product_work(problem) + problem.rank * length * (problem.rank + 30.0)


SOLVER = Solver(
    key="multiplicative",
    label="Multiplicative updates",
    reference="Lee & Seung 2001",
    start=start_full,
    advance=advance,
    work=lambda problem, typical: typical * work_per_iteration(problem),
)
