"""A click on a chart brings a component or an observation forward, and the address says so."""

import re

import pytest

from tests.browser.conftest import rest

pytestmark = pytest.mark.browser


def test_a_click_brings_forward_and_a_second_one_back_again(chromium, usual):
    address, run_ids = usual
    with chromium() as page:
        page.goto(f"{address}/samples?runs={','.join(run_ids)}")
        rest(page)
        bar = page.locator(".barlayer .point path").first
        middle(page, bar.bounding_box())
        page.wait_for_url(re.compile("sample=observation"))
        rest(page)
        page.get_by_text("Shares of components in observation").first.wait_for()
        middle(page, bar.bounding_box())
        page.wait_for_url(lambda now: "sample=" not in now)
        page.goto(f"{address}/components?runs={','.join(run_ids)}")
        rest(page)
        box = page.locator(".js-plotly-plot .scatterlayer .point").nth(1).bounding_box()
        page.mouse.click(box["x"] - 80, box["y"])  # beside the mark, in its cell
        page.wait_for_url(re.compile("component=2"))


def middle(page, box):
    """Click in the middle of a box."""
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def test_a_circle_of_the_map_is_a_mode_in_focus(chromium, usual):
    address, run_ids = usual
    with chromium() as page:
        page.goto(f"{address}/overview?runs={','.join(run_ids)}")
        page.get_by_text("Export").wait_for()
        rest(page)
        circle = page.locator(".js-plotly-plot").first.locator(".scatterlayer .point").last
        middle(page, circle.bounding_box())
        page.wait_for_url(re.compile("focus=mode"))
        rest(page)
        assert page.locator('[data-testid="stException"]').count() == 0
        middle(page, circle.bounding_box())
        page.wait_for_url(lambda now: "focus=" not in now)
