"""What is lost during a run over blocks costs time, or is named; the result has the same bits."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError, StoreError
from bnmf_core.core.spec import RunSpec
from bnmf_core.runs import engine
from bnmf_core.runs.runner import JobRunner
from bnmf_core.store.run_store import RunStore
from tests.blocks.arrays import in_blocks
from tests.runs.cluster import Cluster, wait_until
from tests.same import assert_same

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
CHAINS = {"chains": 2, "warm_up": 90, "thinning": 1}
SPECS = [
    RunSpec("random_restarts", 2, "poisson", particles=6, settings={"movement": 0.002}),
    RunSpec("gibbs", 4, particles=60, settings=CHAINS),
]
IDS = [spec.algorithm for spec in SPECS]


@pytest.fixture
def path(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.poisson(40 * rng.dirichlet(np.full(4, 0.3), 3000) @ rng.dirichlet(np.ones(60), 4))
    np.save(tmp_path / "cells.npy", X.astype(float))
    return tmp_path / "cells.npy"


@pytest.fixture
def data(path):
    return Dataset.from_blocks(path, sample=200, block_bytes=60 * 8 * 300)


@pytest.fixture
def opened(tmp_path):
    with closing(JobRunner(RunStore(tmp_path / "store"))) as runner:
        yield runner


def under_way(run) -> bool:
    """Whether some passes have been made, and another is."""
    found = re.search(r"(\d+): block", run.message)
    return run.status == "running" and found is not None and int(found[1]) > 2


@pytest.mark.parametrize("spec", SPECS, ids=IDS)
def test_a_cancelled_run_ends_soon_and_goes_on_with_the_same_bits(data, opened, spec):
    (run_id,) = opened.start(data, [spec])
    wait_until(lambda: under_way(opened.store.run(run_id)))
    began = time.monotonic()
    opened.cancel(run_id)
    opened.wait([run_id])
    assert time.monotonic() - began < 2
    assert opened.store.run(run_id).status == "cancelled"
    opened.resume(run_id)
    opened.wait([run_id])
    assert_same(opened.store.particles(run_id), engine.run(data, spec))


PROGRAM = """
import sys
from bnmf_core import JobRunner, RunStore
from bnmf_core.core.dataset import Dataset
from tests.blocks.test_faults import SPECS
runner = JobRunner(RunStore(sys.argv[1]))
data = Dataset.from_blocks(sys.argv[2], sample=200, block_bytes=60 * 8 * 300)
runner.wait(runner.start(data, [SPECS[int(sys.argv[3])]]))
"""


@pytest.mark.parametrize("number", range(len(SPECS)), ids=IDS)
def test_a_killed_program_goes_on_with_the_same_bits(data, path, tmp_path, number):
    folder = tmp_path / "killed"
    command = [sys.executable, "-c", PROGRAM, str(folder), str(path), str(number)]
    store = RunStore(folder)
    with subprocess.Popen(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": "."}) as process:
        wait_until(lambda: any(map(under_way, store.runs())), 60)
        process.send_signal(signal.SIGKILL)
    (run,) = store.runs()
    assert run.status == "interrupted"
    with closing(JobRunner(store)) as runner:
        runner.resume(run.id)
        runner.wait([run.id])
    assert store.run(run.id).status == "complete"
    assert_same(store.particles(run.id), engine.run(data, SPECS[number]))


@pytest.mark.parametrize("spec", SPECS, ids=IDS)
def test_a_worker_that_is_killed_during_a_pass_costs_nothing_but_time(
    data, opened, losable: Cluster, spec
):
    first, _ = losable.add_worker(), losable.add_worker()
    losable.open(threads=2).shutdown()
    (run_id,) = opened.start(data, [spec], scheduler=losable.address)
    wait_until(lambda: under_way(opened.store.run(run_id)))
    first.kill()
    opened.wait([run_id])
    assert opened.store.run(run_id).status == "complete"
    assert_same(opened.store.particles(run_id), engine.run(data, spec))


def test_a_lost_scheduler_interrupts_a_run_which_goes_on_here(data, opened, losable: Cluster):
    losable.add_worker()
    losable.open(threads=1).shutdown()
    (run_id,) = opened.start(data, [SPECS[0]], scheduler=losable.address)
    wait_until(lambda: under_way(opened.store.run(run_id)))
    losable.scheduler.kill()
    opened.wait([run_id])
    record = opened.store.run(run_id)
    assert record.status == "interrupted" and "was lost" in record.message
    opened.resume(run_id)
    opened.wait([run_id])
    assert_same(opened.store.particles(run_id), engine.run(data, SPECS[0]))


def test_a_store_that_is_written_again_during_a_run_is_named(data, path, opened):
    (run_id,) = opened.start(data, [SPECS[0]])
    wait_until(lambda: under_way(opened.store.run(run_id)))
    np.save(path, np.load(path) + 1.0)
    opened.wait([run_id])
    record = opened.store.run(run_id)
    assert record.status == "failed"
    assert "of cells.npy was not read, because the store was changed" in record.message


def test_a_file_that_is_gone_for_a_while_can_be_put_back(data, path, opened):
    (run_id,) = opened.start(data, [SPECS[0]])
    wait_until(lambda: under_way(opened.store.run(run_id)))
    path.rename(path.with_suffix(".away"))
    opened.wait([run_id])
    record = opened.store.run(run_id)
    assert record.status == "failed" and "put it back" in record.message
    path.with_suffix(".away").rename(path)
    opened.resume(run_id)
    opened.wait([run_id])
    assert_same(opened.store.particles(run_id), engine.run(data, SPECS[0]))


NAMED = r"Block 5 \(observations 1,201 to 1,500\) of cells.npy holds a value that is not a number"


def test_a_block_of_nan_ends_the_run_and_is_named(path, tmp_path, opened):
    X = np.load(path)
    X[1234, 5] = np.nan
    np.save(path, X)
    with pytest.raises(DataError, match=NAMED):
        Dataset.from_blocks(path, sample=200, block_bytes=60 * 8 * 300)
    data = Dataset.from_blocks(path, sample=2, seed=2, block_bytes=60 * 8 * 300)
    (run_id,) = opened.start(data, [SPECS[0]])
    opened.wait([run_id])
    record = opened.store.run(run_id)
    assert record.status == "failed" and re.search(NAMED, record.message)


def test_a_stored_dataset_opens_again_and_says_what_is_gone(data, path, opened):
    opened.store.add_dataset(data)
    again = RunStore(opened.store.root).dataset(data.hash)
    assert again.whole.N == 3000 and again.hash == data.hash
    np.testing.assert_array_equal(again.whole.read(2), data.whole.read(2))
    path.unlink()
    lost = RunStore(opened.store.root).dataset(data.hash)
    np.testing.assert_array_equal(lost.X, data.X)
    (run_id,) = opened.start(lost, [SPECS[0]])
    opened.wait([run_id])
    assert "is no longer there or cannot be read" in opened.store.run(run_id).message


def test_blocks_in_no_file_cannot_be_stored(opened):
    X = np.ones((4, 30))
    with pytest.raises(StoreError, match="write them to a store"):
        opened.store.add_dataset(in_blocks(X, (0, 10, 30), [1, 2, 15], "memory"))
