"""``bnmf compare``: several algorithms, repeated, on one scoreboard."""

import json

import pytest

from bnmf_core.analysis import distances
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.store.run_store import RunStore

RUNS = ("--algorithm", "random_restarts", "--algorithm", "nndsvdar", "--particles", 8)
DATA = ("laurberg_two", "--rank", 3, "--data-set", "noise=0.001")


@pytest.mark.slow
def test_the_document_holds_every_number_of_every_group(command, tmp_path):
    code, out, err = command("compare", *DATA, *RUNS, "--repeats", 2, "--radius", 1, "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    groups = {group["name"]: group["runs"] for group in told["groups"]}
    assert list(groups) == ["Random restarts × 2", "NNDSVDar × 2"] and told["radius"] == 1
    store = RunStore(tmp_path / "home")
    assert [store.run(one).spec.seed for ids in groups.values() for one in ids] == [0, 1, 0, 1]
    scores = {(row["criterion"], row["group"]): row for row in told["scores"]}
    every = [run_id for ids in groups.values() for run_id in ids]
    comparison = open_comparison(store, every)
    matrix = distances.STAGE.of(comparison).matrix("max_angle")
    of_runs = dict(zip(comparison.run_ids, comparison.rows_by_run(), strict=True))
    for name, ids in groups.items():
        widest = sorted(matrix[of_runs[one]][:, of_runs[one]].max() for one in ids)
        row = scores["largest", name]
        assert (row["least"], row["most"], row["runs"]) == (*map(pytest.approx, widest), 2)
    assert told["said"].startswith("Of 2 modes that any run found, Random restarts × 2 found 2")


@pytest.mark.slow
def test_people_get_a_table_with_the_best_marked(command):
    code, out, _ = command("compare", *DATA, *RUNS)
    assert code == 0
    assert "that any run found" in out and "threshold between modes is" in out
    (line,) = [line for line in out.splitlines() if line.strip().startswith("modes found")]
    assert line.split()[2] == "2" and line.split()[-2:] == ["more", "optimizers"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*DATA, "--repeats", 0), "at least 1 is needed"),
        ((*DATA, "--radius", -1), "--radius was -1"),
        ((*DATA, "--distance", "miles"), "There is no distance called 'miles'"),
        ((*DATA, "--algorithm", "magic"), "magic"),
    ],
)
def test_what_cannot_be_compared_is_said(command, words, said):
    code, out, err = command("compare", *words)
    assert (code, out) == (1, "")
    assert said in err
