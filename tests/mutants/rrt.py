"""Mistakes to plant in ``bnmf_core/rrt``."""

from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "online inference: joins whatever it gains",
        "rrt/online.py",
        "    if gain < tolerance:\n",
        "    if gain < -np.inf:\n",
        "tests/rrt/test_online.py tests/rrt/test_ascent.py tests/rrt/test_mixture.py",
    ),
    Mutant(
        "online inference: the heaviest leaves first",
        "rrt/online.py",
        "[cheap].argmin()",
        "[cheap].argmax()",
        "tests/rrt/test_online.py tests/rrt/test_ascent.py tests/rrt/test_mixture.py",
    ),
)
