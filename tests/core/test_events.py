"""Events for an operator: what happened to which run, and nothing that people have brought."""

import io
import json
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest

from bnmf_core import Dataset, JobRunner, RunSpec, RunStore
from bnmf_core.core import events
from bnmf_core.core.errors import BNMFError


@pytest.fixture
def told(monkeypatch):
    """What is written, as lines; the program's own way of writing is put back afterwards."""
    kept, level, passed = list(events.LOG.handlers), events.LOG.level, events.LOG.propagate
    events.LOG.handlers.clear()
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    events.to_standard_error()
    events.to_standard_error()  # the second time changes nothing
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    events.LOG.handlers[:] = kept
    events.LOG.setLevel(level)
    events.LOG.propagate = passed


def test_a_run_is_told_from_queue_to_end_without_what_is_its_owners(told, tmp_path):
    X = np.random.default_rng(0).random((6, 8))
    dataset = Dataset.from_array(X, name="Secret", features=[f"secret{d}" for d in range(6)])
    with closing(JobRunner(RunStore(tmp_path / "secret"))) as runner:
        spec = RunSpec("random_restarts", rank=2, particles=3)
        (run_id,) = runner.start(dataset, [spec], ["secret run"], launch_name="secret launch")
        runner.wait_analysis([run_id], "structure")
        with pytest.raises(BNMFError):
            runner.start(dataset, [RunSpec("random_restarts", rank=99, particles=3)])
    lines = told()
    assert [line["event"] for line in lines] == ["queued", "begun", "ended", "refused"]
    assert lines[0] | {"run": run_id, "rank": 2, "particles": 3, "D": 6, "N": 8} == lines[0]
    assert lines[2]["status"] == "complete" and lines[3]["what"] == "runs"
    assert all(line["time"].endswith("+00:00") for line in lines)
    assert "ecret" not in json.dumps(lines)


def test_a_program_that_is_no_server_writes_nothing():
    program = "from bnmf_core.core import events; events.tell('queued', run='r')"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert finished.stdout == finished.stderr == b""
