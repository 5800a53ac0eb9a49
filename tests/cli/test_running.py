"""Runs of the command line are those that Python makes."""

import json
import socket

import numpy as np
import pytest

from bnmf_core.cli import output, running
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.samples import SAMPLES, load_sample
from bnmf_core.data.synthetic import laurberg
from bnmf_core.runs import engine
from bnmf_core.runs.runner import JobRunner
from tests.cli.conftest import SMALL_RUN
from tests.same import assert_same


def test_a_run_is_the_one_that_python_makes(ask, home):
    told = ask(
        "run",
        "laurberg_two",
        "--data-set",
        "noise=0.001",
        "--data-seed",
        "7",
        "--algorithm",
        "gibbs",
        "--algorithm",
        "random_restarts",
        "--rank",
        "3",
        "--particles",
        "12",
        "--seed",
        "4",
        "--holdout",
        "0.2",
        "--name",
        "[bold]two[/bold]",
        "--set",
        "thinning=2",
        "--set",
        "gibbs.start=prior",
        "--set",
        "tolerance=1e-6",
        "--model-set",
        "rate=2",
        "--model-set",
        "sigma=none",
    )
    data = laurberg("two", noise=0.001, rng=np.random.default_rng(7))
    plain = {
        "rank": 3,
        "particles": 12,
        "seed": 4,
        "holdout": 0.2,
        "model_settings": {"rate": 2.0, "sigma": None},
    }
    specs = [
        RunSpec("gibbs", settings={"thinning": 2, "start": "prior"}, **plain),
        RunSpec("random_restarts", settings={"tolerance": 1e-6}, **plain),
    ]
    assert len(told["runs"]) == 2
    for run, spec in zip(told["runs"], specs, strict=True):
        record = home.run(run["id"])
        assert record.spec == spec and record.launch == told["runs"][0]["id"]
        assert (run["status"], run["done"], run["name"]) == ("complete", 12, "[bold]two[/bold]")
        assert run["dataset"]["id"] == data.hash
        assert_same(home.particles(run["id"]), engine.run(data, spec))


@pytest.mark.slow
def test_entries_are_hidden_from_a_run(ask, command, home):
    hide = ["--hide", "0.3", "--data-seed", "5"]
    (run,) = ask(*SMALL_RUN, *hide)["runs"]
    data = home.dataset(run["dataset"]["id"])
    whole = laurberg("two", rng=np.random.default_rng(5))
    assert data.name == f"{whole.name} (30 % masked)" and data.missing == round(0.3 * whole.X.size)
    np.testing.assert_array_equal(data.hidden, whole.X[~data.mask])
    again = ask("run", home.add_dataset(whole), "--rank", "3", "--particles", "2", *hide)
    assert again["runs"][0]["dataset"]["id"] == data.hash
    code, _, error = command(*SMALL_RUN, "--hide", "1.5")
    assert code != 0 and "The fraction to mask was 1.5" in error


def test_runs_of_the_terminal_and_of_the_dashboard_are_in_one_list(ask, command, home, small):
    assert ask("runs") == {"runs": []}
    assert "No runs yet" in command("runs")[1]
    runner = JobRunner(home)
    try:
        (ours,) = runner.start(small, [RunSpec("gibbs", 2, particles=4)], ["<b>ours</b>"])
        runner.wait([ours])
        (theirs,) = ask("run", small.hash, "--rank", "2", "--particles", "3")["runs"]
        assert theirs["dataset"] == {"id": small.hash, "name": "small"}
        assert [run["id"] for run in ask("runs")["runs"]] == [theirs["id"], ours]
        table = command("runs")[1]
        assert "<b>ours</b>" in table and "3/3" in table and "4/4" in table
    finally:
        runner.close()


def test_a_run_of_counts_under_gaussian_noise_says_so(command):
    few = ["--particles", "1", "--set", "max_iterations=10"]
    code, _, err = command("run", "signatures", *few)
    assert code == 0 and "as no model was chosen" in err
    assert "2.1× as much as Poisson allows. Choose it with --model negative_binomial." in err
    for words in (["signatures", "--model", "gaussian"], ["digits"]):
        assert "as no model was chosen" not in command("run", *words, *few)[2]


def test_a_sample_suggests_its_rank(ask):
    (run,) = ask("run", "signatures", "--particles", "1", "--set", "max_iterations=10")["runs"]
    assert run["spec"]["rank"] == SAMPLES["signatures"].suggested_rank
    assert run["dataset"]["id"] == load_sample("signatures").hash


def test_a_failed_run_is_told(command, monkeypatch):
    def broken(*arguments):
        raise MemoryError

    monkeypatch.setattr("bnmf_core.runs.job.make_plan", broken)
    code, out, err = command(*SMALL_RUN, "--json")
    assert code == 1 and "has failed: There was not enough memory" in err
    assert json.loads(out)["runs"][0]["status"] == "failed"


@pytest.mark.slow
def test_without_its_scheduler_a_run_is_made_here_only_if_that_was_said(command, home, monkeypatch):
    monkeypatch.setattr("bnmf_core.runs.executors.PATIENCE", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
    code, out, err = command(*SMALL_RUN, "--scheduler", address)
    assert code == 1 and f"No scheduler answered at '{address}'" in err
    assert home.runs() == []
    code, out, err = command(*SMALL_RUN, "--scheduler", address, "--local-if-unreachable", "--json")
    assert code == 0 and "Working on this machine instead" in err
    assert json.loads(out)["runs"][0]["status"] == "complete"


def test_data_of_one_name_are_told_apart_in_the_list_of_runs(command, home):
    for noise in (0.01, 0.02):
        data = laurberg("two", noise=noise)
        home.life.enter(home.add_dataset(data), RunSpec("gibbs", 3))
    code, table, _ = command("runs")
    assert code == 0 and all(dataset_id in table for dataset_id in home.datasets())


def test_a_pipe_is_told_now_and_then_how_far_a_run_is(command, monkeypatch):
    monkeypatch.setattr(output, "TELL_EVERY", running.LOOK_EVERY / 10)
    long = ["--particles", "2", "--seconds", "2", "--algorithm", "gibbs", "--set", "longest=10000"]
    code, _, err = command("run", "laurberg_two", "--rank", "3", *long)
    assert code == 0
    lines = [line for line in err.splitlines() if line.startswith("gibbs ")]
    *before, last = lines
    assert before and all(" %, " in line and " of 2" in line for line in before)
    assert last.endswith(": 100 %") and not [line for line in before if ": 100 %" in line]
