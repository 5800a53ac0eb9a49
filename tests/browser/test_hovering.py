"""Words on screen tell what they mean when the pointer rests on them."""

import pytest

from pages.glossary_parts.terms import terms
from tests.browser.conftest import settle, until

pytestmark = pytest.mark.browser

WHERE = """word => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const block = node.parentElement.closest("[data-testid=stMarkdownContainer] p, li");
    const at = block ? node.data.search(new RegExp(word)) : -1;
    if (at < 0) continue;
    const range = new Range();
    range.setStart(node, at);
    range.setEnd(node, at + word.length);
    node.parentElement.scrollIntoView({ block: "center" });
    const place = range.getBoundingClientRect();
    if (place.width) return [place.x + place.width / 2, place.y + place.height / 2];
  }
}"""


def test_a_term_tells_its_meaning_and_nothing_else_does(chromium, usual):
    address, run_ids = usual
    meaning = next(term.about for term in terms() if term.name == "Converged")
    with chromium() as page:
        page.goto(f"{address}/overview?runs={','.join(run_ids)}")
        page.get_by_text("converged restarts").first.wait_for()
        settle(page)
        underlined = "() => (CSS.highlights.get('terms')?.size ?? 0) > 3"
        until(page, underlined)
        box = page.locator("#meaning")
        assert not box.is_visible()
        page.mouse.move(*page.evaluate(WHERE, "converged"))
        box.get_by_text(meaning).wait_for()
        page.keyboard.press("Escape")
        assert not box.is_visible()
        page.mouse.move(*page.evaluate(WHERE, "threshold"))
        page.wait_for_timeout(200)
        assert not box.is_visible()
        # On another page, without a new load.
        page.get_by_role("link", name="Components").first.click()
        page.get_by_role("heading", level=1, name="Components").wait_for()
        settle(page)
        until(page, underlined)
        # The drawer has all terms, and leaves the page in sight.
        page.get_by_role("button", name="Glossary").click()
        drawer = page.get_by_role("dialog")
        drawer.get_by_text("Covering number").first.wait_for()
        assert drawer.bounding_box()["x"] > page.viewport_size["width"] / 2
        page.mouse.move(page.viewport_size["width"] - 200, 400)
        page.mouse.wheel(0, 20000)
        last = drawer.get_by_text(max(terms(), key=lambda term: term.name.lower()).name).last
        last.wait_for()
        page.wait_for_timeout(300)
        assert last.bounding_box()["y"] < page.viewport_size["height"]
        drawer.get_by_role("textbox", name="Find").fill("*zebra*")
        page.keyboard.press("Enter")
        drawer.get_by_text("No term has").wait_for()
        page.keyboard.press("Escape")
        drawer.wait_for(state="detached")
