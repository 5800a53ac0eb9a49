"""A simulated user: opens pages from the menu, moves their controls, and waits."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from pages.frame.declared import Page, sections

# A page without changes for this long has settled.
QUIET_MS = 300
# Watches a page from its first line, in milliseconds since 1970: the time of the last input, and
# of the last change.
WATCH = """
window.bench = {began: performance.timeOrigin, last: 0};
const now = () => performance.timeOrigin + performance.now();
for (const kind of ["click", "keydown"])
    document.addEventListener(kind, () => { bench.began = now(); }, true);
new MutationObserver(() => { bench.last = now(); }).observe(
    document, {subtree: true, childList: true, attributes: true, characterData: true});
"""
SETTLED = """([address, quiet]) => {
    const app = document.querySelector('[data-testid="stApp"]');
    return app?.dataset.testScriptState === "notRunning"
        && (address === null || location.pathname === "/" + address)
        && bench.last > bench.began
        && performance.timeOrigin + performance.now() - bench.last > quiet;
}"""
# Kinds of controls and their selectors; a key moves a slider.
SLIDER = '[role="slider"], input[type="range"]'
VALUE = "slider => slider.value ?? slider.getAttribute('aria-valuenow')"
CONTROLS = {
    "slider": SLIDER,
    "select": '[data-testid="stSelectbox"] [role="combobox"]',
    "choice": '[role="radio"][aria-checked="false"]',
    "toggle": '[data-testid="stCheckbox"] label',
    "number": '[data-testid="stNumberInputStepUp"]',
}
# Most controls moved per page, of all kinds in turn; a slider several times.
MOST, MOVES = 6, 4


@dataclass(frozen=True)
class Answer:
    """Times of a page's answer in seconds, and the bytes sent for it.

    server, processor : wall time of the page's scripts, and processor time of the server meanwhile.
    browser : from the user's input to the last change of the page.
    """

    server: float
    processor: float
    browser: float
    bytes: int


class Visitor:
    """A user with a browser ``page``; the server logs to the file ``answers``."""

    def __init__(self, page: Any, answers: Path) -> None:
        self._page, self._answers = page, answers
        self._read = 0
        page.add_init_script(WATCH)

    def arrive(self, url: str) -> Answer:
        """Open an address."""
        self._page.goto(url)
        return self._answer(None)

    def open(self, one: Page) -> Answer:
        """Open a page from the menu; a further one of its section, beside the heading of another.

        The answer is that to the last click.
        """
        first = sections()[one.section][0]
        beside = self._page.locator(".st-key-heading").get_by_role("link", name=one.title)
        if one is first or not beside.is_visible():
            menu = self._page.get_by_role("navigation")
            menu.get_by_role("link", name=one.section, exact=True).click()
            answer = self._answer(first.address)
            if one is first:
                return answer
            if not beside.is_visible():  # nothing names it here
                return self.arrive(urljoin(self._page.url, f"/{one.address}"))
        beside.click()
        return self._answer(one.address)

    def controls(self) -> list[tuple[str, int]]:
        """The controls of this page: kind, and number among those of the kind."""
        found = [[(kind, i) for i in self._moved(kind)] for kind in CONTROLS]
        in_turn = chain.from_iterable(zip_longest(*found))
        return [control for control in in_turn if control is not None][:MOST]

    def move(self, kind: str, number: int) -> Iterator[Answer]:
        """Move a control, if it still exists."""
        control = self._page.locator(CONTROLS[kind]).nth(number)
        if not control.is_visible() or not control.is_enabled():
            return
        if kind == "slider":
            for move in range(MOVES):
                before = control.evaluate(VALUE)
                control.press("ArrowLeft" if move % 4 < 2 else "ArrowRight")
                if control.evaluate(VALUE) != before:  # it was not at its end
                    yield self._answer(None)
            return
        control.click()
        if kind == "select":
            others = self._page.locator('[role="option"]:not([aria-selected="true"])')
            if not others.count():
                self._page.keyboard.press("Escape")
                return
            others.last.click()
        yield self._answer(None)

    def _moved(self, kind: str) -> list[int]:
        found = self._page.locator(CONTROLS[kind])
        each = [(i, found.nth(i)) for i in range(found.count())]
        return [i for i, control in each if control.is_visible() and control.is_enabled()]

    def _answer(self, address: str | None) -> Answer:
        """Wait until nothing changes any more."""
        self._page.wait_for_function(SETTLED, arg=[address, QUIET_MS], polling=50)
        began = self._page.evaluate("bench.began")
        last = float(self._page.evaluate("bench.last"))
        with self._answers.open() as lines:
            lines.seek(self._read)
            noted = [json.loads(line) for line in lines]
            self._read = lines.tell()
        return Answer(
            together([(run["began"], run["ended"]) for run in noted]),
            sum(run["processor"] for run in noted),
            (last - began) / 1000,
            sum(run["bytes"] for run in noted),
        )


def together(spans: list[tuple[float, float]]) -> float:
    """Total seconds covered by the spans (from, to).

    >>> together([(0.0, 2.0), (1.0, 3.0), (5.0, 6.0)])
    4.0
    """
    total, end = 0.0, 0.0
    for began, ended in sorted(spans):
        total += max(ended - max(began, end), 0.0)
        end = max(end, ended)
    return total
