"""Mistakes to plant in ``bnmf_core/probability``."""

from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "SILF: the bend is half as wide",
        "probability/silf.py",
        "(bend / (4 * beta * epsilon))",
        "(bend / (2 * beta * epsilon))",
        "tests/algorithms/test_silf.py",
    ),
    Mutant(
        "SILF: the slope begins at ε",
        "probability/silf.py",
        "return np.clip((y - (1 - beta) * epsilon) / (2 * beta * epsilon), 0.0, 1.0)",
        "return np.clip((y - epsilon) / (2 * beta * epsilon), 0.0, 1.0)",
        "tests/algorithms/test_silf.py",
    ),
)
