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
        "divergence: the Hessian of stored entries without the slope's own part",
        "numerics/divergence.py",
        "_spread(places, first, count, y, moved_F, moved_G[j], along_F, along_G[j])",
        "_spread(places, first, 0, y, moved_F, moved_G[j], along_F, along_G[j])",
        "tests/likelihoods/test_losses.py",
    ),
)
