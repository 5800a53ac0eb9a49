"""The command line: the same runs as from Python, and a document that a program can read."""

import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.io

from bnmf_core import registry
from bnmf_core.analysis import distances, structure
from bnmf_core.cli import main
from bnmf_core.compare.coverage import covering_numbers
from bnmf_core.data.samples import SAMPLES, load_sample
from bnmf_core.data.synthetic import GENERATORS, laurberg, low_rank
from bnmf_core.evidence.rank_study import rank_study
from bnmf_core.nouns.particles import Particles
from bnmf_core.nouns.settings import declarations
from bnmf_core.nouns.spec import RunSpec
from bnmf_core.probability import MODELS
from bnmf_core.runs import engine
from bnmf_core.runs.jobs import JobRunner
from bnmf_core.store.run_store import RunStore

ROOT = Path(__file__).resolve().parents[2]
SMALL_RUN = ["run", "laurberg_two", "--rank", "3", "--particles", "8"]


@pytest.fixture
def command(tmp_path, capsys, monkeypatch):
    """Call the command line on a store of the test's own: (code, stdout, stderr)."""
    monkeypatch.setenv("BNMF_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("BNMF_SCHEDULER", raising=False)

    def call(*words):
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def ask(command):
    """Call with --json: the document; nothing may stand beside it."""

    def call(*words):
        code, out, err = command(*words, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return call


@pytest.fixture
def home(tmp_path):
    return RunStore(tmp_path / "home")


def assert_same(particles, expected):
    for name in ("A", "W", "log_joint", "error", "ids", "chain", "draw"):
        np.testing.assert_array_equal(getattr(particles, name), getattr(expected, name))


# What there is


def test_every_sample_algorithm_and_setting_is_listed(ask, command):
    listed = ask("samples")
    for kind, entries in (
        ("samples", SAMPLES),
        ("generators", GENERATORS),
        ("algorithms", registry.ALGORITHMS),
        ("models", MODELS),
    ):
        assert [entry["key"] for entry in listed[kind]] == list(entries)
    code, table, _ = command("samples")
    assert code == 0
    for entry in (*GENERATORS.values(), *registry.ALGORITHMS.values(), *MODELS.values()):
        assert entry.summary in table
        kind = next(k for k in listed if any(e["label"] == entry.label for e in listed[k]))
        told = next(e for e in listed[kind] if e["key"] == entry.key)["settings"]
        known = declarations(entry.Settings)
        assert {s["key"]: s["default"] for s in told} == {
            key: field.default for key, (field, _) in known.items()
        }
        assert all(key in table for key in known)


def test_an_algorithm_added_to_the_registry_needs_no_edit(ask, command, monkeypatch, home):
    twin = dataclasses.replace(registry.algorithm("gibbs"), key="twin", label="Twin")
    monkeypatch.setitem(registry.ALGORITHMS, "twin", twin)
    assert "twin" in [entry["key"] for entry in ask("samples")["algorithms"]]
    (run,) = ask(*SMALL_RUN, "--algorithm", "twin", "--set", "twin.thinning=2")["runs"]
    assert run["spec"]["settings"] == {"thinning": 2}
    assert "twin" in command("run", "--help")[1]


# Running


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


def test_entries_are_hidden_from_a_run(ask, command, home):
    hide = ["--hide", "0.3", "--data-seed", "5"]
    (run,) = ask(*SMALL_RUN, *hide)["runs"]
    data = home.dataset(run["dataset"]["id"])
    whole = laurberg("two", rng=np.random.default_rng(5))
    assert data.name == f"{whole.name} (30 % hidden)" and data.missing == round(0.3 * whole.X.size)
    np.testing.assert_array_equal(data.hidden, whole.X[~data.mask])
    again = ask("run", home.add_dataset(whole), "--rank", "3", "--particles", "2", *hide)
    assert again["runs"][0]["dataset"]["id"] == data.hash
    code, _, error = command(*SMALL_RUN, "--hide", "1.5")
    assert code != 0 and "The fraction to hide was 1.5" in error


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


def test_files_are_read_with_their_observations_where_they_are(ask, home, tmp_path):
    path = tmp_path / "matrix.csv"
    path.write_text("name,a,b,c\nx,1,2,3\ny,4,5,6\nz,7,8,9\nw,1,1,2\n")
    for where, shape in ((None, (3, 4)), ("rows", (3, 4)), ("columns", (4, 3))):
        words = [] if where is None else ["--observations", where]
        (run,) = ask("run", path, "--rank", "2", "--particles", "2", *words)["runs"]
        assert home.dataset(run["dataset"]["id"]).X.shape == shape


def test_a_file_is_inspected_and_read_as_it_is_told(ask, command, home, tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("id;height;group\n0;1,5;1\n1;1,8;2\n2;1,6;1\n3;1,7;2\n")
    code, out, err = command("inspect", path)
    assert (code, err) == (0, "")
    assert "? Column 1 ('id') counts 0, 1, 2, …: taken as names, not as a feature." in out
    assert "semicolon" in out and "numbers such as 1,5" in out
    found = ask("inspect", path, "--names", "none", "--labels", "none")
    assert found["number_columns"] == [1, 2, 3] and found["decimal_mark"] == ","
    told = ["--names", "none", "--labels", "group", "--header", "1", "--image-shape", "1x2"]
    code, _, err = command("run", path, "--rank", "2", "--particles", "2", *told)
    assert code == 0 and "people.csv is read as a table of text" in err
    (kept,) = (home.dataset(key) for key in home.datasets())
    assert kept.features == ("id", "height") and kept.image_shape == (1, 2)
    assert kept.labels["group"].tolist() == ["1", "2", "1", "2"]
    path.write_text("id;height;group\n0;1,5;1\n1;1,8;2\n2;1,6;1\n3;1,9;2\n")
    (tmp_path / "kinds.txt").write_text("u\nu\nv\nv\n")
    told += ["--join", f"observations={tmp_path / 'kinds.txt'}"]
    (run,) = ask("run", path, "--rank", "2", "--particles", "2", *told)["runs"]
    kept = home.dataset(run["dataset"]["id"])
    assert kept.labels["kinds"].tolist() == ["u", "u", "v", "v"]
    assert sorted(home.datasets().values()) == ["people", "people (2)"]


def test_what_only_a_format_has_is_listed_and_chosen(ask, command, tmp_path):
    path = tmp_path / "two.mat"
    scipy.io.savemat(path, {"large": np.ones((4, 3)), "small": np.eye(2)})
    code, out, _ = command("inspect", path)
    assert code == 0 and "large, small" in out and "The file holds 2 matrices" in out
    found = ask("inspect", path, "--reading", "matrix=small")
    assert found["settings"] == {"matrix": "small"} and found["preview"]["width"] == 2
    code, _, err = command("inspect", path, "--reading", "matrix=other")
    assert code == 1 and "no matrix 'other'" in err


def test_results_of_other_programs_are_brought_in(ask, command, home, tmp_path):
    data = laurberg("two")
    dataset_id = home.add_dataset(data)
    for letter, values in (("A", data.truth[0].A), ("W", data.truth[0].W)):
        np.save(tmp_path / f"{letter}.npy", values)
    (run,) = ask("bring", dataset_id, tmp_path / "A.npy", tmp_path / "W.npy", "--name", "mine")[
        "runs"
    ]
    assert (run["name"], run["status"], run["done"]) == ("mine", "complete", 1)
    assert home.particles(run["id"]).error[0] < 1e-12
    code, _, err = command("bring", dataset_id, tmp_path / "nothing")
    assert code == 1 and "no file or folder" in err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("inspect nothing.csv", "no file 'nothing.csv'"),
        ("inspect FILE --header x", "--header was 'x'"),
        ("inspect FILE --names nobody", "no column 'nobody'"),
        ("inspect FILE --image-shape 5", "height x width"),
        ("inspect FILE --image-shape 5x5 --observations diagonal", "invalid choice: 'diagonal'"),
        ("run signatures --header none", "--header is for files"),
        ("run signatures --join kinds.txt", "--join is for files"),
        ("run FILE --rank 2 --join nothing.txt", "no file 'nothing.txt' to join"),
    ],
)
def test_a_reading_that_cannot_be_is_one_sentence(command, tmp_path, words, sentence):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    code, _, err = command(*words.replace("FILE", str(path)).split())
    assert code == 1 and sentence in err


def test_a_large_array_file_stays_on_the_disk(ask, home, tmp_path, monkeypatch):
    monkeypatch.setattr("bnmf_core.cli.inputs.LIMIT_BYTES", 1000)
    X = np.random.default_rng(0).random((30, 20))
    np.save(tmp_path / "large.npy", X)
    (run,) = ask("run", tmp_path / "large.npy", "--rank", "2", "--particles", "2")["runs"]
    kept = home.dataset(run["dataset"]["id"])
    assert isinstance(kept.X, np.memmap)
    np.testing.assert_array_equal(kept.X, X.T)


def test_a_sample_suggests_its_rank(ask):
    (run,) = ask("run", "signatures", "--particles", "1", "--set", "max_iterations=10")["runs"]
    assert run["spec"]["rank"] == SAMPLES["signatures"].suggested_rank
    assert run["dataset"]["id"] == load_sample("signatures").hash


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("run nothing --rank 3", "no file and no sample called 'nothing'"),
        ("run laurberg_two", "give it as --rank R"),
        ("run laurberg_two --rank 99", "between 1 and 6"),
        ("run laurberg_two --rank three", "invalid int value: 'three'"),
        ("run laurberg_two --rank 3 --algorithm magic", "no algorithm 'magic'; there are q_tra"),
        ("run laurberg_two --rank 3 --model magic", "no model 'magic'; there are gaussian"),
        ("run laurberg_two --rank 3 --set magic=1", "No chosen algorithm has a setting called"),
        ("run laurberg_two --rank 3 --set gibbs.chains=2", "gibbs is not among --algorithm"),
        ("run laurberg_two --rank 3 --set block", "write it as --set key=value"),
        ("run laurberg_two --rank 3 --set block=x", "was 'x'; a number is needed"),
        ("run laurberg_two --rank 3 --set block=0", "was '0'; 1 to 1000 is allowed"),
        ("run laurberg_two --rank 3 --set block=2 --set block=3", "'block' twice"),
        ("run laurberg_two --rank 3 --model-set rate=-1", "0 or more is allowed"),
        ("run laurberg_two --rank 3 --data-set a=7", "0.5 to 1 is allowed"),
        ("run laurberg_two --rank 3 --data-seed -1", "data seed was -1"),
        ("run signatures --data-set a=7", "is not a generator"),
        ("run signatures --observations rows", "there is no file 'signatures'"),
        ("run signatures --holdout 0.9", "held-out fraction"),
        ("run signatures --particles 0", "1 to 1,000,000 are allowed"),
        ("resume nothing", "no run 'nothing'"),
        ("metrics nothing", "no run 'nothing'"),
        ("metrics nothing --distance magic", "no distance called 'magic'"),
        ("export nothing --format npz --output x", "no run 'nothing'"),
        ("export nothing --format exe --output x", "invalid choice: 'exe'"),
        ("magic", "invalid choice: 'magic'"),
        ("", "arguments are required: COMMAND"),
    ],
)
def test_what_is_wrong_is_one_sentence_on_stderr(command, words, sentence, home):
    code, out, err = command(*words.split())
    assert (code, out) == (1, "")
    assert sentence in err and err.count("\n") == 1 and "Traceback" not in err
    assert home.runs() == []


