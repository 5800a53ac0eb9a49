"""Pages in Chromium: the first of a fresh server, every page from its click, and a slider."""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.tables import part
from bnmf_core import JobRunner, RunStore, load_sample
from bnmf_core.runs.launch import preset
from pages.frame.declared import PAGES, Page

TARGETS = {"first page, s": 2.0, "page, s": 1.5, "slider, s": 0.5}
SAMPLE, RANK = "digits", 10
REPEATS, LOADS, MOVES = 5, 5, 15
# Nothing may change on the page for so long before it counts as settled.
QUIET_MS = 500
TOP = 15
# Watches the page from before its first line: when it was asked for, and when it last changed.
WATCH = """
window.bench = {began: 0, last: 0};
for (const kind of ["click", "keydown"])
    document.addEventListener(kind, () => { bench.began = performance.now(); }, true);
new MutationObserver(() => { bench.last = performance.now(); }).observe(
    document, {subtree: true, childList: true, attributes: true, characterData: true});
"""
SETTLED = """([address, quiet]) => {
    const app = document.querySelector('[data-testid="stApp"]');
    return app?.dataset.testScriptState === "notRunning"
        && (address === null || location.pathname === "/" + address)
        && bench.last > bench.began && performance.now() - bench.last > quiet;
}"""
COLUMNS = ("what", "median, s", "95th percentile, s", "largest, s", "target", "of target", "met")


def measure(quick: bool = False) -> dict[str, Any]:
    """Seconds from what a person does to a page that changes no more."""
    imports = _imports()
    found: dict[str, list[float]] = {}
    why_not = ""
    try:
        found = _measured(quick)
    except harness.Unavailable as reason:
        why_not = f"Skipped: {reason}."
    return {
        "title": "Pages in a browser",
        "summary": [
            f"A store with one finished launch (the preset of the page Analyse for {SAMPLE}, "
            f"R={RANK}) and a fresh server. A time goes from what a person does to the last change "
            f"of the page that is followed by {QUIET_MS} ms without any. “First page” is that of a "
            "server that has answered nobody yet; the pages are opened from the menu, in turn. "
            f"{why_not}".strip(),
        ],
        "tables": [
            {"title": "Chromium", "columns": COLUMNS, "rows": _rows(found)},
            {
                "title": "Slowest imports of a fresh process, seconds with what they import",
                "columns": ("module", "seconds"),
                "rows": [[name, spent] for name, spent in imports["slowest"]],
            },
        ],
        "raw": {"seconds": found, "imports": imports},
    }


def _measured(quick: bool) -> dict[str, list[float]]:
    """What was done → its seconds, each time."""
    try:
        from tests.browser import conftest as browser  # noqa: PLC0415 (Playwright may be absent)
    except ImportError as error:
        raise harness.Unavailable("Playwright is not installed") from error
    if browser.CHROMIUM is None:
        raise harness.Unavailable("Chromium is not installed")
    pages = [one for one in PAGES if one.section]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        runs = ",".join(_launch(home, quick))
        firsts = [_first(browser, home) for _ in range(1 if quick else LOADS)]
        found = {"first page of a fresh server": firsts}
        with browser.running_server(home) as address, browser.browser_page() as page:
            page.add_init_script(WATCH)
            page.goto(f"{address}/findings?runs={runs}")
            _settled(page, None)
            for repeat in range(2 if quick else 1 + REPEATS):
                for one in pages:
                    spent = _visit(page, one)
                    # The first time, libraries are loaded and figures are not kept yet.
                    key = f"page {one.title}" if repeat else "each page for the first time"
                    found.setdefault(key, []).append(spent)
            found["threshold between modes, a key"] = _slide(page, 3 if quick else MOVES)
    every = [spent for key, times in found.items() if key.startswith("page ") for spent in times]
    return {**found, "all pages together": every}


def _launch(home: Path, quick: bool) -> list[str]:
    """Runs that are finished, with their analysis, in a store; their ids."""
    data = load_sample(SAMPLE)
    specs = preset(data, RANK).specs
    runner = JobRunner(RunStore(home))
    try:
        run_ids = runner.start(data, specs[:1] if quick else list(specs))
        runner.wait_analysis(run_ids, timeout=1200.0)
    finally:
        runner.close()
    return run_ids


def _first(browser: Any, home: Path) -> float:
    """Seconds from navigation to the settled first page of a server that nobody has asked yet."""
    with browser.running_server(home) as address, browser.browser_page() as page:
        page.add_init_script(WATCH)
        page.goto(address)
        return _settled(page, "")


def _visit(page: Any, one: Page) -> float:
    """Seconds from the click in the menu to the settled page."""
    page.get_by_role("navigation").get_by_role("button", name=one.section).click()
    page.get_by_role("menuitem", name=one.title, exact=True).click()
    return _settled(page, one.address)


def _slide(page: Any, moves: int) -> list[float]:
    """Seconds from a key on the slider between modes to the settled page, move by move."""
    _visit(page, next(one for one in PAGES if one.key == "modes"))
    slider = page.get_by_test_id("stSidebar").get_by_role("slider").first
    if not slider.count():
        return []
    slider.focus()
    seconds = []
    for move in range(moves):
        page.keyboard.press("ArrowLeft" if move % 4 < 2 else "ArrowRight")
        seconds.append(_settled(page, None))
    return seconds


def _settled(page: Any, address: str | None) -> float:
    """Wait until nothing changes any more; seconds from the last click, key or navigation."""
    page.wait_for_function(SETTLED, arg=[address, QUIET_MS], polling=50)
    return float(page.evaluate("(bench.last - bench.began) / 1000"))


def _rows(found: dict[str, list[float]]) -> list[list[Any]]:
    rows = []
    limits: list[tuple[Callable[[str], bool], str]] = [
        (lambda key: key.startswith("first page"), "first page, s"),
        (lambda key: key.startswith("threshold"), "slider, s"),
        (lambda key: "page" in key and "first time" not in key, "page, s"),
    ]
    for key, times in found.items():
        if not times:
            rows.append([key, *[None] * 6])
            continue
        limit = next((TARGETS[name] for fits, name in limits if fits(key)), None)
        verdict = limit and harness.against(median(times), limit, at_least=False)
        rows.append(
            [
                key,
                median(times),
                float(np.percentile(times, 95)),
                max(times),
                verdict and verdict["target"],
                part(verdict and verdict["part"]),
                verdict and verdict["met"],
            ]
        )
    return rows


def _imports() -> dict[str, Any]:
    """What a fresh process spends on importing the engine, Streamlit and the pages' helpers."""
    code = "import streamlit, bnmf_core, pages.frame.guard, pages.frame.lens"
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code],
        capture_output=True,
        text=True,
        cwd=harness.ROOT,
        check=True,
    )
    spent = []
    for line in done.stderr.splitlines():
        fields = line.removeprefix("import time:").split("|")
        if len(fields) == 3 and fields[1].strip().isdigit():
            spent.append((fields[2].strip(), int(fields[1]) / 1e6))
    spent.sort(key=lambda item: -item[1])
    return {"slowest": [list(item) for item in spent[:TOP]]}


if __name__ == "__main__":
    harness.main(measure)
