"""Side by side: two pages of two runs, of which one follows what is set in the other."""

import pytest

from tests.browser.conftest import finished_runs, running_server, settle

pytestmark = pytest.mark.browser


def test_what_is_set_on_one_side_is_set_on_the_other(chromium, tmp_path):
    one, other = finished_runs(tmp_path)
    with chromium(width=1600) as page, running_server(tmp_path) as address:
        page.goto(f"{address}/panes?pane=modes&left={one}&right={other}")
        panes = [page.frame_locator(f"iframe >> nth={i}") for i in (0, 1)]
        for pane in panes:
            pane.get_by_role("heading", level=1, name="Modes").wait_for()
            pane.get_by_text("Each point is one whole factorization").first.wait_for()
        settle(page, 2000)
        panes[0].locator("[data-testid=stExpandSidebarButton]").click()
        # By keyboard: a list that opens in a pane moves while the page around it scrolls.
        panes[0].get_by_label("Distance", exact=True).first.focus()
        page.keyboard.press("ArrowDown")
        panes[0].get_by_role("option").nth(1).wait_for()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_function(
            "() => [...document.querySelectorAll('iframe')].every("
            "frame => /metric=(?!max_angle)/.test(frame.contentWindow.location.search))"
        )
        panes[1].get_by_text("Each point is one whole factorization").first.wait_for()
        searches = page.evaluate(
            "[...document.querySelectorAll('iframe')].map(f => f.contentWindow.location.search)"
        )
        assert one in searches[0] and other in searches[1]