def test_a_failed_run_is_told(command, monkeypatch):
    def broken(*arguments):
        raise MemoryError

    monkeypatch.setattr("bnmf_core.runs.jobs.make_plan", broken)
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


# Results


@pytest.fixture
def two_runs(ask):
    told = ask(
        "run",
        "laurberg_two",
        "--data-set",
        "noise=0.001",
        "--rank",
        "3",
        "--particles",
        "20",
        "--algorithm",
        "random_restarts",
        "--algorithm",
        "gibbs",
        "--set",
        "max_iterations=5000",
        "--set",
        "tolerance=1e-6",
    )
    return [run["id"] for run in told["runs"]]


def test_metrics_are_those_of_the_stored_analysis(ask, command, home, two_runs):
    told = ask("metrics", *two_runs, "--radius", "5", "--radius", "20")
    runner = JobRunner(home)
    try:
        found = runner.wait_analysis(two_runs)
    finally:
        runner.close()
    matrix = np.asarray(distances.STAGE.of(found).matrix("max_angle"))
    members = found.members
    assert told["mode_count"] == 2 and told["threshold_suggested"]
    assert sum(mode["share"] for mode in told["modes"]) == pytest.approx(1)
    assert told["modes"][0]["nearest"] == pytest.approx(36.87, abs=0.2)
    spread = structure.STAGE.of(found).spread("max_angle")
    for run, record, (_, row) in zip(told["runs"], found.runs, spread.iterrows(), strict=True):
        own = np.flatnonzero(members["run"] == record.id)
        assert run["id"] == record.id
        assert (run["largest_distance"], run["mean_distance"]) == (row["largest"], row["mean"])
        expected = covering_numbers(matrix[np.ix_(own, own)], [5.0, 20.0])
        assert run["covering_numbers"] == expected.tolist()
        assert len(run["covering_curve"]) == len(told["curve_radii"]) == 100
        errors = home.particles(record.id).error
        assert run["error"]["median"] == np.median(errors)
        assert run["error"]["least"] == errors.min() and run["error"]["most"] == errors.max()
    one = ask("metrics", *two_runs, "--threshold", "90", "--distance", "max_angle")
    assert (one["mode_count"], one["threshold"], one["radii"]) == (1, 90.0, [90.0])
    assert one["modes"][0]["nearest"] is None
    code, table, _ = command("metrics", *two_runs)
    assert code == 0 and table.startswith("2 modes under Maximum angle at ")
    assert all(run_id in table for run_id in two_runs)


