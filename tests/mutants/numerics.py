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
    Mutant(
        "Gibbs: chains that are swept in parts all get the first part's",
        "samplers/gibbs.py",
        "swept = [_sweep(problem, A[part], W[part], rng, variance) for part in parts]",
        "swept = [_sweep(problem, A[parts[0]], W[parts[0]], rng, variance) for part in parts]",
        "tests/algorithms/test_gibbs.py -k one_after",
    ),
)
