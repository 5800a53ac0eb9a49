"""Mistakes to plant in ``bnmf_core/findings``."""

from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "findings: a sentence counts modes from 0",
        "findings/facts.py",
        'return named or f"mode {modes[0]}"',
        'return named or f"mode {modes[0] - 1}"',
        "tests/findings/test_modes.py",
    ),
    Mutant(
        "findings: a winner at one likelihood power wins at all",
        "findings/modes.py",
        "still = still and found == winner",
        "still = still or found == winner",
        "tests/findings/test_modes.py",
    ),
    Mutant(
        "findings: a component that draws turn far is determined",
        "findings/components.py",
        "if not agreed or turned > SAME_MODE:",
        "if not agreed:",
        "tests/findings/test_verdicts.py",
    ),
    Mutant(
        "findings: components turn by what a mode without mass does",
        "findings/spreads.py",
        "return mass, largest_mass(table) >= LITTLE",
        "return mass, largest_mass(table) >= 0",
        "tests/findings/test_spreads.py",
    ),
    Mutant(
        "regrouped: groups of resamples by the numbers of the member",
        "findings/regrouped.py",
        "np.argsort(matching(comparison.bases([found.row]), A)[0])",
        "np.arange(A.shape[1])",
        "tests/findings/test_regrouped.py",
    ),
    Mutant(
        "regrouped: draws of chains that have not settled",
        "findings/regrouped.py",
        "verdicts.by_run.values() if v.settled]",
        "verdicts.by_run.values()]",
        "tests/findings/test_regrouped.py",
    ),
)
