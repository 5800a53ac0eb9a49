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
    Mutant(
        "products: the last strip of a packed matrix is left out",
        "numerics/packed_products.py",
        "        if not fits:\n",
        "        if not fits and t == 0:\n",
        "tests/numerics/test_packed_products.py",
    ),
)
