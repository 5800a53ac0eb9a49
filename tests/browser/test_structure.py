"""What stands on the first screen of every page: few words of ours, and short sentences."""

import re

import pytest

from pages.frame import declared
from tests.browser.conftest import rest, running_server

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

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


@pytest.fixture(scope="module")
def opened(chromium, tmp_path_factory):
    """The finished analysis of the digits, in a window of the usual size."""
    home = tmp_path_factory.mktemp("structure")
    with chromium(1360, 850) as page, running_server(home) as address:
        page.goto(address)
        page.get_by_role("button", name="Look at a finished analysis").first.click()
        page.wait_for_url("**/overview**")
        rest(page)
        yield page, address, re.search(r"runs=([^&]*)", page.url)[1]


@pytest.mark.parametrize("key", [one.key for one in declared.PAGES])
def test_a_first_screen_has_few_words_in_short_sentences(opened, key):
    page, address, runs = opened
    one = declared.page(key)
    page.goto(f"{address}/{one.address}" + f"?runs={runs}" * ("runs" in one.parameters))
    page.get_by_role("heading", level=1).first.wait_for()
    rest(page)
    texts = page.evaluate(FIRST_SCREEN)
    words = sum(len(re.findall(r"[A-Za-z]{2,}", text)) for text in texts)
    assert 5 < words <= MORE.get(key, WORDS)
    sentences = [said for text in texts for said in re.split(r"(?<=[.!?])\s", text)]
    longest = max(sentences, key=lambda said: len(said.split()))
    assert len(longest.split()) <= SENTENCE, longest
