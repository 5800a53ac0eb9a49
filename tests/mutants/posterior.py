"""Mistakes to plant in ``bnmf_core/posterior``."""

from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "Stein: the trace counts one dimension less",
        "posterior/stein.py",
        "across - dimension - 2.0",
        "across - (dimension - 1) - 2.0",
        "tests/posterior/test_stein.py",
    ),
    Mutant(
        "Stein: weights need not sum to one before scaling",
        "posterior/weights.py",
        "[scale @ z == 1]",
        "[z.sum() == 1]",
        "tests/posterior/test_weights.py",
    ),
)
