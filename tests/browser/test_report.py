"""A report opened from a file, without a network."""

import pytest

from bnmf_core.analysis import structure
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.findings.answer import Answer
from bnmf_core.share import report
from bnmf_core.store.run_store import RunStore
from tests.browser.conftest import finished_runs, running_server, until

pytestmark = pytest.mark.browser

HOSTILE = "<img src=http://127.0.0.2/x onerror=window.hit=1>"


@pytest.fixture
def opened(chromium, tmp_path):
    """A report of two runs in a browser that has no network: the page, and what went wrong."""
    run_ids = finished_runs(tmp_path, names=[HOSTILE, "Second"])
    comparison = open_comparison(RunStore(tmp_path), run_ids)
    threshold = structure.suggested_threshold(comparison, "max_angle")
    answer = Answer(comparison, "max_angle", structure.modes_at(comparison, "max_angle", threshold))
    (tmp_path / "report.html").write_bytes(report.report(answer))
    wrong = []
    with chromium() as page:
        page.context.set_offline(True)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda told: wrong.append(told.text) if told.type == "error" else None)
        page.on(
            "request",
            lambda request: (
                wrong.append(request.url)
                if not request.url.startswith(("file:", "data:", "blob:"))
                else None
            ),
        )
        page.goto(f"file://{tmp_path / 'report.html'}")
        page.locator("body[data-ready=yes]").wait_for()
        yield page, answer, wrong


def test_everything_is_shown_without_a_network(opened):
    page, answer, wrong = opened
    for finding in answer.findings:
        assert page.get_by_text(finding.sentence).count() == 1
    figures = page.locator("figure .js-plotly-plot")
    assert figures.count() >= 5
    for i in range(figures.count()):
        assert figures.nth(i).locator(".main-svg").count() >= 1
    rows = page.locator("#factorizations tbody tr")
    assert rows.count() == len(answer.comparison.members) + 1
    middle = float(rows.first.locator("td").nth(3).inner_text())
    assert middle == pytest.approx(answer.comparison.members["error"].median(), rel=1e-4)
    assert page.evaluate("window.hit") is None
    assert wrong == []


def test_the_toolbox_highlights_renames_hides_and_colours(opened):
    page, answer, wrong = opened
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_label("Highlight").fill("second")
    of_second = int((answer.comparison.members["run"] == answer.comparison.run_ids[1]).sum())
    until(
        page, "n => document.querySelectorAll('#factorizations tr.marked').length === n", of_second
    )
    page.get_by_label("Name of Second").fill("Chains <b>")
    page.get_by_label("Name of Second").press("Enter")
    page.locator("figure .legendtext", has_text="Chains").first.wait_for()
    page.get_by_label("Show Second").uncheck()
    until(
        page,
        "n => document.querySelectorAll('#factorizations tbody tr').length === n + 1",
        len(answer.comparison.members) - of_second,
    )
    page.get_by_role("button", name="As it was").click()
    until(
        page,
        "n => document.querySelectorAll('#factorizations tbody tr').length === n + 1",
        len(answer.comparison.members),
    )
    page.keyboard.press("Escape")
    assert not page.locator("#toolbox").is_visible()
    assert wrong == []


def test_the_data_of_a_figure_can_be_saved(opened):
    page, answer, wrong = opened
    with page.expect_download() as saved:
        page.locator("#picture_0").get_by_role("button", name="Data (CSV)").click()
    text = saved.value.path().read_text()
    assert len(text.strip().split("\n")) == len(answer.comparison.members) + 1
    with page.expect_download() as saved:
        page.locator("#picture_0").get_by_role("button", name="SVG").click()
    assert "<svg" in saved.value.path().read_text()
    assert wrong == []


def test_an_archive_from_one_machine_opens_on_another(chromium, tmp_path):
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    run_ids = finished_runs(tmp_path / "here", names=["First", "Second"])
    with chromium() as page:
        with running_server(tmp_path / "here") as address:
            page.goto(f"{address}/overview?runs={','.join(run_ids)}")
            page.get_by_role("button", name="Archive (ZIP)").wait_for()
            said = page.get_by_text("converged restarts found").first.inner_text()
            with page.expect_download() as saved:
                page.get_by_role("button", name="Archive (ZIP)").click()
            saved.value.save_as(tmp_path / "some.zip")
        with running_server(tmp_path / "there") as address:
            page.goto(f"{address}/runs")
            page.get_by_text("Open an archive").click()
            page.locator("input[type=file]").set_input_files(tmp_path / "some.zip")
            page.get_by_role("button", name="Open what they say").click()
            page.get_by_text(said).wait_for()
            assert set(run_ids) == {run.id for run in RunStore(tmp_path / "there").runs()}
