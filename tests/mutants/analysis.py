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
    Mutant(
        "resampling: a component that has vanished has not turned",
        "analysis/resampling.py",
        "return np.where(vanished[order[0]], LOST, angles), converged",
        "return np.where(vanished[order[0]], 0.0, angles), converged",
        "tests/analysis/test_resampling.py",
    ),
    Mutant(
        "resampling: the last samples are left out",
        "analysis/resampling.py",
        "chosen = np.sort(rng.permutation(dataset.N)[: retained_count(dataset.N)])",
        "chosen = np.arange(retained_count(dataset.N))",
        "tests/analysis/test_resampling.py",
    ),
)
