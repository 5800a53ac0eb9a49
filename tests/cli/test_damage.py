"""What is damaged in a store is told: in a sentence, in JSON and by an exit code of its own."""

import json
import shutil
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from bnmf_core import JobRunner, RunSpec, RunStore, laurberg
from bnmf_core.analysis import structure
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.store.database import NAME

SPEC = RunSpec("random_restarts", 3, particles=10, settings={"max_iterations": 200})


@pytest.fixture(scope="module")
def made_once(tmp_path_factory):
    """A store with a run, a name and an analysis; the run's id."""
    store = RunStore(tmp_path_factory.mktemp("made"))
    with closing(JobRunner(store)) as runner:
        run_ids = runner.start(laurberg("two", noise=0.01), [SPEC])
        runner.wait_analysis(run_ids, "islands")
    store.notes.keep(
        store.run(run_ids[0]).dataset, "mode", store.particles(run_ids[0]).A[0], "a name"
    )
    return store.root, run_ids[0]


@pytest.fixture
def run_id(made_once, home):
    shutil.copytree(made_once[0], home.root, dirs_exist_ok=True)
    return made_once[1]


def flipped(path, at=-20):
    content = bytearray(path.read_bytes())
    content[at] ^= 16
    path.write_bytes(content)


def commands(run_id, folder):
    """Every command that reads what a run has made."""
    return {
        "runs": ("runs",),
        "metrics": ("metrics", run_id),
        "export": ("export", run_id, "--format", "npz", "--output", folder / "a.npz"),
        "archive": ("archive", run_id, "--output", folder / "a.zip"),
        "report": ("report", run_id, "--output", folder / "a.html"),
    }


NAMES = list(commands("", Path()))


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_store_is_no_damage(ask, run_id, tmp_path, name):
    told = ask(*commands(run_id, tmp_path)[name])
    assert "damage" not in told and "repaired" not in told


@pytest.mark.parametrize("factor", ["A", "W"])
@pytest.mark.parametrize("name", NAMES)
def test_a_factorization_that_is_left_out_is_told(command, home, run_id, tmp_path, name, factor):
    flipped(home.run_folder(run_id) / "particles" / f"{factor}.npy")
    words = commands(run_id, tmp_path)[name]
    said = f"Run {run_id}: 1 of 10 factorizations is damaged on the disk and left out (number 9)."
    code, out, err = command(*words)
    assert code == 3 and said in err and f"`bnmf code {run_id}`" in err
    if name == "export":
        assert out.startswith("9 of 10 factorizations written")
    code, out, err = command(*words, "--json")
    (found,) = json.loads(out)["damage"]
    assert code == 3 and said in err and found["said"].startswith(said)
    assert (found["what"], found["id"], found["left_out"]) == ("run", run_id, [9])


@pytest.mark.parametrize("name", NAMES)
def test_a_run_of_which_nothing_can_be_read_is_told(command, home, run_id, tmp_path, name):
    flipped(home.run_folder(run_id) / "particles" / "log_joint.npy")
    code, out, err = command(*commands(run_id, tmp_path)[name], "--json")
    (found,) = json.loads(out)["damage"]
    assert code == 3 and err.strip() == found["said"]
    assert f"Run {run_id}: The stored log_joint.npy of this run is damaged" in err


@pytest.mark.parametrize("name", [*NAMES, "run"])
def test_damaged_data_are_told(command, home, run_id, tmp_path, name):
    dataset_id = home.run(run_id).dataset
    flipped(home.root / "datasets" / dataset_id / "X.npy")
    words = commands(run_id, tmp_path) | {"run": ("run", dataset_id, "--rank", "2")}
    code, out, err = command(*words[name], "--json")
    (found,) = json.loads(out)["damage"]
    assert code == 3 and "are damaged on the disk" in found["said"]
    assert "Import them again from their file." in err


