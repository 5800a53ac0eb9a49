"""The report: everything inside, nothing outside, never too large."""

import base64
import gzip
import io
import json
import re
from functools import partial
from html import escape
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from PIL import Image

from bnmf_core.figures import factorizations
from bnmf_core.figures.thinning import thinned
from bnmf_core.share import report
from bnmf_core.share.flat import flattened, too_many
from bnmf_core.share.pictures import Picture, Subject, pictures
from tests.share.conftest import HOSTILE

pytestmark = pytest.mark.slow


def unpacked(page: str, name: str) -> str:
    """What the script of the page reads from the block with this id."""
    packed = re.search(rf'<script type="text/plain" id="{name}">([^<]*)</script>', page)
    return gzip.decompress(base64.b64decode(packed[1])).decode()


@pytest.fixture(scope="module")
def page(answer):
    return report.report(answer).decode()


@pytest.fixture(scope="module")
def content(page):
    return json.loads(unpacked(page, "content"))


def test_it_is_at_most_five_megabytes(answer, page):
    assert len(page.encode()) <= 5_000_000
    assert len(report.report(answer, limit=10_000_000)) == len(page.encode())


def test_its_title_is_the_name_of_the_launch():
    dataset, named, other = (
        SimpleNamespace(**d)
        for d in (
            {"name": "coffee"},
            {"launch_name": "Roasts"},
            {"launch_name": ""},
        )
    )
    told = [
        report.title(SimpleNamespace(dataset=dataset, rank=5, runs=runs))
        for runs in ([named, named], [named, other], [other])
    ]
    assert told == ["Roasts: coffee, 5 components", *2 * ["coffee, 5 components"]]


def test_findings_stand_in_it_without_a_script(answer, page):
    body = page[: page.index('<script type="text/plain"')]
    for finding in answer.findings:
        assert escape(finding.sentence) in body
    assert answer.comparison.dataset.hash in body
    assert "paper 1: A. Masood" in body
    assert "Schmidt, Winther &amp; Hansen 2009: M. N. Schmidt" in body


def test_names_from_files_are_text(page, content):
    outside = re.sub(r'<script type="text/plain"[^<]*</script>', "", page)
    assert "<img" not in outside
    assert HOSTILE not in outside
    assert outside.count("</script>") == 1
    # The script puts text into the page as text only.
    script = page[page.rindex("<script>") :]
    assert "innerHTML" not in script and "insertAdjacentHTML" not in script
    assert content["runs"][0]["name"].startswith("</script>")


def test_nothing_is_asked_of_any_host(page):
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert "default-src 'none'" in policy and "http" not in policy
    outside = page[: page.index('id="plotly"')]
    asked = []

    class Asking(HTMLParser):
        def handle_starttag(self, tag, attrs):
            asked.extend((tag, key) for key, _ in attrs if key in ("src", "href", "style"))

    Asking().feed(outside)
    assert asked == []


def test_every_picture_has_its_data(answer, content):
    drawn = pictures(Subject(answer))
    assert [one["key"] for one in content["pictures"]] == [one.key for one in drawn]
    assert {"map", "components", "spreads", "share", "discovery", "coverage", "auc_1"} <= {
        one.key for one in drawn
    }
    for told, picture in zip(content["pictures"], drawn, strict=True):
        assert len(told["table"]["rows"]) == len(picture.table)
    map_table = content["pictures"][0]["table"]
    x = [row[map_table["columns"].index("x")] for row in map_table["rows"]]
    np.testing.assert_allclose(x, drawn[0].table["x"], rtol=1e-7)


def test_all_factorizations_are_listed_with_their_numbers(answer, content):
    table = content["factorizations"]
    keys = [column["key"] for column in table["columns"]]
    members = answer.comparison.members
    assert len(table["rows"]) == len(members)
    errors = [row[keys.index("error")] for row in table["rows"]]
    np.testing.assert_allclose(errors, members["error"], rtol=1e-7)
    modes = [row[keys.index("mode")] for row in table["rows"]]
    np.testing.assert_array_equal(modes, answer.modes.labels)