@pytest.mark.parametrize("ending", ["npz", "nc", "csv"])
def test_an_export_holds_the_run(ask, command, home, two_runs, tmp_path, ending):
    path = tmp_path / f"kept.{ending}"
    told = ask("export", two_runs[0], "--format", ending, "--output", path)
    expected = home.particles(two_runs[0])
    assert told["bytes"] == path.stat().st_size and told["particles"] == 20
    if ending == "npz":
        assert_same(Particles.load(path), expected)
    elif ending == "nc":
        import xarray  # noqa: PLC0415

        with xarray.open_dataset(path, engine="h5netcdf") as read:
            np.testing.assert_array_equal(read["A"], expected.A)
    else:
        read = pd.read_csv(path)
        np.testing.assert_array_equal(read["ids"], expected.ids)
        np.testing.assert_allclose(read["error"], expected.error, rtol=1e-12)
    (tmp_path / "file").write_text("")
    code, _, err = command(
        "export", two_runs[0], "--format", ending, "--output", tmp_path / "file" / "x"
    )
    assert code == 1 and "cannot be written" in err


# Ctrl-C


def wait_for_progress(store, process, least=20):
    end = time.monotonic() + 60
    while True:
        assert time.monotonic() < end and process.poll() is None
        for record in store.runs():
            if record.done >= least:
                return record
        time.sleep(0.01)


