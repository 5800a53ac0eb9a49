"""``bnmf run`` and ``bnmf analyse`` with ``--blocks``: data that are read where they lie."""

import os

import numpy as np
import pytest

from bnmf_core.runs import on_blocks

N, D = 3_000, 12
SAID = (
    "A, errors and modes are of all 3,000 observations; charts of observations show a random "
    "sample of 300."
)


@pytest.fixture
def cells(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.gamma(1.0, 1.0, (N, 3)) @ rng.gamma(0.5, 1.0, (3, D))
    np.save(tmp_path / "cells.npy", X)
    return tmp_path / "cells.npy"


def test_a_run_goes_through_all_observations(command, home, cells):
    few = ["--rank", 3, "--particles", 4, "--algorithm", "random_restarts"]
    code, _, err = command("run", cells, "--blocks", "--sample", 300, *few)
    assert code == 0 and SAID in err
    (run,) = home.runs()
    kept = home.dataset(run.dataset)
    assert (kept.whole.N, kept.N, kept.D) == (N, 300, D)
    assert home.particles(run.id).W.shape == (4, 3, 300)
    assert run.status == "complete"


def test_observations_in_columns_and_another_seed(command, home, tmp_path, cells):
    np.save(tmp_path / "turned.npy", np.load(cells).T)
    few = ["--rank", 2, "--particles", 2]
    for path, side in ((cells, "rows"), (tmp_path / "turned.npy", "columns")):
        words = ["--observations", side, "--sample", 300, "--data-seed", 7]
        assert command("run", path, "--blocks", *words, *few)[0] == 0
    one, other = (home.dataset(run.dataset) for run in home.runs())
    assert np.array_equal(one.X, other.X) and one.whole.N == other.whole.N == N
    first = np.sort(np.random.default_rng(7).choice(N, 300, replace=False, shuffle=False))
    assert np.array_equal(one.whole.sample, first)


@pytest.mark.slow
def test_the_findings_say_what_is_of_the_sample(command, home, cells, monkeypatch):
    monkeypatch.setattr(on_blocks, "PER_BLOCK", 1.0)  # no time for chains
    words = [cells, "--blocks", "--sample", 300, "--rank", 3, "--restarts", 4]
    code, out, err = command("analyse", *words)
    assert code == 0 and SAID in out
    assert "Gibbs would take too long" in err
    assert {run.spec.algorithm for run in home.runs()} == {"random_restarts", "q_transform"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--blocks", "--sample", 1], "--sample was 1; at least 2 observations are needed."),
        (["--sample", 300], "--sample is for data that are read in blocks; give --blocks, too."),
        (["--blocks", "--header", "1"], "--header cannot be given with --blocks"),
        (["--blocks", "--hide", "0.2"], "--hide cannot be given with --blocks"),
        (["--blocks", "--algorithm", "hmc"], "is read in blocks; choose"),
        (["--blocks", "--sample", 300, "--rank", 13], "12"),
    ],
)
def test_what_does_not_go_with_blocks_is_told_in_a_sentence(command, cells, words, sentence):
    words = words if "--rank" in words else [*words, "--rank", 3]
    code, out, err = command("run", cells, *words)
    assert (code, out) == (1, "")
    assert sentence in err and "Traceback" not in err


def test_what_is_no_store_is_told_in_a_sentence(command, tmp_path):
    for name, sentence in (("none.npy", "There is no file or folder"), ("x.csv", "is of no kind")):
        if name == "x.csv":
            (tmp_path / name).write_text(f"a,b{os.linesep}1,2")
        code, _, err = command("run", tmp_path / name, "--blocks", "--rank", 2)
        assert code == 1 and sentence in err
