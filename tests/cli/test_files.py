"""Files on the command line: inspected, read as they are told, brought in as results."""

import shutil

import numpy as np
import pytest
import scipy.io

from bnmf_core.core.limits import NAMED_BY
from bnmf_core.data.synthetic import laurberg
from bnmf_core.store.run_store import RunStore
from tests.cli.conftest import SMALL_RUN


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


def test_inspecting_what_cannot_be_read_shows_it_and_fails(command, tmp_path):
    path = tmp_path / "words.csv"
    path.write_text("a,b\n1,2\n3,tr\n5,6\n")
    for words in ([], ["--json"]):
        code, out, err = command("inspect", path, *words)
        assert code == 1 and "If 'tr' means that nothing was seen" in out
        assert err.startswith("The file cannot be read this way.")
    assert command("inspect", path, "--missing", "tr")[0] == 0


def test_inspecting_says_what_the_numbers_are_and_which_model_they_suit(ask, command, tmp_path):
    path = tmp_path / "counts.csv"
    path.write_text("gene,a,b,c\nx,3,0,9\ny,1,14,0\n")
    assert "Proposed model: “Counts: Poisson noise, gamma priors”." in command("inspect", path)[1]
    numbers = ask("inspect", path)["numbers"]
    assert numbers["kind"] == "counts" and numbers["model"] == "poisson" and numbers["reason"]


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
    (tmp_path / "limits.toml").write_text("reading_megabytes = 0.001")
    monkeypatch.setenv(NAMED_BY, str(tmp_path / "limits.toml"))
    X = np.random.default_rng(0).random((30, 20))
    np.save(tmp_path / "large.npy", X)
    (run,) = ask("run", tmp_path / "large.npy", "--rank", "2", "--particles", "2")["runs"]
    kept = home.dataset(run["dataset"]["id"])
    assert isinstance(kept.X, np.memmap)
    np.testing.assert_array_equal(kept.X, X.T)


def test_a_file_that_is_not_there_is_told_before_anything_else(command, home):
    code, _, err = command("run", "nosuch.csv")
    assert code == 1 and "nosuch.csv" in err and "components" not in err


def test_runs_whose_list_is_lost_are_recovered(command, ask, home):
    (made,) = ask(*SMALL_RUN)["runs"]
    assert ask("recover") == {"runs": [], "datasets": 0, "said": []}
    for path in home.root.glob("index.*"):
        path.unlink()
    code, out, err = command("runs")
    assert code == 3 and "No runs yet" in out and "1 run is on the disk but not in the list" in err
    code, out, _ = command("recover")
    assert code == 0 and out.strip() == "1 run and 1 dataset are in the list again."
    assert [run["id"] for run in ask("runs")["runs"]] == [made["id"]]
    assert command("recover")[1].strip() == "Everything on the disk is in the list."


def test_on_a_shared_server_the_runs_of_all_owners_are_recovered(command, ask, home):
    (made,) = ask(*SMALL_RUN)["runs"]
    other = home.root / "owners" / "anna"
    shutil.copytree(home.root, other, ignore=shutil.ignore_patterns("owners", "index.*"))
    code, out, _ = command("recover")
    assert code == 0 and out.strip() == "1 run and 1 dataset are in the list again."
    assert [run.id for run in RunStore(other).runs()] == [made["id"]]
    assert command("recover")[1].strip() == "Everything on the disk is in the list."


def test_who_looks_into_the_folder_of_all_is_told_where_runs_are(command, home):
    (home.root / "owners" / "anna").mkdir(parents=True)
    for words in (["runs"], ["clean"]):
        code, out, _ = command(*words)
        assert code == 0 and "--store" in out and "1 so far" in out


def test_negative_entries_are_refused_with_the_options_that_take_them(command, tmp_path):
    path = tmp_path / "noisy.csv"
    path.write_text("name,a,b\nx,1,2\ny,4,-5\nz,7,8\n")
    few = ("--rank", "1", "--particles", "2")
    code, _, err = command("run", path, *few)
    assert code == 1 and "holds -5, which is negative" in err and "--negative zero" in err
    assert command("run", path, *few, "--negative", "zero")[0] == 0
    path.write_text("name,a,b\nx,1,2\ny,4,inf\nz,7,8\n")
    assert "--negative" not in command("run", path, *few)[2]
