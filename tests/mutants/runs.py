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
    Mutant(
        "jobs: a lane has no end",
        "jobs/scheduler.py",
        "return alone or places < lane.at_once",
        "return True",
        "tests/jobs/test_scheduler.py",
    ),
    Mutant(
        "jobs: who has most running is next",
        "jobs/scheduler.py",
        "running = sum(other.lane == lane for other in self._of(entry.owner))",
        "running = -sum(other.lane == lane for other in self._of(entry.owner))",
        "tests/jobs/test_scheduler.py",
    ),
    Mutant(
        "jobs: what nobody watches gives way to nobody",
        "jobs/scheduler.py",
        "self.lanes[e.in_lane].yields and self._watched(e) for e",
        "False for e",
        "tests/jobs/test_scheduler.py",
    ),
    Mutant(
        "jobs: twins are made side by side",
        "jobs/scheduler.py",
        "or any(twin.lane for twin in self._twins(entry))",
        "",
        "tests/jobs/test_scheduler.py",
    ),
    Mutant(
        "jobs: results of data that people bring are shared",
        "analysis/jobs.py",
        "limits.share_results or is_public(comparison.dataset)",
        "limits.share_results or True",
        "tests/analysis/test_equal_comparisons.py",
    ),
    Mutant(
        "jobs: a result is shared whatever was made of the same factors",
        "core/particles.py",
        "for array in timeless.values():",
        "for array in (self.A, self.W):",
        "tests/analysis/test_equal_comparisons.py",
    ),
    Mutant(
        "jobs: what was stored before counts as made now",
        "jobs/scheduler.py",
        "made = (part - first) / (1 - first) if first < 1 else 1.0",
        "made = part",
        "tests/jobs/test_scheduler.py",
    ),
    Mutant(
        "jobs: a heavier run has no more turns",
        "jobs/threads.py",
        "1.0 / weight, owner",
        "1.0, owner",
        "tests/jobs/test_threads.py",
    ),
)
