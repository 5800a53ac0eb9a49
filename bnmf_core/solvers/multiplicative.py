"""Multiplicative updates (Lee & Seung 2001): simple, monotone, slow near the end.

With gaps in X they are A ← A ∘ (X Wᵀ)/((S ∘ AW) Wᵀ), S = 1 where X was seen, and the same for W
(paper 3, §7.3).
"""

import numpy as np

from bnmf_core.core.problem import Problem
from bnmf_core.solvers.full import full_solver
from bnmf_core.solvers.solution import product_work

# Where the product falls below this the quotient could overflow; such an entry is left alone.
TINY = 1e-150


def _multiply(F: np.ndarray, linear: np.ndarray, G: np.ndarray, step: np.ndarray) -> np.ndarray:
    product = G @ F if G.ndim == 3 else np.einsum("mrsn,msn->mrn", G, F)
    return F * np.divide(linear, product, out=np.ones_like(F), where=product > TINY)


def work_per_iteration(problem: Problem) -> float:
    """Multiply-adds of one iteration of one particle."""
    length = problem.dataset.D + problem.dataset.N
    return product_work(problem) + problem.rank * length * (problem.rank + 30.0)


SOLVER = full_solver(
    _multiply,
    work_per_iteration,
    key="multiplicative",
    label="Multiplicative updates",
    reference="Lee & Seung 2001",
)
