"""Ctrl-C, and runs that another process makes."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from bnmf_core.core.spec import RunSpec
from bnmf_core.runs import engine
from bnmf_core.runs.runner import JobRunner
from tests.cli.conftest import ROOT, wait_for_progress
from tests.same import assert_same


@pytest.mark.slow
def test_a_run_of_another_process_is_cancelled_from_here(command, home, small):
    """As by the dashboard's button, while the terminal works."""
    dataset_id = home.add_dataset(small)
    other = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "bnmf_core",
            "run",
            dataset_id,
            "--rank",
            "3",
            "--algorithm",
            "gibbs",
            "--particles",
            "500000",
            "--store",
            str(home.root),
        ],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    runner = JobRunner(home)
    try:
        record = wait_for_progress(home, other)
        runner.cancel(record.id)
        assert other.wait(20) == 130
        assert home.run(record.id).status == "cancelled"
    finally:
        other.kill()
        other.communicate()
        runner.close()


@pytest.mark.slow
def test_an_interrupted_run_keeps_what_it_made_and_is_resumed_to_the_same_bits(
    command, ask, home, small
):
    dataset_id = home.add_dataset(small)
    spec = RunSpec("gibbs", 3, particles=30_000, seed=3, settings={"thinning": 1})
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "bnmf_core",
            "run",
            dataset_id,
            "--rank",
            "3",
            "--seed",
            "3",
            "--algorithm",
            "gibbs",
            "--particles",
            "30000",
            "--set",
            "thinning=1",
            "--json",
            "--store",
            str(home.root),
        ],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_for_progress(home, process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == 130, err
    (run,) = json.loads(out)["runs"]
    assert run["status"] == "cancelled" and 20 <= run["done"] < 30_000
    expected = engine.run(small, spec)
    part = home.particles(run["id"])
    assert part.M == run["done"]
    assert_same(part, expected.subset(part.ids))
    (again,) = ask("resume", run["id"])["runs"]
    assert (again["status"], again["done"]) == ("complete", 30_000)
    assert_same(home.particles(run["id"]), expected)
    code, _, err = command("resume", run["id"])
    assert code == 1 and "nothing to resume" in err


def test_ctrl_c_in_this_process_cancels_and_gives_the_signal_back(command, home):
    before = signal.getsignal(signal.SIGINT)

    def press():
        while not any(run.done for run in home.runs()):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    presser = threading.Thread(target=press, daemon=True)
    presser.start()
    code, out, _ = command(
        "run", "laurberg_two", "--rank", "3", "--particles", "500000", "--algorithm", "gibbs"
    )
    presser.join()
    assert code == 130 and "cancelled" in out
    assert signal.getsignal(signal.SIGINT) is before
