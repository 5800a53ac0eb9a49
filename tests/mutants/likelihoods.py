"""Mistakes to plant in ``bnmf_core/likelihoods``."""

from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "SILF: the bend is half as wide",
        "likelihoods/silf.py",
        "(bend / (4 * beta * epsilon))",
        "(bend / (2 * beta * epsilon))",
        "tests/algorithms/test_silf.py",
    ),
    Mutant(
        "SILF: the slope begins at ε",
        "likelihoods/silf.py",
        "return np.clip((y - (1 - beta) * epsilon) / (2 * beta * epsilon), 0.0, 1.0)",
        "return np.clip((y - epsilon) / (2 * beta * epsilon), 0.0, 1.0)",
        "tests/algorithms/test_silf.py",
    ),
    Mutant(
        "Kullback–Leibler: a wrong slope",
        "numerics/divergence.py",
        "y[e] = -logs[e] if x > 0.0 else 0.0",
        "y[e] = -0.99 * logs[e] if x > 0.0 else 0.0",
        "tests/likelihoods/test_losses.py",
    ),
    Mutant(
        "Itakura–Saito: a wrong second derivative",
        "likelihoods/itakura_saito.py",
        "bend=lambda x, y: (2.0 * x / y - 1.0) / y**2,",
        "bend=lambda x, y: (2.0 * x / y + 1.0) / y**2,",
        "tests/likelihoods/test_losses.py",
    ),
    Mutant(
        "Kullback–Leibler: the constant forgets the factorials",
        "likelihoods/kullback_leibler.py",
        "(xlogy(x, x) - x - gammaln(x + 1.0)).sum()",
        "(xlogy(x, x) - x).sum()",
        "tests/likelihoods/test_losses.py",
    ),
    Mutant(
        "second order: a gain that was cut off counts as known",
        "solvers/second_order.py",
        "known = np.flatnonzero(sure.solved)",
        "known = np.arange(some.size)",
        "tests/solvers/test_second_order.py",
    ),
)
