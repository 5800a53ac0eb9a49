"""Every page for somebody who uses keys, hears it read out, sees it in the dark, or prints it."""

import json
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest

from bnmf_core import JobRunner, RunSpec, RunStore, boolean_tiles, laurberg
from bnmf_core.analysis.ranks import RankQuestion, RankWork
from pages.frame import declared
from pages.lessons_parts.registry import LESSONS
from tests.browser.conftest import AT_REST, running_server, settle, until
from tests.pages.conftest import labelled_data

pytestmark = [pytest.mark.browser, pytest.mark.slow]

AUDIT = Path(__file__).with_name("audit.js")
# Nothing moves, so that what is measured is what stays.
STILL = "*, ::before, ::after {transition: none !important; animation: none !important}"
UNFOLD = "document.querySelectorAll('details:not([open]) > summary').forEach(fold => fold.click())"
# Pixels of a page of A4 between margins of 12 mm.
PAPER = 703
BOOLEAN_PARTS = ("tiles", "cells", "entries", "thresholds")

# What is done by Streamlit itself, and why it may stay as it is.
MOVED_BY_ARROWS = {
    "stNumberInputStepDown": "the arrow keys in the field do the same",
    "stNumberInputStepUp": "the arrow keys in the field do the same",
    "“Open”": "arrow keys in the field open the list",
    "“Remove ": "Backspace removes the last choice, Delete the one that has the keys",
    "stFileUploaderDropzoneInput": "the button beside it opens the same list of files",
}
NAMED_AROUND = {
    "main": "the part of the page that scrolls takes keys so that they can scroll it",
    "grid": "Streamlit names the region around a table, not the grid inside",
    "gridcell": "an empty cell of a table has no name",
    "Canvas": "the picture of a table, whose cells are read out",
}
INTERACTIVE = {
    *("button", "link", "textbox", "searchbox", "combobox", "checkbox", "radio", "slider"),
    *("spinbutton", "tab", "switch", "menuitem", "option", "Iframe", "figure"),
}


def visits() -> list[tuple[str, dict[str, str]]]:
    """Every declared page, and the other views of those that have several."""
    others = [
        ("data", {"source": "upload"}),
        ("quality", {"part": "weights"}),
        *(("boolean", {"part": part}) for part in BOOLEAN_PARTS),
        *(("lessons", {"lesson": key, "step": "1"}) for key in LESSONS),
    ]
    return [*((page.key, {}) for page in declared.PAGES), *others]


def called(visit: tuple[str, dict[str, str]]) -> str:
    key, parameters = visit
    return "-".join([key, *(value for value in parameters.values() if value != "1")])


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Path, dict[str, list[str]], str]:
    """A store with runs for every page: its folder, runs by page ("" for most), data of ranks."""
    home = tmp_path_factory.mktemp("feel")
    solved = RunSpec("random_restarts", rank=3, particles=12)
    drawn = RunSpec("gibbs", rank=3, particles=12, settings={"warm_up": 5, "thinning": 1})
    tiles = RunSpec("box_gibbs", rank=3, particles=20, model="boolean", settings={"warm_up": 40})
    settings = {"start": "known", "attempts": 60}
    tree = RunSpec("rrt", 3, "uniform", 60, 0, settings, {"epsilon": 0.05})
    data = labelled_data()
    with closing(JobRunner(RunStore(home))) as runner:
        of_tiles = boolean_tiles(30, 40, 3, density=0.3, rng=np.random.default_rng(3))
        runs = {
            "boolean": runner.start(of_tiles, [tiles]),
            "tree": runner.start(laurberg("two", a=0.55), [tree]),
            "": runner.start(data, [solved, drawn]),
        }
        for run_ids in runs.values():
            runner.wait_analysis(run_ids)
    question = RankQuestion(data.hash, (1, 2, 3), restarts=4)
    RankWork(home, question, data).make(lambda part, stage: None, lambda: False)
    return home, runs, data.hash


@pytest.fixture(scope="module")
def opened(chromium, made):
    """A browser, and the address of a server with the store."""
    with chromium(1366, 900) as page, running_server(made[0]) as address:
        yield page, address


@pytest.fixture(scope="module", params=visits(), ids=called)
def page(request, opened, made):
    """A page as it is when all is done, with its folds open."""
    (shown, address), (_, runs, studied) = opened, made
    key, parameters = request.param
    parameters = dict(parameters)
    if "runs" in declared.page(key).parameters:
        parameters["runs"] = ",".join(runs.get(key, runs[""]))
    if key == "rank":
        parameters["data"] = studied
    shown.emulate_media(media="screen", color_scheme="light")
    shown.set_viewport_size({"width": 1366, "height": 900})
    shown.goto(f"{address}/{declared.page(key).address}?{urlencode(parameters)}")
    shown.get_by_role("heading", level=1).first.wait_for()
    settle(shown, 800)
    shown.get_by_role("progressbar").first.wait_for(state="detached")
    # What is drawn again every second is faint for a moment.
    shown.get_by_text("is being estimated").first.wait_for(state="detached")
    shown.add_style_tag(content=STILL)
    shown.evaluate(UNFOLD)
    settle(shown, 300)
    shown.add_script_tag(path=AUDIT)
    assert shown.get_by_text("Page not found").count() == 0
    return shown


