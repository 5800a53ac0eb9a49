"""One walk through the app as a person would take it, in a real browser."""

import re

import pytest
from playwright.sync_api import expect

from pages.frame import declared
from tests.browser.conftest import running_server, settle

pytestmark = pytest.mark.browser

EVIL = "<img src=x onerror=window.hacked=1>"


def focus(page) -> str:
    """What the panel says is in focus."""
    settle(page)
    return page.get_by_role("combobox", name="Focus").input_value()


def visit(page, name: str) -> None:
    """Choose a page in the navigation at the top, and beside the heading there."""
    section = next(one.section for one in declared.PAGES if one.title == name)
    page.get_by_role("navigation").get_by_role("link", name=section, exact=True).click()
    first = declared.sections()[section][0].title
    if name != first:
        page.get_by_role("heading", level=1, name=first, exact=True).wait_for()
        page.locator(".st-key-heading").get_by_role("link", name=name, exact=True).click()
    # Until then the page before is still there, with buttons that are called the same.
    page.get_by_role("heading", level=1, name=name, exact=True).wait_for()
    settle(page)


def test_from_one_click_to_a_restored_link(chromium, tmp_path):  # noqa: PLR0915 (one walk)
    with chromium() as page, running_server(tmp_path) as address:
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))

        # One click on Home opens the findings of the digits as they come in.
        page.goto(address)
        page.get_by_role("button", name="Analyse 1,797 digits").click()
        page.wait_for_url("**/overview**", timeout=60_000)
        page.get_by_text("converged restarts", exact=False).first.wait_for(timeout=240_000)
        page.get_by_test_id("stButtonGroup").get_by_text("Factorizations").click()
        page.get_by_text(re.compile(r"Map of \d+ factorizations"), exact=False).first.wait_for()
        settle(page)
        # 60 and 60 restarts, and 200 of the 400 draws.
        page.get_by_text("Map of 320 factorizations").first.wait_for(timeout=240_000)

        # A mode chosen here is in focus on the other pages.
        page.get_by_role("combobox", name="Focus").click()
        page.get_by_role("option", name=re.compile("^mode 1$")).click()
        page.wait_for_url("**focus=mode*")
        visit(page, "Components")
        page.get_by_text("In focus: mode 1").first.wait_for()
        page.get_by_text("a row per factorization").first.wait_for()
        settle(page)

        # Points chosen with a box on the scores come into focus, too.
        visit(page, "Labels")
        page.get_by_text("AUC of each class").first.wait_for(timeout=120_000)
        settle(page, 1500)
        link = page.url
        assert "runs=" in link and "focus=mode" in link

        # Reload keeps the view.
        page.reload()
        page.get_by_text("AUC of each class").first.wait_for()
        assert focus(page) == "mode 1"

        # Upload a table with hostile names: they are shown as text.
        page.goto(f"{address}/data")
        page.get_by_role("tab", name="Upload").click()
        rows = "\n".join(f"{EVIL}{i},{i + 1},{2 * i},{5 - i}" for i in range(5))
        page.locator('input[type="file"]').first.set_input_files(
            {"name": "t.csv", "mimeType": "text/csv", "buffer": f"name,a,{EVIL},c\n{rows}".encode()}
        )
        settle(page)
        before = page.url
        page.get_by_role("button", name="Take these data").click()
        expect(page).not_to_have_url(before, timeout=60_000)
        page.get_by_text("Variance of the residuals").first.wait_for()
        settle(page)
        assert page.evaluate("window.hacked") is None
        kept = page.url

        # A bad file is a sentence, and the data stay.
        page.get_by_role("tab", name="Upload").click()
        page.locator('input[type="file"]').first.set_input_files(
            {"name": "bad.csv", "mimeType": "text/csv", "buffer": b"a,b\n1,2\n3,-4\n"}
        )
        page.get_by_text("negative").first.wait_for()
        assert page.url == kept

        # A long launch can be cancelled as a whole, and the page says so.
        page.goto(f"{address}/run")
        settle(page)
        page.get_by_text("Advanced:").click()
        page.get_by_role("spinbutton", name="Factorizations").fill("50000")
        page.keyboard.press("Tab")
        settle(page)
        page.get_by_test_id("stBaseButton-primary").filter(has_text="Analyse").click()
        page.wait_for_url("**/overview**")
        visit(page, "Runs")
        cancel = page.get_by_role("button", name="Cancel", exact=True)
        expect(cancel).to_have_count(1)
        cancel.click()
        page.get_by_text("cancelled").first.wait_for()
        expect(cancel).to_have_count(0, timeout=60_000)
        assert errors == []

    # The same link on a server that has just started.
    with chromium() as page, running_server(tmp_path) as fresh:
        page.goto(re.sub(r"http://[^/]+", fresh, link))
        page.get_by_text("AUC of each class").first.wait_for()
        assert focus(page) == "mode 1"
        assert page.get_by_text("Page not found").count() == 0
