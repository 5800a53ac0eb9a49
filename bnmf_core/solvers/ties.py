"""One entry of a component tied to its other entries, while all else is solved for.

A component has no scale of its own, so what can be held of one entry is its share of the
component's sum, v = A_dr / Σ_i A_ir. That is a linear condition on the column, whatever its scale:

    A_dr = o · Σ_{i ≠ d} A_ir,   o = v / (1 − v), the odds.

The tied entry is then no unknown: it follows the others of its column, and each of these carries o
times the slope of the tied one beside its own. Newton's method (``newton``) uses that.
"""

from dataclasses import dataclass

import numpy as np

from bnmf_core.core.problem import Problem
from bnmf_core.solvers.solution import Solution, start_full
from bnmf_core.solvers.stationarity import Slopes


@dataclass(frozen=True, eq=False)
class Ties:
    """The tied entry of each of m factorizations: component, entry (m,) int and odds (m,) ≥ 0."""

    component: np.ndarray
    entry: np.ndarray
    odds: np.ndarray

    def of(self, index: np.ndarray) -> "Ties":
        """Ties of some of the factorizations."""
        return Ties(self.component[index], self.entry[index], self.odds[index])

    def imposed(self, A: np.ndarray) -> np.ndarray:
        """A (m, R, D) with the tied entry of each where the others of its column put it.

        A column that has no other entry gets even ones, so that it keeps its sum.
        """
        A, all_of, D = A.copy(), np.arange(A.shape[0]), A.shape[2]
        columns = A[all_of, self.component]
        tied = columns[all_of, self.entry].copy()
        columns[all_of, self.entry] = 0.0
        alone = (columns.sum(axis=1) <= 0.0) & (tied > 0.0)
        if alone.any() and D > 1:
            even = tied / (1.0 + self.odds) / (D - 1)
            columns[alone] = even[alone, None]
            columns[all_of, self.entry] = 0.0
        columns[all_of, self.entry] = self.odds * columns.sum(axis=1)
        A[all_of, self.component] = columns
        return A

    def carried(self, found: Slopes) -> None:
        """Give the slope of each tied entry to the others of its column, in place."""
        all_of = np.arange(self.entry.size)
        columns = found.A[all_of, self.component]
        tied = columns[all_of, self.entry].copy()
        columns += (self.odds * tied)[:, None]
        columns[all_of, self.entry] = 0.0
        found.A[all_of, self.component] = columns

    def without(self, gram_W: np.ndarray) -> np.ndarray:
        """Gram matrices (m, R, R) with which descent over A leaves the tied columns alone."""
        gram_W, all_of = gram_W.copy(), np.arange(self.entry.size)
        gram_W[all_of, self.component, self.component] = 0.0
        return gram_W


@dataclass(frozen=True)
class TiedSolution(Solution):
    """Factorizations being solved with one entry of each tied; ``ties`` says which."""

    ties: Ties


def start_tied(problem: Problem, A: np.ndarray, W: np.ndarray, ties: Ties) -> TiedSolution:
    """Set out from A (m, D, R) and W (m, R, N), the entries where ``ties`` want them."""
    imposed = ties.imposed(np.ascontiguousarray(A.transpose(0, 2, 1)))
    plain = start_full(problem, imposed.transpose(0, 2, 1), W)
    # Newton's method trusts any step at first, and knows of no step before.
    boundless = {name: np.full(A.shape[0], np.inf) for name in ("step", "limit")}
    return TiedSolution(**vars(plain) | boundless, ties=ties)
