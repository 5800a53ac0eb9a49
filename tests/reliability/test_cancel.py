"""Whoever cancels a run has it stopped soon, whatever it is at."""

import time
from dataclasses import fields

import numpy as np
import pytest

from bnmf_core import JobRunner, RunSpec, RunStore
from bnmf_core.data.synthetic import low_rank
from bnmf_core.registry import ALGORITHMS
from tests.suited import model_of, suited

# A run that is cancelled ends, at the latest, after so many seconds, on a machine that is busy.
LATEST = 30.0
THINNED = 100
DATA = low_rank(300, 400, 8, noise=0.05, rng=np.random.default_rng(0))


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    found = JobRunner(RunStore(tmp_path_factory.mktemp("cancel")))
    yield found
    found.close()


@pytest.mark.long
@pytest.mark.parametrize("key", sorted(ALGORITHMS))
def test_a_run_is_cancelled(key, runner, promise):
    model = model_of(key)
    # Chains that are so fast that they would have ended keep one state in many.
    thins = any(field.name == "thinning" for field in fields(ALGORITHMS[key].Settings))
    settings = {"thinning": THINNED} if thins else {}
    spec = RunSpec(key, rank=8, model=model, particles=200, settings=settings)
    (run_id,) = runner.start(suited(DATA, model), [spec])
    end = time.monotonic() + 120
    while runner.store.run(run_id).status == "queued":
        assert time.monotonic() < end
        time.sleep(0.01)
    time.sleep(1.0)
    asked = time.monotonic()
    runner.cancel(run_id)
    while runner.store.run(run_id).active:
        assert time.monotonic() - asked < LATEST
        time.sleep(0.005)
    run = runner.store.run(run_id)
    took = "had ended" if run.status == "complete" else f"{time.monotonic() - asked:.2f} s"
    assert run.status in ("cancelled", "complete")
    promise(f"cancel {key} (300 × 400, rank 8): {took}")
