"""Mistakes to plant in ``bnmf_core/analysis``."""

from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "analysis: what another version stored is taken for ours",
        "analysis/stage.py",
        "decides = (self.version, distances,",
        "decides = (0, distances,",
        "tests/analysis/test_jobs.py",
    ),
    Mutant(
        "weights: members evenly spaced whatever they weigh",
        "analysis/comparison.py",
        "if np.ptp(weights) <= 1e-12 * weights.max():",
        "if np.ptp(weights) <= 1e12 * weights.max():",
        "tests/runs/test_weights.py",
    ),
)
