"""Solvers: a start in, an NMF out, many particles side by side. One file each, one line here."""

from bnmf_core.solvers import full, hals, projected_gradient
from bnmf_core.solvers.solution import Solver

SOLVERS: dict[str, Solver] = {
    solver.key: solver for solver in (hals.SOLVER, projected_gradient.SOLVER, full.SOLVER)
}
