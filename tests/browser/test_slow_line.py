"""On a slow line parts of the page arrive late; nothing that was set is lost by that."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import after_three_seconds, settle

pytestmark = pytest.mark.browser


def test_recommended_algorithms_stay_when_their_buttons_arrive_late(chromium, usual):
    address, _ = usual
    with chromium() as page:
        page.route("**/static/js/ButtonGroup*.js", after_three_seconds)
        page.goto(f"{address}/run")
        page.get_by_text("Advanced:").click()
        count = page.get_by_role("spinbutton", name="Factorizations")
        for number in ("50", "40"):
            count.fill(number)
            page.keyboard.press("Tab")
            page.get_by_role("button", name="Random restarts").wait_for()
            settle(page)
        assert page.get_by_role("spinbutton", name="Number of components").input_value() == "3"
        expect(page.get_by_test_id("stBaseButton-primary")).to_be_enabled()
        page.get_by_text(f"{number} random restarts").wait_for()