def nameless(page) -> list[str]:
    """What can be used and is called nothing where a page is read out."""
    session = page.context.new_cdp_session(page)
    found = []
    for node in session.send("Accessibility.getFullAXTree")["nodes"]:
        role = node.get("role", {}).get("value")
        focusable = any(
            part["name"] == "focusable" and part["value"]["value"]
            for part in node.get("properties", [])
        )
        if node.get("ignored") or role in {*NAMED_AROUND, "RootWebArea"}:
            continue
        if (role in INTERACTIVE or focusable) and not node.get("name", {}).get("value", "").strip():
            element = session.send("DOM.describeNode", {"backendNodeId": node["backendDOMNodeId"]})
            found.append(f"{role} {json.dumps(element['node'].get('attributes', []))}")
    session.detach()
    return found


def test_everything_that_can_be_used_has_a_name(page):
    assert nameless(page) == []


def test_tab_reaches_everything_and_is_seen_where_it_is(page):
    missed, unseen = walked(page)
    if missed:  # a table has drawn its canvas anew meanwhile
        missed, unseen = walked(page)
    assert (missed, unseen) == ([], [])


def walked(page) -> tuple[list[str], list[str]]:
    """What Tab does not reach, and what it reaches but is not seen."""
    until(page, AT_REST)
    settle(page, 1500)
    count = page.evaluate("audit.begin()")
    for _ in range(count + 60):
        page.keyboard.press("Tab")
        if not page.evaluate("audit.step()"):
            break
    found = page.evaluate("audit.walked()")
    missed = [one for one in found["missed"] if not any(word in one for word in MOVED_BY_ARROWS)]
    return missed, found["unseen"]


def test_every_chart_says_what_is_seen_and_has_a_table(page):
    charts = page.evaluate("audit.charts()")
    for chart in charts:
        assert chart["role"] == "figure"
        title, _, reading = (chart["said"] or "").partition(". ")
        assert title and len(reading.split()) > 3
    tables = page.get_by_test_id("stPopoverButton").filter(has_text="Table", visible=True)
    # The small pictures of verdicts stand for charts of other pages.
    small = page.locator("[class*='st-key-chart_tile_']").count()
    assert tables.count() == len(charts) - small
    assert page.evaluate("audit.without_words()") == []


def test_headings_follow_each_other_without_a_gap(page):
    levels = page.evaluate("audit.headings()")
    assert levels.count(1) == 1 and levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_their_ground(page, scheme):
    page.emulate_media(color_scheme=scheme)
    settle(page, 500 if scheme == "dark" else 0)  # it opened in the light
    assert page.evaluate("audit.faint()") == []


def test_on_paper_it_is_dark_on_white_and_nothing_is_cut_or_pressed(page):
    page.emulate_media(color_scheme="dark")  # as it is by now, unless this test runs alone
    until(page, AT_REST)  # what is drawn anew is faint for a moment
    settle(page, 100)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print", color_scheme="dark")
    page.set_viewport_size({"width": PAPER, "height": 900})
    page.wait_for_timeout(200)
    try:
        assert page.evaluate("audit.cut()") == []
        assert page.evaluate("audit.faint()") == []
        for pressed in ("stHeader", "stSidebar", "stButton", "stDownloadButton", "stPopoverButton"):
            assert page.get_by_test_id(pressed).filter(visible=True).count() == 0, pressed
    finally:
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        page.emulate_media(media="screen")
        page.set_viewport_size({"width": 1366, "height": 900})
        settle(page, 300)


def test_the_table_behind_a_chart_is_shown_and_named(opened, made):
    page, address = opened
    page.goto(f"{address}/overview?part=factorizations&runs={','.join(made[1][''])}")
    page.get_by_text("Each point is one whole factorization").first.wait_for()
    settle(page, 500)
    # The first is that of the map of modes above.
    shown = page.get_by_test_id("stPopoverButton").filter(has_text="Table", visible=True)
    shown.nth(1).focus()
    page.keyboard.press("Enter")
    page.get_by_role("region", name="The numbers of: Map of 24 factorizations").wait_for()


PLANTED = """() => {
  document.body.innerHTML = `<h1>One</h1><h3>Three</h3><p style="color: #999">Faint</p>
    <p>Clear</p><img src="data:," width=9 height=9><button></button>
    <button style="outline: none">Unseen</button><a tabindex=-1 href="#x">Missed</a>
    <table style="width: 3000px"><td>Wide</td></table>`;
}"""


def test_planted_faults_are_found(opened):
    page, _ = opened
    page.goto("about:blank")
    page.evaluate(PLANTED)
    page.add_script_tag(path=AUDIT)
    assert [fault for fault in page.evaluate("audit.faint()") if "Faint" in fault]
    assert not [fault for fault in page.evaluate("audit.faint()") if "Clear" in fault]
    assert page.evaluate("audit.headings()") == [1, 3]
    assert len(page.evaluate("audit.without_words()")) == 1
    assert [fault.split()[0] for fault in nameless(page)] == ["button"]
    page.evaluate("audit.begin()")
    for _ in range(3):
        page.keyboard.press("Tab")
        page.evaluate("audit.step()")
    found = page.evaluate("audit.walked()")
    assert ["Missed" in fault for fault in found["missed"]] == [True]
    assert [fault for fault in found["unseen"] if "Unseen" in fault]
    assert [fault for fault in page.evaluate("audit.cut()") if "Wide" in fault]