@pytest.mark.slow
def test_an_interrupted_run_keeps_what_it_made_and_is_resumed_to_the_same_bits(
    command, ask, home, small
):
    dataset_id = home.add_dataset(small)
    spec = RunSpec("gibbs", 3, particles=60_000, seed=3, settings={"thinning": 1})
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
            "60000",
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
    assert run["status"] == "cancelled" and 20 <= run["done"] < 60_000
    expected = engine.run(small, spec)
    part = home.particles(run["id"])
    assert part.M == run["done"]
    assert_same(part, expected.subset(part.ids))
    (again,) = ask("resume", run["id"])["runs"]
    assert (again["status"], again["done"]) == ("complete", 60_000)
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


def test_ranks_are_those_that_python_compares(ask, command):
    generated = ["low_rank", "--data-seed", "1"]
    for value in ("features=10", "observations=12", "rank=2", "noise=0.1", "sparsity=0"):
        generated += ["--data-set", value]
    words = ["ranks", *generated, "--ranks", "1:3", "--sigma", "0.1", "--restarts", "4"]
    told = ask(*words, "--seed", "3")
    data = low_rank(10, 12, 2, 0.1, rng=np.random.default_rng(1))
    study = rank_study(data, [1, 2, 3], sigma=0.1, restarts=4, rng=np.random.default_rng(3))
    pd.testing.assert_frame_equal(pd.DataFrame(told["ranks"]), study.table)
    assert told["criteria"]["evidence"] == {
        **vars(study.criteria["evidence"]),
        "runners_up": list(study.criteria["evidence"].runners_up),
    }
    assert (told["noise"], told["prior"]) == (study.noise, study.prior)
    code, table, _ = command(*words, "--seed", "3")
    assert code == 0 and study.criteria["evidence"].said in table and study.noise in table
    # Half of the matrix has no rank 8.
    large = ask("ranks", *generated, "--ranks", "8", "--sigma", "0.1", "--restarts", "2")
    assert large["ranks"][0]["hidden_error"] is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--ranks", "two"], "write the first and the last as 2:8"),
        (["--ranks", "5:4"], "No rank was given"),
        (["--ranks", "0:3"], "Rank 0 was among those to try"),
        (["--seed", "-1"], "The seed was -1"),
    ],
)
def test_ranks_that_make_no_sense_are_refused(command, words, said):
    code, _, err = command("ranks", "laurberg_two", *words)
    assert code == 1 and said in err


