"""The compose file: who can be reached, who sees the data, and that its commands make a cluster.

No container is made here, as that needs an engine; the commands are started as processes.
"""

import socket
import subprocess
import sys
import time
from contextlib import ExitStack

import numpy as np
import pytest
import yaml

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import SchedulerError
from bnmf_core.core.spec import RunSpec
from bnmf_core.runs import engine
from bnmf_core.runs.executors import open_executor
from tests.browser.conftest import ROOT
from tests.same import assert_same

SERVICES = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())["services"]


def mounts(service):
    bound = [one for one in SERVICES[service].get("volumes", []) if isinstance(one, dict)]
    return {(one["source"], one["target"], one["read_only"]) for one in bound}


def test_only_the_app_can_be_reached_and_from_this_machine_alone():
    assert SERVICES["app"]["ports"] == ["127.0.0.1:8501:8501"]
    for name in ("scheduler", "worker"):
        assert "ports" not in SERVICES[name] and SERVICES[name]["networks"] == ["inside"]


def test_workers_and_the_app_see_the_same_data_and_cannot_change_them():
    assert mounts("app") == mounts("worker")
    ((_, target, read_only),) = mounts("app")
    assert read_only and SERVICES["app"]["environment"]["BNMF_FOLDERS"] == target


def test_the_app_knows_the_scheduler_that_workers_go_to():
    address = SERVICES["app"]["environment"]["BNMF_SCHEDULER"]
    assert address in SERVICES["worker"]["entrypoint"]
    assert SERVICES["scheduler"]["entrypoint"][-2] == address.rpartition(":")[2]


def test_the_image_has_dask_and_zarr():
    shipped = (ROOT / "deploy" / "Containerfile").read_text()
    needed = (ROOT / "requirements-cluster.txt").read_text()
    assert "-r requirements-cluster.txt" in shipped and "dask" in needed and "zarr" in needed


@pytest.mark.slow
def test_its_commands_make_a_cluster_that_makes_a_run_over_blocks(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    place = {
        "0.0.0.0": "127.0.0.1",
        "8786": port,
        "tcp://scheduler:8786": f"tcp://127.0.0.1:{port}",
    }
    place |= {"python": sys.executable, "/tmp": str(tmp_path)}
    X = np.random.default_rng(0).random((3000, 20))
    np.save(tmp_path / "cells.npy", X)
    data = Dataset.from_blocks(tmp_path / "cells.npy", sample=200, block_bytes=20 * 8 * 500)
    spec = RunSpec("random_restarts", 3, particles=3)
    with ExitStack() as stack:
        for name in ("scheduler", "worker"):
            command = [place.get(word, word) for word in SERVICES[name]["entrypoint"]]
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            process = stack.enter_context(subprocess.Popen(command, cwd=ROOT, **quiet))
            stack.callback(process.terminate)
        end = time.monotonic() + 60
        while True:
            try:
                executor = open_executor(f"tcp://127.0.0.1:{port}")
                break
            except SchedulerError:
                assert time.monotonic() < end
                time.sleep(0.2)
        with executor:
            assert_same(engine.run(data, spec, executor=executor), engine.run(data, spec))
