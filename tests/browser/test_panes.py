"""Side by side: two pages of two runs, of which one follows what is set in the other."""

import re

import pytest

from tests.browser.conftest import finished_runs, rest, running_server

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("late", [False, True])
def test_what_is_set_on_one_side_is_set_on_the_other(chromium, tmp_path, late):
    """Also where a page answers long after the click, as on a machine that does other things."""
    one, other = finished_runs(tmp_path)
    with chromium(width=1600) as page, running_server(tmp_path) as address:
        page.goto(f"{address}/panes?pane=modes&left={one}&right={other}")
        panes = [page.frame_locator(f"iframe >> nth={i}") for i in (0, 1)]
        for pane in panes:
            pane.get_by_role("heading", level=1, name="Modes").wait_for()
            pane.get_by_text("Each point is one whole factorization").first.wait_for()
        rest(page)
        if late:  # ten seconds pass whenever the page looks at its clock
            page.evaluate("""() => {
                const now = Date.now;
                let passed = 0;
                Date.now = () => now.call(Date) + (passed += 10_000);
            }""")
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


CHART = "frame => frame.contentDocument.querySelector('.js-plotly-plot')"
RANGES = f"""() => [...document.querySelectorAll('iframe')].map({CHART})
    .map(chart => chart ? chart._fullLayout.xaxis.range : null)"""


def test_a_part_of_a_chart_and_what_is_in_focus_are_found_on_the_other_side(chromium, tmp_path):
    one, other = finished_runs(tmp_path)
    with chromium(width=1600) as page, running_server(tmp_path) as address:
        page.goto(f"{address}/panes?pane=coverage&left={one}&right={other}")
        panes = [page.frame_locator(f"iframe >> nth={i}") for i in (0, 1)]
        for pane in panes:
            pane.get_by_text("Persistence of the covering number").first.wait_for()
        rest(page)
        page.wait_for_function(
            f"() => [...document.querySelectorAll('iframe')].map({CHART})"
            ".every(chart => chart?.isLinked)"
        )
        # Both show as much as the one that needs more.
        level = f"() => {{const [one, two] = ({RANGES})(); return String(one) === String(two)}}"
        page.wait_for_function(level)
        whole = page.evaluate(RANGES)
        # A chart that is drawn anew, by nobody's hand, shows its own whole for a moment only.
        for pane in panes:
            pane.locator("[data-val=reset]").first.evaluate("button => button.click()")
            page.wait_for_function(f"before => String(({RANGES})()) === String(before)", arg=whole)
        drawn = panes[0].locator(".nsewdrag").first
        drawn.scroll_into_view_if_needed()
        box = drawn.bounding_box()
        middle = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + box["width"] * 0.25, middle)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.5, middle, steps=5)
        page.mouse.up()
        page.wait_for_function(f"before => ({RANGES})()[1][0] > before[1][0]", arg=whole)
        zoomed = page.evaluate(RANGES)
        assert zoomed[1] == pytest.approx(zoomed[0])
        # The whole chart again, on both sides.
        panes[0].locator("[data-val=reset]").first.click(force=True)
        page.wait_for_function(f"before => String(({RANGES})()) === String(before)", arg=whole)

        found = []
        page.goto(f"{address}/panes?pane=modes&left={one}&right={other}")
        for pane in panes:
            pane.get_by_text("Each point is one whole factorization").first.wait_for()
        rest(page)
        for pane in panes:
            pane.locator("[data-testid=stExpandSidebarButton]").click()
        focus = [pane.get_by_role("combobox", name="Focus") for pane in panes]
        # The chain stays in one of the two modes that restarts find: by its letter the same.
        for number in (1, 2):
            focus[0].focus()
            page.keyboard.press("ControlOrMeta+a")
            page.keyboard.type(f"mode {number}")
            panes[0].get_by_role("option").nth(0).wait_for()
            page.keyboard.press("Enter")
            page.wait_for_function(
                "mode => [...document.querySelectorAll('iframe')].every(frame => "
                "decodeURIComponent(frame.contentWindow.location.search).includes(`=mode:${mode}`))",
                arg=number,
            )
            rest(page)
            left, right = (box.input_value() for box in focus)
            nothing = panes[1].get_by_text("Here is nothing within", exact=False).count()
            letter = re.search(r"\((\w), ", left)[1]
            assert letter == "AB"[number - 1]
            assert f"({letter}, " in right or (right == "all factorizations" and nothing)
            found.append(right)
        assert "all factorizations" in found and len(set(found)) == 2
