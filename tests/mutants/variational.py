"""Mistakes to plant in ``bnmf_core/variational``."""

from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "online inference: joins whatever it gains",
        "variational/online.py",
        "    if gain < tolerance:\n",
        "    if gain < -np.inf:\n",
        "tests/variational",
    ),
    Mutant(
        "online inference: the heaviest leaves first",
        "variational/online.py",
        "[cheap].argmin()",
        "[cheap].argmax()",
        "tests/variational",
    ),
)
