"""The printed layout, the figures and the page of documentation of the Stein study."""

from xml.etree import ElementTree as etree

import pandas as pd
import pytest

from benchmarks import stein
from benchmarks.tables import as_text
from studies import result
from studies.result import StudyResult
from studies.stein import findings
from studies.stein.plan import VARIED
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
                    rows += [
                        (problem, "gaussian", column, 5, repetition, point, point == 1, key, value)
                        for key, value in numbers.items()
                    ]
    columns = [*VARIED, "quantity", "value"]
    labels = {"one": "First <data>", "two": "Second"}
    labels |= {"q_transform": "Q-Transform", "gibbs": "Gibbs", "svgd": "SVGD"}
    settings = {"repetitions": 2, "holdout": 0.1, "seconds": 6.0, "seed": 0, "ranks": {}}
    settings |= {"machine": {"processor": "some", "cores": 2}, "workers": 1}
    return StudyResult(
        pd.DataFrame(rows, columns=columns),
        labels=labels,
        settings=settings,
        notes=("SVGD was stopped by the clock.",),
    )


def test_the_verdict_follows_the_numbers():
    said = " ".join(findings.findings(made_up()))
    assert "lowest discrepancy (within 5%) on 1 of 2 data sets (First <data>)" in said
    assert "not on Second (rank 2, 4 times Gibbs)" in said
    assert "a gradient-based algorithm is among the two lowest on none of 2" in said
    assert "Gibbs is among the two lowest on 2 of 2" in said


def test_the_document_has_verdict_tables_and_figures():
    study = made_up()
    drawn = REPORT.figures(study)
    assert list(drawn) == ["gaussian_one_5.svg", "gaussian_two_5.svg"]
    for drawing in drawn.values():
        root = etree.fromstring(drawing)
        assert sum(part.tag.endswith("polyline") for part in root.iter()) == 2 * 3
    text = REPORT.document(study, drawn)
    assert "![gaussian_one_5.svg](stein-study/gaussian_one_5.svg)" in text
    assert "| First <data> | published form | Q-Transform | 1 | 1 | Q-Transform | yes |" in text
    assert "| First <data> | 1 (1–1) | 5 (5–5) | 50 (50–50) |" in text
    assert "SVGD was stopped by the clock." in text


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