def test_a_library_of_transforms_is_learned_brought_in_and_run(command, ask, tmp_path):
    file = tmp_path / "library.npz"
    learned = ask("transforms", "--output", file, "--process", "dirichlet", "--rank", "2")
    assert (learned["pairs"], learned["rank"]) == (100, 2)
    assert ask("transforms", "--add", file)["key"] == learned["key"]
    chosen = f"library={learned['key']}"
    (record,) = ask(*SMALL_RUN, "--algorithm", "q_transform", "--set", chosen)["runs"]
    assert record["spec"]["settings"]["library"] == learned["key"]
    of_data = ("transforms", "--output", file, "--process", "sub_sample", "--rank", "2")
    assert ask(*of_data, "--target", "laurberg_two")["key"] != learned["key"]
    code, out, err = command(*of_data)
    assert (code, out) == (1, "") and "needs a target" in err
    file.write_bytes(b"nothing")
    assert "library.npz is not a library of transforms" in command("transforms", "--add", file)[2]
    missing = command(*SMALL_RUN, "--set", "library=feedbeeffeedbeef")
    assert missing[0] == 1 and "no library of transforms 'feedbeeffeedbeef' here" in missing[2]


def test_data_of_one_name_are_told_apart_in_the_list_of_runs(command, home):
    for noise in (0.01, 0.02):
        data = laurberg("two", noise=noise)
        home.life.enter(home.add_dataset(data), RunSpec("gibbs", 3))
    code, table, _ = command("runs")
    assert code == 0 and all(dataset_id in table for dataset_id in home.datasets())


def test_a_file_that_is_not_there_is_told_before_anything_else(command, home):
    code, _, err = command("run", "nosuch.csv")
    assert code == 1 and "nosuch.csv" in err and "components" not in err
