"""``bnmf analyse``: the findings of the dashboard in a terminal, as a document and as a report."""

import json
import re
from functools import partial

import numpy as np
import openpyxl
import pytest

from bnmf_core.analysis import structure
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.boolean.generator import boolean_tiles
from bnmf_core.data.samples import load_sample
from bnmf_core.data.synthetic import low_rank
from bnmf_core.findings.answer import Answer
from bnmf_core.findings.facts import say
from bnmf_core.findings.spreads import facts, spreads
from bnmf_core.runs import launch
from bnmf_core.store.run_store import RunStore


@pytest.fixture
def analyse(command, monkeypatch):
    """Call ``bnmf analyse``, whose chains are soon given up: (code, stdout, stderr)."""
    monkeypatch.setattr(launch, "LONGEST", launch.SHORTEST)
    return partial(command, "analyse")


@pytest.mark.slow
def test_the_document_holds_what_the_dashboard_says(analyse, home):
    code, out, err = analyse("laurberg_two", "--rank", 3, "--restarts", 12, "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    comparison = open_comparison(home, told["runs"])
    modes = structure.modes_at(comparison, "max_angle", told["threshold"])
    answer = Answer(comparison, "max_angle", modes)
    assert told["sentences"] == json.loads(
        json.dumps([finding.plain() for finding in answer.findings])
    )
    assert [mode["found_by"] for mode in told["modes"]] == answer.table["found_by"].tolist()
    assert sum(mode["mass"] for mode in told["modes"]) == pytest.approx(1.0)
    assert [component["component"] for component in told["components"]] == [1, 2, 3]
    assert told["conclusions"] == []
    turned = told["spreads"]
    assert turned["said"] == say(facts(spreads(answer)), answer.mode_names)
    assert turned["resamples"] == turned["converged"] == {"samples": 40}
    assert {row["component"] for row in turned["angles"]} == {f"component {r}" for r in (1, 2, 3)}
    assert "counts" in turned["missing"]


@pytest.mark.slow
def test_people_get_sentences_and_a_report_with_pictures(analyse, tmp_path):
    data = low_rank(8, 30, rank=2, noise=0.05, rng=np.random.default_rng(0))
    table = tmp_path / "fish.csv"
    rows = [",".join(["site", *(f"fish {d}" for d in range(8)), "coast"])]
    for n in range(30):
        values = (f"{value:.4f}" for value in data.X[:, n])
        rows.append(",".join([f"site {n}", *values, "north" if n % 2 else "south"]))
    table.write_text("\n".join(rows))
    report = tmp_path / "report.html"
    asked = {"report": report, "methods": tmp_path / "m.txt", "workbook": tmp_path / "w.xlsx"}
    files = [word for name, path in asked.items() for word in (f"--{name}", path)]
    code, out, _ = analyse(table, "--rank", 2, "--restarts", 6, *files)
    assert code == 0
    assert all(f" in {path}." in out for path in asked.values())
    assert "of 8 features and 30 observations" in asked["methods"].read_text()
    assert "methods" in openpyxl.load_workbook(asked["workbook"]).sheetnames
    assert "converged restarts" in out
    # The optima are at most 12° apart: one mode at 15°, and so no choice.
    assert "All 12 converged restarts found one mode" in out
    assert "Nothing concluded from coast depends on a choice" in out
    text = report.read_text()
    assert re.search(r"Map of \d+ factorizations", text)
    assert "fish 3" in text
    assert "Nothing concluded from coast depends on a choice" in text
    assert 'src="http' not in text


@pytest.mark.slow
def test_a_table_of_yes_and_no_is_told_by_its_tiles(analyse, tmp_path):
    data = boolean_tiles(20, 30, 2, 0.2, rng=np.random.default_rng(1))
    table = tmp_path / "shop.csv"
    rows = [",".join(["customer", *(f"item {d}" for d in range(data.D))])]
    for n in range(data.N):
        rows.append(",".join([f"c {n}", *("yes" if x else "no" for x in data.X[:, n])]))
    table.write_text("\n".join(rows))
    report = tmp_path / "report.html"
    words = (table, "--kind", "tiles", "--rank", 2, "--restarts", 8)
    code, out, _ = analyse(*words, "--report", report)
    assert code == 0
    assert "8 box restarts run until they converge and 4 Box Gibbs chains" in out
    assert "2 of 2 tiles can be believed" in out and "converged restarts" in out
    assert "σ inferred" in out
    assert "tiles can be believed" in report.read_text()


@pytest.mark.slow
def test_the_rank_is_found_where_it_is_not_given(analyse):
    code, out, err = analyse(
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
        (("laurberg_two", "--kind", "tiles"), "give one as --rank"),
        (("laurberg_two", "--rank", "0"), "write a number, or auto"),
        (("nowhere.csv", "--rank", "3"), "nowhere.csv"),
    ],
)
def test_what_cannot_be_analysed_is_said(analyse, words, said):
    code, out, err = analyse(*words)
    assert (code, out) == (1, "")
    assert said in err


@pytest.mark.slow
def test_components_are_told_beside_a_catalogue(analyse, tmp_path):
    data = load_sample("signatures")
    values = np.random.default_rng(2).dirichlet(np.full(96, 0.3), 3)
    catalogue = tmp_path / "COSMIC.txt"
    lines = ["Type\tSBS1\tSBS4\tSBS5"]
    for d in np.random.default_rng(3).permutation(96):
        lines.append("\t".join([data.features[d].lower(), *(f"{v[d]:.8f}" for v in values)]))
    catalogue.write_text("\n".join(lines))
    words = ("signatures", "--rank", 2, "--restarts", 4, "--model", "gaussian")
    words = (*words, "--catalogue", catalogue)
    code, out, err = analyse(*words, "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)
    known = told["catalogue"]
    assert known["matched"] == "All 96 features are in the catalogue, matched by name."
    comparison = open_comparison(RunStore(tmp_path / "home"), told["runs"])
    modes = structure.modes_at(comparison, "max_angle", told["threshold"])
    A = comparison.aligned(modes.representative[:1])[0]
    for row in known["nearest"]:
        entry = values[["SBS1", "SBS4", "SBS5"].index(row["entry"])]
        column = A[:, row["component"] - 1]
        cosine = column @ entry / np.linalg.norm(column) / np.linalg.norm(entry)
        assert row["cosine"][0] == pytest.approx(cosine, abs=1e-6)
    code, out, _ = analyse(*words)
    assert code == 0
    assert f"- Component 1, {known['nearest'][0]['said'].split(' in ')[0]} in mode 1" in out


def test_a_catalogue_without_a_feature_is_refused_before_anything_runs(analyse, home, tmp_path):
    catalogue = tmp_path / "genes.csv"
    catalogue.write_text("gene,a,b\nTP53,1,2\nKRAS,2,1\n")
    code, out, err = analyse("signatures", "--rank", 2, "--catalogue", catalogue)
    assert (code, out) == (1, "")
    assert "0 of 96 features are in the catalogue 'genes.csv'" in err
    code, _, err = analyse("signatures", "--rank", 2, "--catalogue", tmp_path / "none.txt")
    assert code == 1 and "There is no file" in err
    assert home.runs() == []
