"""Mistakes to plant in ``bnmf_core/solvers``."""

from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "kkt: an entry that wants to grow from zero is overlooked",
        "solvers/stationarity.py",
        "        np.minimum(F, np.divide(",
        "        F * np.minimum(F, np.divide(",
        "tests/solvers/test_convergence.py",
    ),
    Mutant(
        "kkt: lengths are not balanced",
        "solvers/stationarity.py",
        "far = (far_A * size_W + size_A * far_W).sum(axis=1)",
        "far = (far_A + far_W).sum(axis=1)",
        "tests/solvers/test_convergence.py",
    ),
    Mutant(
        "movement: a hundredth of the way that is left",
        "solvers/newton.py",
        "CAUTION = 3.0",
        "CAUTION = 0.03",
        "tests/solvers/test_convergence.py",
    ),
    Mutant(
        "movement: the Hessian without the coupling of A and W",
        "solvers/conjugate.py",
        "left[r, R + s] = inner[r, s] + inner[s, r]",
        "left[r, R + s] = 0.0",
        "tests/solvers/test_convergence.py",
    ),
    Mutant(
        "movement: a thousandth of the way that is left, on a small X",
        "solvers/projection.py",
        "CAUTION = 30.0",
        "CAUTION = 0.03",
        "tests/solvers/test_projection.py",
    ),
    Mutant(
        "movement: the other factor does not answer, on a small X",
        "solvers/projection.py",
        "second = taken.T @ taken",
        "second = 0.0 * (taken.T @ taken)",
        "tests/solvers/test_projection.py",
    ),
    Mutant(
        "movement: a bounded minimum that forgets to let go of zeros",
        "solvers/reduced.py",
        "now = slope[q] > 0.0 if held[q]",
        "now = held[q] if held[q]",
        "tests/solvers/test_projection.py",
    ),
    Mutant(
        "movement: columns of a long X with other zeros are taken for one another",
        "solvers/long_view.py",
        "each = blocks[kind]",
        "each = blocks[0 * kind]",
        "tests/solvers/test_long_view.py",
    ),
    Mutant(
        "residual: where any way left is allowed, none is",
        "solvers/solution.py",
        "(self.by_residual | arrived)",
        "arrived",
        "tests/solvers/test_convergence.py",
    ),
    Mutant(
        "ties: the others do not carry the slope of the tied entry",
        "solvers/ties.py",
        "columns += (self.odds * tied)[:, None]",
        "columns += 0.0 * (self.odds * tied)[:, None]",
        "tests/solvers/test_held.py",
    ),
    Mutant(
        "held: the gradient of held components is not taken away",
        "solvers/stationarity.py",
        "        found.gram_W[:, held, held] = 0.0\n",
        "        pass\n",
        "tests/solvers/test_held.py",
    ),
    Mutant(
        "descent: what a component explains is taken off its own share",
        "solvers/kernels.py",
        "if k == r or k >= G.shape[0] else",
        "if k >= G.shape[0] else",
        "tests/solvers/test_kernels.py",
    ),
)
