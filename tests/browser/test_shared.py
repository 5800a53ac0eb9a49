"""A server that two people share, each with a browser of their own."""

import time
from contextlib import contextmanager

import pytest
from playwright.sync_api import TimeoutError as NothingCame
from playwright.sync_api import expect

from bnmf_core.runs.examples import EXAMPLES
from bnmf_core.store.shares import Shares
from tests.browser.conftest import rest, running_server, settle
from tests.reliability.people import person

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@contextmanager
def browser_of_another(page):
    """A page of a browser that shares nothing with this one's."""
    context = page.context.browser.new_context()
    another = context.new_page()
    another.set_default_timeout(60_000)
    yield another
    context.close()


def test_runs_are_their_owners_are_shown_by_a_link_and_no_longer_when_it_is_taken_back(
    chromium, tmp_path, monkeypatch
):
    monkeypatch.setenv("BNMF_SHARED", "1")
    example = EXAMPLES["two_solutions"]  # the smallest
    with chromium() as anna, running_server(tmp_path) as address, browser_of_another(anna) as ben:
        anna.goto(address)
        anna.get_by_role("button", name=f"Analyse {example.label}").click()
        anna.get_by_text("Export").wait_for()
        settle(anna, 500)
        (cookie,) = [one for one in anna.context.cookies() if one["name"] == "bnmf_owner"]
        assert cookie["httpOnly"] and cookie["sameSite"] == "Lax"
        assert "bnmf_owner" not in anna.evaluate("document.cookie")
        # Also from the archive page of links: an address alone shows nothing.
        runs = anna.url.partition("runs=")[2].partition("&")[0]
        ben.goto(f"{address}/overview?runs={runs}")
        ben.get_by_text("not found").first.wait_for()
        ben.goto(f"{address}/runs")
        ben.get_by_text("Nothing has been run yet").wait_for()

        anna.get_by_role("button", name="Show it to others").click()
        anna.get_by_role("button", name="Take it back").wait_for()
        link = anna.get_by_test_id("stCode").locator("code").inner_text()
        ben.goto(link)
        ben.get_by_text("is shared with you").wait_for()
        ben.get_by_role("heading", level=1, name="Overview").wait_for()
        ben.get_by_text("Export").wait_for()
        # While stages still end, the button may be taken away with what it is making.
        rest(ben, 300)
        with ben.expect_download() as archive:
            ben.get_by_role("button", name="Archive (ZIP)").click()
        archive.value.save_as(tmp_path / "shown.zip")
        ben.get_by_test_id("stButtonGroup").get_by_text("Factorizations").click()
        ben.get_by_text("Each point is one whole factorization").first.wait_for()
        ben.get_by_text("is shared with you").wait_for()

        still_open = ben.context.new_page()
        still_open.goto(link)
        still_open.get_by_role("button", name="Archive (ZIP)").wait_for()
        anna.get_by_role("button", name="Take it back").click()
        anna.get_by_role("button", name="Show it to others").wait_for()
        # A page that is open still hands nothing out any more.
        with pytest.raises(NothingCame), still_open.expect_download(timeout=4000):
            still_open.get_by_role("button", name="Archive (ZIP)").click()
        still_open.close()
        ben.goto(link)
        ben.get_by_text("taken back").wait_for()
        # What he took with him is his: among his own runs it is opened, and can be changed.
        ben.get_by_role("button", name="To my own runs").click()
        ben.goto(f"{address}/runs")
        ben.get_by_text("Open an archive").click()
        ben.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(tmp_path / "shown.zip")
        ben.get_by_text("runs are here now").wait_for()
        expect(ben.get_by_text("More").first).to_be_visible()
        with running_server(tmp_path) as started_again:
            anna.goto(f"{started_again}/runs")
            anna.get_by_role("button", name="Open", exact=True).first.wait_for()
    assert len(list((tmp_path / "owners").iterdir())) == 2


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_thirty_browsers_look_at_one_link(chromium, tmp_path, monkeypatch, promise):
    """All at once, each a browser of its own; a picture is there for everyone, and no error."""
    monkeypatch.setenv("BNMF_HOME", str(tmp_path))
    monkeypatch.setenv("BNMF_SHARED", "1")
    me = person(tmp_path, 0)
    link = Shares(tmp_path / "shares").make(me.owner, [me.runs]).token
    errors: list[str] = []
    with chromium() as first, running_server(tmp_path) as address:
        contexts = [first.context.browser.new_context() for _ in range(30)]
        pages = [context.new_page() for context in contexts]
        for page in pages:
            page.set_default_timeout(300_000)
            page.on("pageerror", lambda error: errors.append(str(error)))
        began, waited = time.monotonic(), []
        for page in pages:
            page.goto(f"{address}/overview?shown={link}&runs={me.runs}", wait_until="commit")
        for page in pages:
            page.get_by_text("is shared with you").wait_for()
            page.get_by_test_id("stPlotlyChart").first.wait_for()
            waited.append(time.monotonic() - began)
        for page in pages:
            assert page.get_by_role("button", name="Show it to others").count() == 0
            page.get_by_role("link", name="Components").first.click()
        for page in pages:
            page.get_by_role("heading", level=1, name="Components").wait_for()
            rest(page)
        for context in contexts:
            context.close()
    assert not errors and "Traceback" not in (tmp_path / "server.log").read_text()
    promise(f"30 browsers on one link: a picture in the last after {max(waited):.0f} s")
