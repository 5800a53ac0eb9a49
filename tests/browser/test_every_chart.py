"""Every page and lesson after one click on the digits: each chart drawn, nothing refused."""

import re

import pytest

from pages.frame import declared
from pages.lessons_parts.registry import LESSONS
from tests.browser.conftest import CHROMIUM, browser_page, rest, running_server

pytestmark = [pytest.mark.browser, pytest.mark.timeout(3000)]

# Until all of the example has been computed, on a machine that does other things; seconds.
AT_MOST = 1_200
# Before a page's own scripts: what the policy refuses, also where the page says nothing of it.
# Protobuf asks at its beginning whether it may compile, and does without.
WATCH = """window.refused = [];
addEventListener("securitypolicyviolation", event => {
    const {violatedDirective: what, blockedURI: source, sourceFile: by} = event;
    const asked = source === "wasm-eval" && /[/]protobuf[.][^/]*js$/.test(by);
    if (!asked) refused.push([what, source, by]);
}, true);"""
# What charts are drawn with.
MARKS = (
    ".trace path, .trace image, .trace rect, .bars path, .hm image, .heatmaplayer image, "
    ".imagelayer image, .shapelayer path, .sankey path"
)
# Of every chart its title, how many marks of some size it has, and all that is written in it.
CHARTS = f"""() => [...document.querySelectorAll(".js-plotly-plot")]
    .filter(chart => chart.checkVisibility() && chart.getBoundingClientRect().width > 40)
    .map(chart => ({{
        title: chart.querySelector(".gtitle")?.textContent ?? "",
        marks: [...chart.querySelectorAll("{MARKS}")].filter(mark => {{
            const {{width, height}} = mark.getBoundingClientRect();
            return width + height > 1;
        }}).length,
        canvases: chart.querySelectorAll("canvas").length,
        said: chart.textContent,
    }}))"""
BROKEN = re.compile(
    r"webgl|not supported|cannot be drawn|undefined|\bNaN\b|\bError\b:", re.IGNORECASE
)
PAGES = [(page.address, "") for page in declared.PAGES]
PAGES += [("overview", "part=modes"), ("overview", "part=factorizations")]
PAGES += [("quality", "part=weights")]
PAGES += [("lessons", f"lesson={key}&step={step}") for key in LESSONS for step in (1, 2, 3)]
# Pages that have something to draw of these data.
WITH_CHARTS = {
    *("components", "downstream", "quality", "coverage", "sessions", "traces"),
    *("scoreboard", "mixture", "discrepancy", "study", "starts", "overview", "samples"),
}
# Pages whose first chart is whole on the first screen.
WHOLE = {
    *("overview", "components", "samples", "downstream", "quality", "coverage"),
    *("traces", "mixture", "discrepancy", "sessions"),
}
FIRST = """() => {
    const charts = [...document.querySelectorAll(".js-plotly-plot")];
    const place = charts.map(chart => chart.getBoundingClientRect()).find(box => box.width > 40);
    return [place.top, place.bottom, innerHeight];
}"""


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """A page on which the digits have been analysed by one click, and what went wrong since."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed; install Debian's chromium to run browser tests.")
    wrong = []
    home = tmp_path_factory.mktemp("digits")
    with browser_page(1366, 900) as page, running_server(home) as address:
        page.add_init_script(WATCH)
        page.on("console", lambda said: said.type == "error" and wrong.append(said.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on(
            "response", lambda got: got.status >= 400 and wrong.append(f"{got.status} {got.url}")
        )
        page.goto(address)
        page.get_by_role("button", name="Analyse 1,797 digits").click()
        page.wait_for_url("**/overview**")
        rest(page, AT_MOST)
        page.get_by_text("converged restarts", exact=False).first.wait_for(timeout=1000 * AT_MOST)
        runs = re.search(r"runs=([^&]*)", page.url)[1]
        yield page, f"{address}", runs, wrong


@pytest.mark.parametrize(("where", "view"), PAGES, ids=lambda part: part)
def test_every_chart_is_drawn_and_nothing_is_refused(opened, where, view):
    page, address, runs, wrong = opened
    wrong.clear()
    own = declared.page(where or "home").parameters
    asked = [f"runs={runs}"] if "runs" in own else []
    page.goto(f"{address}/{where}?{'&'.join([*asked, view])}")
    page.get_by_role("heading", level=1).first.wait_for()
    rest(page, AT_MOST)
    page.evaluate("document.fonts.ready.then(() => true)")
    charts = page.evaluate(CHARTS)
    refused = [one for frame in page.frames for one in frame.evaluate("window.refused ?? []")]
    assert (wrong, refused) == ([], [])
    assert page.get_by_test_id("stException").count() == 0
    for chart in charts:
        assert not BROKEN.search(chart["said"]), chart
        assert chart["marks"] > 0 and chart["canvases"] == 0, chart
    if where in WITH_CHARTS:
        assert charts
    if where in WHOLE and not view:
        top, bottom, height = page.evaluate(FIRST)
        assert 0 <= top and bottom <= height


def test_a_chart_without_marks_and_one_that_says_so_are_found(opened):
    page = opened[0]
    page.set_content(
        """<div class="js-plotly-plot" style="width: 300px; height: 200px"><svg>
        <g class="trace"><path d="M0,0Z"/></g></svg>WebGL is not supported by your browser</div>"""
    )
    (chart,) = page.evaluate(CHARTS)
    assert chart["marks"] == 0 and BROKEN.search(chart["said"])
