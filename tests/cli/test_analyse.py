"""``bnmf analyse``: the findings of the dashboard in a terminal, as a document and as a report."""

import json

import numpy as np
import pytest

from bnmf_core.analysis import structure
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.analysis.findings import Answer
from bnmf_core.cli import main
from bnmf_core.data.synthetic import low_rank
from bnmf_core.store.run_store import RunStore


@pytest.fixture
def command(tmp_path, capsys, monkeypatch):
    """Call the command line on a store of the test's own: (code, stdout, stderr)."""
    monkeypatch.setenv("BNMF_HOME", str(tmp_path / "home"))

    def call(*words):
        code = main(["analyse", *map(str, words)])
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_the_document_holds_what_the_dashboard_says(command, tmp_path):
    code, out, err = command("laurberg_two", "--rank", 3, "--restarts", 12, "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    comparison = open_comparison(RunStore(tmp_path / "home"), told["runs"])
    modes = structure.modes_at(comparison, "max_angle", told["threshold"])
    answer = Answer(comparison, "max_angle", modes)
    assert told["sentences"] == [vars(finding) for finding in answer.findings]
    assert [mode["found_by"] for mode in told["modes"]] == answer.table["found_by"].tolist()
    assert sum(mode["mass"] for mode in told["modes"]) == pytest.approx(1.0)
    assert [component["component"] for component in told["components"]] == [1, 2, 3]
    assert told["conclusions"] == []


def test_people_get_sentences_and_a_report_with_pictures(command, tmp_path):
    data = low_rank(8, 30, rank=2, noise=0.05, rng=np.random.default_rng(0))
    table = tmp_path / "fish.csv"
    rows = [",".join(["site", *(f"fish {d}" for d in range(8)), "coast"])]
    for n in range(30):
        values = (f"{value:.4f}" for value in data.X[:, n])
        rows.append(",".join([f"site {n}", *values, "north" if n % 2 else "south"]))
    table.write_text("\n".join(rows))
    report = tmp_path / "report.html"
    code, out, _ = command(table, "--rank", 2, "--restarts", 6, "--report", report)
    assert code == 0
    assert "converged restarts" in out
    assert "coast: " in out
    text = report.read_text()
    assert "Map of factorizations" in text
    assert "fish 3" in text
    assert "coast: " in text
    assert 'src="http' not in text


def test_the_rank_is_found_where_it_is_not_given(command):
    code, out, err = command(
        "low_rank", "--rank", "auto", "--ranks", "1:3", "--restarts", 4, "--json"
    )
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert told["rank"] in (1, 2, 3)
    assert str(told["rank"]) in told["rank_said"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("laurberg_two", "--rank", "many"), "write a number, or auto"),
        (("laurberg_two", "--rank", "0"), "write a number, or auto"),
        (("nowhere.csv", "--rank", "3"), "nowhere.csv"),
    ],
)
def test_what_cannot_be_analysed_is_said(command, words, said):
    code, out, err = command(*words)
    assert (code, out) == (1, "")
    assert said in err
