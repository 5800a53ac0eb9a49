"""Mistakes to plant in ``bnmf_core/runs``."""

from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "resume: draws are counted from 0 at every step",
        "runs/engine.py",
        "state, draws = checkpoint.state, dict(checkpoint.draws)",
        "state, draws = checkpoint.state, {}",
        "tests/runs/test_engine.py",
    ),
    Mutant(
        "resume: the generator begins again",
        "runs/engine.py",
        "rng = restore_generator(checkpoint.generator)",
        "rng = shard.generator()",
        "tests/algorithms/test_contract.py -k resuming",
    ),
)
