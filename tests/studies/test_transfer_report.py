"""The printed tables and the figures of the transfer study."""

from xml.etree import ElementTree as etree

import numpy as np

from benchmarks.tables import as_text
from studies.drawing.boxes import LEFT, RIGHT, WIDTH, boxes
from studies.result import full
from studies.transfer.findings import claims
from studies.transfer.report import REPORT


def test_the_stored_study_becomes_tables_and_figures():
    study = full("transfer")
    (result,) = REPORT.sections(study, ())
    rows = result["tables"][0]["rows"]
    assert [row[0] for row in rows] == [claim.claim for claim in claims(study)]
    titles = [table["title"] for table in result["tables"]]
    for number in (11, 12, 13, 14, 33):
        assert any(f"figure {number}" in title for title in titles)
    last = [table for table in result["tables"] if "iterations, random starts" in table["columns"]]
    assert [table["columns"][-1] for table in last] == ["seconds, Q-Transform with learning"] * 2
    for table in result["tables"]:
        assert all(len(row) == len(table["columns"]) for row in table["rows"])
    assert "Column projection" in as_text(result)
    drawn = REPORT.figures(study)
    assert list(drawn) == [f"figure_{number}.svg" for number in (11, 12, 13, 14, 33)]
    for drawing in drawn.values():
        assert "nan" not in drawing
        etree.fromstring(drawing)


def test_a_box_lies_between_the_quartiles():
    values = np.arange(101.0)
    drawing = etree.fromstring(boxes("t < u", "x", {"a & b": values}, {"line": 100.0}))
    (box,) = [part for part in drawing.iter() if part.tag.endswith("rect") and "x" in part.attrib]
    # The axis goes from 0 to 100, and both ends are where the values' range ends.
    assert float(box.get("x")) == LEFT + 0.25 * (WIDTH - LEFT - RIGHT)
    assert float(box.get("width")) == 0.5 * (WIDTH - LEFT - RIGHT)
