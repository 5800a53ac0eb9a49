"""Pages and lessons of the digits: charts drawn, nothing refused, few words in short sentences."""

import re

import pytest

from pages.frame import declared
from pages.lessons_parts.registry import LESSONS
from tests.browser.conftest import (
    CHROMIUM,
    browser_page,
    finished_runs,
    rest,
    running_server,
)

pytestmark = [pytest.mark.browser, pytest.mark.timeout(3000)]

# Until a page has come to rest, on a machine that does other things; seconds.
AT_MOST = 240
SENTENCE = 25
WORDS = 80
# Pages that say more, and how much at most; none may say more than it does.
MORE = {
    "home": 110,
    "data": 180,
    "overview": 125,
    "quality": 95,
    "starts": 100,
}
# Texts that can be read without scrolling, but for those of charts, tables and icons.
FIRST_SCREEN = """() => {
    const walk = document.createTreeWalker(
        document.querySelector("[data-testid=stMain]"), NodeFilter.SHOW_TEXT);
    const beside = "svg, canvas, style, script, table, [data-testid=stIconMaterial], " +
        "[data-testid=stDataFrame], .js-plotly-plot";
    const texts = new Map();
    for (let node; (node = walk.nextNode());) {
        const around = node.parentElement, range = document.createRange();
        range.selectNodeContents(node);
        const {width, height, top, bottom} = range.getBoundingClientRect();
        const seen = around.checkVisibility({opacityProperty: true, visibilityProperty: true});
        if (around.closest(beside) || !seen || width < 2 || height < 2) continue;
        if (top >= innerHeight || bottom <= 0) continue;
        const block = around.closest("p, li, label, button, h1, h2, h3") ?? around;
        texts.set(block, (texts.get(block) ?? "") + node.textContent);
    }
    return [...texts.values()];
}"""
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
    *("scoreboard", "mixture", "discrepancy", "study", "starts", "overview", "samples", "atlas"),
}
# Pages whose first chart is whole on the first screen.
WHOLE = {
    *("overview", "components", "samples", "downstream", "quality", "coverage"),
    *("traces", "mixture", "discrepancy", "sessions", "atlas"),
}
FIRST = """() => {
    const charts = [...document.querySelectorAll(".js-plotly-plot")];
    const place = charts.map(chart => chart.getBoundingClientRect()).find(box => box.width > 40);
    return [place.top, place.bottom, innerHeight];
}"""


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """A page, the address of a server, runs of finished analyses by page, what went wrong since."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed; install Debian's chromium to run browser tests.")
    wrong = []
    home = tmp_path_factory.mktemp("digits")
    chains = finished_runs(home)
    with browser_page(1360, 850) as page, running_server(home) as address:
        page.add_init_script(WATCH)
        page.on("console", lambda said: said.type == "error" and wrong.append(said.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on(
            "response", lambda got: got.status >= 400 and wrong.append(f"{got.status} {got.url}")
        )
        page.goto(address)
        page.get_by_role("button", name="Look at a finished analysis").first.click()
        page.wait_for_url("**/overview**")
        rest(page, AT_MOST)
        digits = re.search(r"runs=([^&]*)", page.url)[1]
        # They come without chains.
        yield page, address, {"": digits, "traces": ",".join(chains)}, wrong


@pytest.mark.parametrize(("where", "view"), PAGES, ids=lambda part: part)
def test_a_page_draws_every_chart_is_refused_nothing_and_says_little(opened, where, view):
    page, address, runs, wrong = opened
    wrong.clear()
    own = declared.page(where or "home").parameters
    asked = [f"runs={runs.get(where, runs[''])}"] if "runs" in own else []
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
    if not view:
        texts = page.evaluate(FIRST_SCREEN)
        words = sum(len(re.findall(r"[A-Za-z]{2,}", text)) for text in texts)
        assert 5 < words <= MORE.get(where or "home", WORDS)
        sentences = [said for text in texts for said in re.split(r"(?<=[.!?])\s", text)]
        longest = max(sentences, key=lambda said: len(said.split()))
        assert len(longest.split()) <= SENTENCE, longest


def test_a_chart_without_marks_and_one_that_says_so_are_found(opened):
    page = opened[0]
    page.set_content(
        """<div class="js-plotly-plot" style="width: 300px; height: 200px"><svg>
        <g class="trace"><path d="M0,0Z"/></g></svg>WebGL is not supported by your browser</div>"""
    )
    (chart,) = page.evaluate(CHARTS)
    assert chart["marks"] == 0 and BROKEN.search(chart["said"])
