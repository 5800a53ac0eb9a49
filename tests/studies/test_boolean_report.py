"""The printed tables and the figures of the study of binary matrices."""

import base64
import zlib
from xml.etree import ElementTree as etree

import numpy as np
import pytest

from benchmarks.tables import as_text
from studies.__main__ import main
from studies.boolean.measure import BooleanPlan
from studies.boolean.plan import BooleanStudy
from studies.boolean.report import REPORT
from studies.drawing.panels import SIDE, Panel, panels

FEW = BooleanPlan(30, 40, 50, 2, 20, 6, 64, 3, 4)


@pytest.fixture(scope="module")
def study():
    return BooleanStudy(FEW, problems=("implied_clean",), columns=("flat", "normal")).make()


def test_tables_stand_beside_the_published_ones(study):
    (section,) = REPORT.sections(study, ())
    titles = [table["title"] for table in section["tables"]]
    for words in ("Table 4.1", "Table 4.2", "600k", "2M", "Exact samplers", "Three variables"):
        assert any(words in title for title in titles), words
    for table in section["tables"]:
        assert table["rows"] and all(len(row) == len(table["columns"]) for row in table["rows"])
    (first,) = [t for t in section["tables"] if "4.1" in t["title"] and "rank 30" in t["title"]]
    theirs = [row[4:8] for row in first["rows"] if row[3] == "published"]
    assert theirs[0] == [87.0, 72.0, 0.41, 0.44] and len(theirs) == 6
    (other,) = [t for t in section["tables"] if "4.1" in t["title"] and "rank 20" in t["title"]]
    assert all(row[3] == "ours" for row in other["rows"])
    assert "Laplace" in as_text(section)


def test_every_figure_is_drawn(study):
    drawn = REPORT.figures(study)
    numbers = {name.removesuffix(".svg").removeprefix("figure_") for name in drawn}
    plain = {"3_1", "3_4", "3_5", *(f"4_{i}" for i in range(1, 13))}
    assert numbers == plain
    for drawing in drawn.values():
        assert "nan" not in drawing.replace("base64", "").split("base64,")[0]
        etree.fromstring(drawing)
    assert "![figure_4_12.svg](boolean-study/figure_4_12.svg)" in REPORT.document(study, drawn)[0]


def test_marks_lie_where_their_numbers_say():
    panel = Panel("t", x=(0.0, 2.0), y=(0.0, 4.0), points={"a": [(1.0, 1.0)]})
    (dot,) = panel.marks(SIDE, SIDE)
    assert f'd="M{SIDE / 2:.1f} {SIDE * 0.75:.1f}h0"' in dot
    (stretch,) = Panel("t", stretches={"a": [(0.2, 0.4, 0.5)]}).marks(100, 100)
    assert 'd="M19.0 50.0H41.0"' in stretch


def test_an_image_shows_its_first_row_on_top():
    drawing = etree.fromstring(panels("t", [[Panel("a & b", image=np.array([[0.0], [1.0]]))]]))
    (image,) = [part for part in drawing.iter() if part.tag.endswith("image")]
    file = base64.b64decode(image.get("href").partition(",")[2])
    at = file.index(b"IDAT") + 4
    pixels = zlib.decompressobj().decompress(file[at:])
    assert pixels == b"\0\xff\xff\xff\0\x00\x42\x82"


def test_parts_alone_are_made_and_told_again_from_what_is_stored(tmp_path, capsys):
    one = ["--workers", "1", "--anew", "--out"]
    assert main(["boolean", "--part", "three", *one, str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "(111)" in told and "Table 4.1" not in told
    assert main(["boolean", "--stored", *one, str(tmp_path)]) == 0
    again = capsys.readouterr().out
    assert "three variables: 16 of 16 cells" in again and "2M outputs: 0 of 2 cells" in again
    assert (tmp_path / "figure_4_2.svg").is_file()
    assert main(["boolean", "--stored", *one, str(tmp_path / "other")]) == 1
    assert "Nothing of this study" in capsys.readouterr().err
