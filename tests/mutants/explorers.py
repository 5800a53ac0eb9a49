"""Mistakes to plant in ``bnmf_core/explorers``."""

from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "RRT: the farthest node moves",
        "rrt/tree.py",
        "parent = oblique.nearest(self.nodes.Q, target)",
        "parent = oblique.nearest(self.nodes.Q, -target)",
        "tests/rrt/test_rrt.py",
    ),
    Mutant(
        "RRT: a node may lie beside another",
        "rrt/tree.py",
        ".min() < angle:",
        ".min() < 0 * angle:",
        "tests/rrt/test_rrt.py",
    ),
    Mutant(
        "RRT: the threshold is the poorest projected start",
        "rrt/rrt.py",
        "threshold = poorest - settings.allowance",
        "threshold = quality.min() - settings.allowance",
        "tests/rrt/test_rrt.py",
    ),
)
