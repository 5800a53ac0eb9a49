"""The printed layout, the figures and the page of documentation of the Stein study."""

from dataclasses import replace
from xml.etree import ElementTree as etree

import pandas as pd
import pytest

from benchmarks import stein
from benchmarks.tables import as_text
from studies import result
from studies.report import TABLES
from studies.result import StudyResult
from studies.stein import findings
from studies.stein.arrival import WEIGHTS
from studies.stein.plan import VARIED
from studies.stein.problems import COLUMNS
from studies.stein.report import REPORT


def made_up() -> StudyResult:
    """Two data sets; Q-Transform is lowest and fastest on the first, far behind on the second."""
    rows = []
    for problem, ours, theirs in (("one", 1.0, 5.0), ("two", 8.0, 2.0)):
        for column, level, seconds in (
            ("q_transform", ours, 0.5),
            ("gibbs", theirs, 2.0),
            ("svgd", 50.0, 1.0),
        ):
            for repetition in range(2):
                for point, factor in enumerate((2.0, 1.0)):
                    numbers = {f"{form}_weighted": level * factor for form in findings.FORMS}
                    numbers |= {"seconds": seconds * (point + 1), "error": 0.25}
                    numbers |= {"log_joint": -level}
                    rows += [
                        (problem, "gaussian", column, 5, repetition, point, point == 1, key, value)
                        for key, value in numbers.items()
                    ]
    columns = [*VARIED, "quantity", "value"]
    labels = {"one": "First <data>", "two": "Second"}
    labels |= {"q_transform": "Q-Transform", "gibbs": "Gibbs", "svgd": "SVGD"}
    settings = {"repetitions": 2, "holdout": 0.1, "seconds": 6.0, "seed": 0}
    settings |= {"ranks": {"one": [3, "as made"]}}
    taken = {"sigma": 0.125, "rate": 2.5}
    settings |= {"model_settings": [["one", "gaussian", n, taken] for n in range(2)]}
    settings |= {"machine": {"processor": "some", "cores": 2}, "workers": 1, "load": 1.25}
    return StudyResult(
        pd.DataFrame(rows, columns=columns),
        labels=labels,
        settings=settings,
        notes=("SVGD was stopped by the clock.",),
    )


def test_the_verdict_follows_the_numbers():
    said = findings.findings(made_up())
    # One sentence for each form, however many M there are.
    assert len(said) == 2
    assert (
        "on 1 of 2 combinations of data set and M, Q-Transform is the fastest of those" in said[0]
    )
    assert "elsewhere it is Gibbs (1). It is that low itself on 1 of 2." in said[0]
    assert "a gradient-based algorithm on none of 2 and Gibbs on 2 of 2." in said[0]


def test_an_order_of_what_is_not_finished_says_so_in_its_sentence():
    study = made_up()
    assert "(unfinished: 2 of at least 5 repetitions): on 1 of 2" in findings.findings(study)[0]
    place = ("one", "gaussian", "svgd", 5, 0, 1, True)
    steps = pd.DataFrame([(*place, "steps", 30.0)], columns=study.values.columns)
    values = pd.concat([study.values, steps], ignore_index=True)
    cut = replace(study, values=values, settings=study.settings | {"iterations": [10, 2000]})
    short = "; 1 of 1 chains and descents stopped by the clock)"
    assert all(short in sentence for sentence in findings.findings(cut))
    titles = [table["title"] for table in REPORT.sections(cut)[0]["tables"]]
    assert sum(title.endswith(short) for title in titles) == 1
    more = pd.concat([study.values.assign(repetition=n) for n in range(5)], ignore_index=True)
    assert "unfinished" not in " ".join(findings.findings(replace(study, values=more)))


def test_findings_of_descents_are_those_of_the_numbers():
    """Random restarts at 10 nats and an error of 0.5; a descent in two forms, λ in two ways."""
    rows = []
    for model, least in (("gaussian", 1.0), ("gaussian_1", 20.0)):
        for column, level, error, density in (
            ("q_transform", 30.0, 0.5, 10.0),
            ("random_restarts", 10.0, 0.5, 10.0),
            ("hmc", 40.0, 0.5, 5.0),
            ("svgd", least, 1.0, 7.0),
            ("svgd_published", 25.0, 0.75, 8.0),
        ):
            numbers = {f"{form}_{w}": level for form in findings.FORMS for w in WEIGHTS}
            numbers |= {"error": error, "log_joint": density, "seconds": 1.0}
            numbers |= {"interior_slopes": 0.5}
            place = ("one", model, column, 5, 0, 0, True)
            rows += [(*place, *pair) for pair in numbers.items()]
    labels = {key: column.label for key, column in COLUMNS.items()} | {"one": "First"}
    study = StudyResult(pd.DataFrame(rows, columns=[*VARIED, "quantity", "value"]), labels=labels)
    said = " ".join(findings.findings(study))
    assert "is the lowest on 1 of 1 combinations" in said
    assert "relative error is 2 to 2 times that of random restarts (median 2)" in said
    assert "log joint density lower on 1 of 1" in said
    for part in ("published form none of 1", "interior form none of 1", "relative error 1 of 1"):
        assert part in said
    # Of λ = 1 neither descent lies below 10; with λ from the data one of two does.
    assert "λ = 1 (First)" in said and "none of 2 have smaller slopes" in said
    assert "with λ from the data 1 of 2." in said
    assert "50% of the discrepancy of random restarts and of 50% of that of chains" in said
    assert "a median of 4 times smaller" in said


def test_the_document_has_verdict_tables_and_figures():
    study = made_up()
    drawn = REPORT.figures(study)
    assert list(drawn) == ["gaussian_one_5.svg", "gaussian_two_5.svg"]
    for drawing in drawn.values():
        root = etree.fromstring(drawing)
        assert sum(part.tag.endswith("polyline") for part in root.iter()) == 2 * 3
    text, tables = REPORT.document(study, drawn)
    assert text.count("\n**") == 7 and not tables
    few, tables = replace(REPORT, first=2).document(study, drawn)
    assert few.count("\n**") == 2 and tables[TABLES].count("\n\n") == 5
    assert few.endswith("5 more tables are in [tables.csv](stein-study/tables.csv).\n")
    assert "![gaussian_one_5.svg](stein-study/gaussian_one_5.svg)" in text
    assert "| First <data> | published form | Q-Transform | 1 | 1 | Q-Transform | yes |" in text
    assert "| First <data> | 1 (1–1) | 5 (5–5) | 50 (50–50) |" in text
    assert "SVGD was stopped by the clock." in text
    assert "| First <data> | Exponential–Gaussian model | 3 | as made | σ = 0.125 | 2.5 |" in text
    assert "1.2 processes at work on it at the end" in text


def test_a_kept_study_is_what_the_page_reads(tmp_path, monkeypatch):
    monkeypatch.setattr(result, "RESULTS", tmp_path)
    study = made_up()
    REPORT.keep(study, REPORT.figures(study), tmp_path / "docs")
    assert StudyResult.load(tmp_path / "stein.json.gz").values.equals(study.values)
    names = {path.name for path in (tmp_path / "docs").rglob("*.*")}
    assert names == {"stein-study.md", "gaussian_one_5.svg", "gaussian_two_5.svg"}


def test_weights_of_every_solver_agree():
    measured = stein.measure(quick=True)
    values = [row[2] for row in measured["tables"][1]["rows"]]
    assert values[1:] == pytest.approx([values[0]] * 2, rel=1e-4)
    assert {row[1] for row in measured["tables"][0]["rows"]} == {"interior", "paper"}
    assert "Kernel matrix" in as_text(measured)
