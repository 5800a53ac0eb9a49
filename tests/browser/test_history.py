"""The browser's Back and Forward, in a real browser."""

from urllib.parse import parse_qs, urlsplit

import pytest

from tests.browser.conftest import (
    after_three_seconds,
    finished_runs,
    running_server,
    settle,
    until,
)
from tests.browser.test_walk import visit

pytestmark = pytest.mark.browser


def where(page) -> tuple[str, dict[str, list[str]]]:
    """The page that the address names, and its parameters."""
    settle(page, 700)
    address = urlsplit(page.url)
    return address.path, parse_qs(address.query)


def test_back_returns_to_the_page_before_with_its_own_parameters(chromium, usual):
    address, run_ids = usual
    with chromium() as page:
        page.goto(address)
        page.get_by_role("button", name="Analyse 1,797 digits").wait_for()
        settle(page)
        visit(page, "Data")
        page.get_by_text("Spectrum").first.wait_for()
        data = where(page)
        assert list(data[1]) == ["data"]

        # The way to a page leads over the first page of its section.
        visit(page, "Sessions")
        columns = where(page)
        visit(page, "Coverage")
        page.get_by_text("Persistence of the covering").first.wait_for()
        before = where(page)
        assert before[1]["runs"] == [",".join(run_ids)]
        assert "data" not in before[1]
        page.get_by_role("slider", name="Threshold between modes").focus()
        page.keyboard.press("ArrowRight")
        settle(page)
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(500)
        covered = where(page)
        assert float(covered[1]["threshold"][0]) > float(before[1]["threshold"][0])

        visit(page, "Components")
        page.get_by_text("a row per factorization").first.wait_for()
        page.get_by_role("combobox", name="Focus").click()
        page.get_by_role("option").nth(1).click()
        page.wait_for_url("**focus=mode*")
        parts = where(page)

        def stands_at(expected) -> None:
            page.wait_for_timeout(300)
            assert where(page) == expected

        page.go_back()
        page.get_by_text("Persistence of the covering").first.wait_for()
        stands_at(covered)
        assert page.get_by_role("combobox", name="Focus").input_value() == "all factorizations"
        page.go_back()
        page.get_by_role("heading", level=1, name="Sessions", exact=True).wait_for()
        stands_at(columns)
        page.go_back()
        page.get_by_text("Spectrum").first.wait_for()
        stands_at(data)
        page.go_back()
        page.get_by_role("button", name="Analyse 1,797 digits").wait_for()
        stands_at(("/", {}))
        for expected in (data, columns, covered, parts):
            page.go_forward()
            stands_at(expected)
        assert page.get_by_role("combobox", name="Focus").input_value() == "mode 1"


@pytest.mark.parametrize("late", [False, True])
def test_a_link_is_one_entry_on_a_server_that_has_just_started(chromium, tmp_path, late):
    """Also where what keeps it one entry arrives after the address has changed."""
    runs = ",".join(finished_runs(tmp_path))
    with chromium() as page, running_server(tmp_path) as address:
        if late:
            page.route("**/static/js/Html*.js", after_three_seconds)
        page.goto("about:blank")
        view = f"metric=wad&threshold=0.1&focus=mode%3A1&runs={runs.replace(',', '%2C')}"
        page.goto(f"{address}/components?{view}")
        page.get_by_text("In focus: mode 1").first.wait_for()
        until(page, "() => window.oneEntryForEachPage")
        path, asked = where(page)
        assert path == "/components" and {"metric", "focus", "relevance"} <= asked.keys()
        assert page.get_by_text("Page not found").count() == 0
        page.go_back()
        assert page.url == "about:blank"
        page.go_forward()
        page.get_by_text("In focus: mode 1").first.wait_for()
        assert where(page) == (path, asked)


def test_an_old_address_leads_to_the_overview_of_the_same_runs(chromium, usual):
    address, run_ids = usual
    with chromium() as page:
        page.goto(f"{address}/findings?runs={run_ids[0]}")
        page.wait_for_url(f"**/overview?*runs={run_ids[0]}*")
        page.get_by_role("heading", level=1, name="Overview").wait_for()
        assert run_ids[1] not in page.url
