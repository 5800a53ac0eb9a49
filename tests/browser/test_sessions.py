"""Sessions in a real browser: opened from the navigation, whole on the first screen."""

import re
from urllib.parse import unquote

import pytest

from tests.browser.conftest import rest
from tests.browser.test_every_chart import FIRST
from tests.browser.test_walk import visit

pytestmark = pytest.mark.browser


def test_it_opens_from_the_navigation_and_its_picture_is_whole(chromium, usual):
    address, run_ids = usual
    with chromium(1360, 850) as page:
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{address}/overview?runs={','.join(run_ids)}")
        page.get_by_role("heading", level=1, name="Overview").wait_for()
        visit(page, "Sessions")
        page.locator(".js-plotly-plot").first.wait_for()
        rest(page)
        top, bottom, height = page.evaluate(FIRST)
        assert 0 <= top and bottom <= height
        assert all(run in page.url for run in run_ids)
        # Columns of numbers stand below those of the picture.
        column = page.locator(".js-plotly-plot .annotation", has_text="Gibbs").bounding_box()
        number = page.get_by_text("chains change mode").last
        if number.count():
            assert abs(number.bounding_box()["x"] - column["x"]) < 20
        assert errors == []


def test_the_address_of_two_sides_leads_to_their_runs_in_columns(chromium, usual):
    address, (one, other) = usual
    with chromium() as page:
        page.goto(f"{address}/panes?pane=modes&left={one}&right={other},{one}")
        page.wait_for_url(re.compile("/sessions"))
        page.get_by_role("heading", level=1, name="Sessions").wait_for()
        rest(page)
        assert re.search("runs=([^&]*)", unquote(page.url))[1].split(",") == [one, other]
        assert "left" not in page.url and "pane=" not in page.url
