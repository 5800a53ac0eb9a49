"""A page that is being left while the server is slow."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import finished_runs, running_server, settle
from tests.browser.test_walk import visit

pytestmark = pytest.mark.browser


class SlowLine:
    """What a browser sends to the server, kept back while ``held`` is a list."""

    def __init__(self, page) -> None:
        self.held = None
        page.route_web_socket("**/_stcore/stream", self._between)

    def _between(self, socket) -> None:
        server = socket.connect_to_server()

        def send(message) -> None:
            server.send(message) if self.held is None else self.held.append((server, message))

        socket.on_message(send)

    def release(self) -> None:
        held, self.held = self.held, None
        for server, message in held:
            server.send(message)


def test_a_click_on_a_page_that_is_being_left_does_no_harm(chromium, tmp_path):
    finished_runs(tmp_path)
    with chromium() as page, running_server(tmp_path) as address:
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        line = SlowLine(page)
        page.goto(f"{address}/run")
        settle(page)
        page.get_by_text("Advanced:").click()
        page.get_by_role("spinbutton", name="Factorizations").fill("50000")
        page.keyboard.press("Tab")
        settle(page)
        page.get_by_test_id("stBaseButton-primary").filter(has_text="Analyse").click()
        page.wait_for_url("**/overview**")
        cancel = page.get_by_role("button", name="Cancel", exact=True)
        expect(cancel).to_have_count(1, timeout=60_000)
        settle(page)
        line.held = []
        page.get_by_role("navigation").get_by_role("link", name="Rank", exact=True).click()
        cancel.click()
        page.wait_for_timeout(1000)
        line.release()
        page.get_by_role("heading", level=1, name="Rank", exact=True).wait_for()
        settle(page)
        assert errors == []
        # The menus, and what stands on the page that was asked for, take clicks again.
        visit(page, "Data")
        visit(page, "Runs")
        cancel.first.click()
        page.get_by_text("cancelled").first.wait_for()
