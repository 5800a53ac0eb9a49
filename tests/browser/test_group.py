"""A group that compares samplers, in a real browser: from one launch to what others are handed."""

import re

import numpy as np
import pytest

from bnmf_core import RunStore, laurberg
from tests.browser.conftest import running_server, settle
from tests.browser.test_walk import visit

pytestmark = pytest.mark.browser


def launch(page, address, dataset_id):
    """Two repetitions of what is recommended, each with the same budget; ids of the runs."""
    page.goto(f"{address}/run?data={dataset_id}")
    page.get_by_text("Advanced:").click()
    page.get_by_role("spinbutton", name="Factorizations").fill("30")
    page.get_by_role("tab", name="Seed").click()
    page.get_by_role("spinbutton", name="Repetitions").fill("2")
    page.get_by_role("spinbutton", name="Budget").fill("4")
    page.get_by_role("textbox", name="Name").fill("Two methods at equal cost")
    page.keyboard.press("Tab")
    settle(page)
    page.get_by_test_id("stBaseButton-primary").filter(has_text="Analyse").click()
    page.wait_for_url("**/overview**")
    page.get_by_text("converged restarts found").first.wait_for(timeout=240_000)
    settle(page)
    return re.search(r"runs=([^&]+)", page.url)[1]


def test_from_a_launch_to_a_report_and_an_archive(chromium, tmp_path):
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    data = laurberg("two", noise=0.001, rng=np.random.default_rng(0))
    dataset_id = RunStore(tmp_path / "here").add_dataset(data)
    errors = []
    with chromium() as page:
        page.on("pageerror", lambda error: errors.append(str(error)))
        with running_server(tmp_path / "here") as address:
            runs = launch(page, address, dataset_id)
            kept = [run for run in RunStore(tmp_path / "here").runs() if run.id in runs]
            methods = {run.spec.algorithm: run.id for run in kept}
            assert len(methods) > 1 and len(kept) == 2 * len(methods)
            assert {run.spec.seed for run in kept} == {0, 1}
            assert {run.spec.seconds for run in kept} == {4.0}

            # One scoreboard, of which every number leads to where it comes from.
            visit(page, "Scoreboard")
            page.get_by_text("Of repetitions: the median").wait_for(timeout=240_000)
            settle(page)
            board = page.get_by_test_id("stDataFrame").first.bounding_box()
            page.mouse.click(board["x"] + board["width"] / 2, board["y"] + 38 + 17)
            way = page.get_by_role("link", name=": open")
            way.wait_for()
            way.click()
            page.wait_for_url(re.compile("/(overview|coverage|quality)"))
            settle(page)

            # Two columns: a method in each.
            page.goto(f"{address}/sessions?runs={','.join(list(methods.values())[:2])}")
            page.get_by_text("The number counts the balls").first.wait_for()

            # What is handed on.
            page.goto(f"{address}/overview?runs={runs}")
            said = page.get_by_text("converged restarts found").first.inner_text()
            for button, file in (("Report (HTML)", "some.html"), ("Archive (ZIP)", "some.zip")):
                with page.expect_download() as saved:
                    page.get_by_role("button", name=button).click()
                saved.value.save_as(tmp_path / file)
        page.goto(f"file://{tmp_path / 'some.html'}")
        page.locator("body[data-ready=yes]").wait_for()
        assert page.get_by_text(said).count() == 1

        # On another machine, with nothing but the archive.
        with running_server(tmp_path / "there") as address:
            page.goto(f"{address}/runs")
            page.get_by_text("Open an archive").click()
            page.locator("input[type=file]").set_input_files(tmp_path / "some.zip")
            page.get_by_role("button", name="Open what they say").click()
            page.get_by_text(said).wait_for()
            visit(page, "Scoreboard")
            page.get_by_text("Of repetitions: the median").wait_for(timeout=240_000)
        assert errors == []