def test_points_know_their_run_and_their_row(answer, content):
    told = next(one for one in content["pictures"] if one["key"] == "map")
    of_run = answer.comparison.members["run"].to_numpy()
    found = []
    for run, members in zip(told["runs"], told["members"], strict=True):
        if members is not None:
            rows = [row for point in members for row in point]
            assert set(of_run[rows]) == {answer.comparison.run_ids[run]}
            found += rows
    assert sorted(found) == list(range(of_run.size))


def test_a_point_that_covers_others_knows_their_rows(answer, monkeypatch):
    monkeypatch.setattr(factorizations, "thinned", partial(thinned, most=12))
    told = json.loads(unpacked(report.report(answer).decode(), "content"))["pictures"]
    members = next(one for one in told if one["key"] == "map")["members"]
    points = [point for of_run in members if of_run is not None for point in of_run]
    assert len(points) < len(answer.comparison.members)
    rows = [row for point in points for row in point]
    assert sorted(rows) == list(range(len(answer.comparison.members)))


def test_many_points_become_a_picture_and_it_says_so(answer, page, monkeypatch):
    monkeypatch.setattr("bnmf_core.share.flat.MOST_POINTS", 20)
    flat = report.report(answer).decode()
    assert "drawn as a picture" in flat and "drawn as a picture" not in page
    told = json.loads(unpacked(flat, "content"))["pictures"][0]
    assert told["figure"]["layout"]["images"]
    assert len(told["table"]["rows"]) == len(answer.comparison.members)


def test_what_is_too_large_gives_way_the_largest_first(answer, monkeypatch):
    """Numbers that cannot be packed fit only as a picture and a table that is cut."""
    rng = np.random.default_rng(0)
    z = rng.random((200, 300))
    large = Picture(
        "large", "Large.", pd.DataFrame(rng.random((4000, 60))), go.Figure(go.Heatmap(z=z))
    )
    small = pictures(Subject(answer))[0]
    monkeypatch.setattr(report, "pictures", lambda subject: [small, large])
    page = report.report(answer, limit=2_500_000)
    assert len(page) <= 2_500_000
    told = json.loads(unpacked(page.decode(), "content"))["pictures"]
    assert len(told[0]["table"]["rows"]) == len(small.table)
    assert len(told[1]["table"]["rows"]) == report.FEWER
    assert b"drawn as a picture" in page and b"cut after 500 rows" in page


def test_a_flat_figure_shows_its_points_where_they_were():
    rng = np.random.default_rng(0)
    points = rng.random((6000, 2)) * [10, 4]
    points[0] = [0, 0]
    figure = go.Figure(
        go.Scatter(x=points[:, 0], y=points[:, 1], mode="markers", marker={"color": "#ff0000"})
    )
    assert too_many(figure) and not too_many(go.Figure(go.Scatter(x=[1], y=[2])))
    flat = flattened(figure)
    assert sum(np.size(trace.x) for trace in flat.data) == 1
    (image,) = flat.layout.images
    pixels = decoded(image.source)
    height, width = pixels.shape[:2]
    across = (points[:, 0] - image.x) / image.sizex * width
    down = (image.y - points[:, 1]) / image.sizey * height
    drawn = pixels[down.astype(int), across.astype(int)]
    assert (drawn[:, 0] > 200).all() and (drawn[:, 3] > 0).all()
    assert (pixels[:20, :20, 3] == 0).any()


@pytest.mark.parametrize("reversed_axis", [False, True])
def test_a_flat_heat_map_has_its_cells_the_right_way_up(reversed_axis):
    z = np.zeros((600, 600))
    z[0, 0] = 1.0
    figure = go.Figure(go.Heatmap(z=z, colorscale=[[0, "rgb(0,0,0)"], [1, "rgb(255,255,255)"]]))
    if reversed_axis:
        figure.update_yaxes(autorange="reversed")
    flat = flattened(figure)
    pixels = decoded(flat.layout.images[0].source)
    bright = np.argwhere(pixels[..., 0] > 128)
    # The first row of a heat map lies at the bottom unless the axis is reversed.
    assert (bright[:, 0].max() < 20) == reversed_axis
    assert bright[:, 1].max() < 20


def decoded(source: str) -> np.ndarray:
    """The pixels (height, width, 4) of a picture in a figure."""
    content = base64.b64decode(source.split(",")[1])
    return np.asarray(Image.open(io.BytesIO(content)).convert("RGBA"))