@pytest.mark.parametrize("name", ["export", "archive", "report"])
def test_a_damaged_name_is_told(command, home, run_id, tmp_path, name):
    (path,) = home.root.glob("notes/*/*/*.npz")
    flipped(path, len(path.read_bytes()) // 2)
    code, out, _ = command(*commands(run_id, tmp_path)[name], "--json")
    (found,) = json.loads(out)["damage"]
    assert code == 3 and found["what"] == "names"
    assert found["said"] == "1 name or note is damaged on the disk and left out."


def test_a_damaged_list_is_told_until_it_is_recovered(command, home, run_id):
    index = home.root / NAME
    for beside in ("-wal", "-shm"):
        index.with_name(NAME + beside).unlink(missing_ok=True)
    content = bytearray(index.read_bytes())
    content[100:4096] = bytes(3996)
    index.write_bytes(content)
    code, out, err = command("runs", "--json")
    assert code == 3 and json.loads(out)["runs"] == []
    assert "has been set aside as index.sqlite.damaged-" in err and "`bnmf recover`" in err
    for words in (("runs",), ("metrics", run_id)):
        code, _, err = command(*words)
        assert code == 3 and "1 run is on the disk but not in the list" in err
    assert command("recover")[0] == 0
    code, out, err = command("runs", "--json")
    assert (code, err) == (0, "") and [run["id"] for run in json.loads(out)["runs"]] == [run_id]


@pytest.mark.parametrize(
    "change, part",
    [
        ("spec = replace(spec, '\"rank\": 3', '\"rank\": 2')", "spec"),
        ("created = created + 1", "created"),
        ("launch = 'other'", "launch"),
    ],
)
def test_an_entry_that_is_not_the_one_that_was_made_is_told(command, home, run_id, change, part):
    home.database.write(f"UPDATE runs SET {change}")
    code, _, err = command("runs")
    assert code == 3
    assert f"Run {run_id}: its entry in the list of runs is damaged ({part})." in err
    assert command("runs", "--quick")[0] == 0


def test_an_entry_that_cannot_be_read_is_told(command, home, run_id):
    home.database.write("UPDATE runs SET status = 'odd'")
    code, _, err = command("runs")
    assert code == 3 and f"Run {run_id} was stored by another version" in err


def test_a_damaged_result_is_computed_again_and_told(command, home, run_id):
    code, before, _ = command("metrics", run_id, "--json")
    folder = structure.STAGE.folder(open_comparison(home, [run_id]))
    linkage = np.load(folder / "linkage-max_angle.npy")
    flipped(folder / "linkage-max_angle.npy", -18)
    assert not np.array_equal(np.load(folder / "linkage-max_angle.npy"), linkage)
    code, out, err = command("metrics", run_id, "--json")
    told = json.loads(out)
    (sentence,) = told.pop("repaired")
    assert code == 0 and told == json.loads(before)
    assert sentence == err.strip()
    assert "“Finding modes and coverage” was damaged on the disk (linkage-max_angle.npy" in err


def test_the_program_of_a_run_of_which_nothing_is_left_is_printed(command, home, run_id):
    whole = command("code", run_id)[1]
    (home.run_folder(run_id) / "particles.json").write_text("{")
    code, out, err = command("code", run_id)
    assert code == 3 and f"Run {run_id}: The stored file particles.json cannot be read" in err
    lost = [line for line in out.splitlines() if line not in whole.splitlines()]
    assert lost == ["        '',  # what it made is lost, and nothing to compare with"]


def test_whoever_resumes_a_run_is_told_that_its_data_are_damaged(command, home, run_id):
    claim = home.life.enter(home.run(run_id).dataset, SPEC)
    home.life.withdraw(claim, "It was broken off.")
    flipped(home.root / "datasets" / home.run(run_id).dataset / "X.npy")
    code, _, err = command("resume", claim.run_id)
    assert code == 3 and "are damaged on the disk" in err and "has failed" in err


@pytest.mark.parametrize("words", [("usage",), ("forget", "local"), ("backup",)])
def test_whoever_keeps_the_work_of_others_is_told_that_a_list_is_damaged(
    command, home, run_id, tmp_path, words
):
    index = home.root / NAME
    for beside in ("-wal", "-shm"):
        index.with_name(NAME + beside).unlink(missing_ok=True)
    index.write_bytes(b"no list of runs" * 100)
    code, _, err = command(*words, *([tmp_path / "saved.zip"] * (words == ("backup",))))
    assert code == 3 and "damaged" in err
