"""Mistakes to plant in ``bnmf_core/numerics``."""

from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "populations: one that outweighs the others counts",
        "numerics/populations.py",
        "if effective < 2:",
        "if effective < 1:",
        "tests/runs/test_weights.py",
    ),
)
