"""A hint that somebody has closed stays away from that browser, and from no other one."""

import pytest

from tests.browser.conftest import settle

pytestmark = pytest.mark.browser


def test_a_closed_hint_stays_away_from_the_browser_that_closed_it(chromium, usual):
    address, run_ids = usual
    runs = ",".join(run_ids)
    with chromium() as page:
        page.goto(f"{address}/overview?runs={runs}")
        page.get_by_role("button", name="Got it").click()
        page.get_by_role("button", name="Got it").wait_for(state="detached")
        settle(page)
        page.reload()
        page.get_by_role("heading", name="Export").wait_for()
        settle(page)
        assert page.get_by_role("button", name="Got it").count() == 0
    with chromium() as other:
        other.goto(f"{address}/overview?runs={runs}")
        other.get_by_role("button", name="Got it").wait_for()
