"""Response times of the first page of a fresh server, and of every page in use.

The two launches are made once and cached in ``benchmarks/.stores``.
"""

import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import harness, served
from benchmarks.tables import part
from benchmarks.visits import QUIET_MS, Answer, Visitor
from bnmf_core import JobRunner, RunStore, load_sample
from bnmf_core.runs.launch import preset
from pages.frame.declared import PAGES, Page

TARGETS = {"first page, s": 2.0, "median, ms": 100.0, "95th percentile, ms": 250.0}
# Sample → number of components; half as many restarts as factorizations, and as many Q-Transforms.
LAUNCHES, FACTORIZATIONS = {"faces": 10, "newsgroups": 16}, 100
STORES = Path(__file__).resolve().parent / ".stores"
LOADS = 5
TOP = 15
COLUMNS = (
    "page",
    "data",
    "answers",
    "server, ms: median",
    "95th percentile",
    "largest",
    "processor, ms: median",
    "sent, kB: median",
    "browser, ms: median",
    "95th percentile",
    "first time, ms: server",
    "browser",
    "target",
    "of target",
    "met",
)
FIRST = ("from", "median, s", "least, s", "largest, s", "target", "of target", "met")


def measure(quick: bool = False) -> dict[str, Any]:
    """Time of the server for an answer, and of the browser until the page has settled."""
    firsts: dict[str, list[float]] = {}
    rows: list[list[Any]] = []
    why_not = ""
    try:
        browser = chromium()
        with ExitStack() as stack:
            homes = {}
            for name in LAUNCHES if not quick else ["faces"]:
                folder = stack.enter_context(tempfile.TemporaryDirectory()) if quick else STORES
                homes[name] = Path(folder) / name
                _launch(homes[name], name, quick)
            firsts = first_page(browser, next(iter(homes.values())), 1 if quick else LOADS)
            for name, home in homes.items():
                rows += _used(browser, home, name)
    except harness.Unavailable as reason:
        why_not = f"Skipped: {reason}."
    rows.sort(key=lambda row: [page.title for page in PAGES].index(row[0]))
    return {
        "title": "Pages in a browser",
        "summary": [
            f"Each of {' and '.join(LAUNCHES)} (R={', '.join(map(str, LAUNCHES.values()))}) with "
            f"one finished launch: {FACTORIZATIONS} factorizations by restarts and Q-Transform, "
            "and four chains. An answer is that to a click in the menu or to something moved: a "
            "threshold, a focus, a distance, a choice of the page. Server: wall time of the page's "
            "scripts, while Chromium draws on the same machine. Browser: from what a person does "
            f"to the last change of the page that is followed by {QUIET_MS} ms without any. The "
            f"first time, libraries are loaded. {why_not}".strip(),
        ],
        "tables": [
            {"title": "The first page of a fresh server", "columns": FIRST, "rows": _begun(firsts)},
            {"title": "Every page", "columns": COLUMNS, "rows": rows},
            {
                "title": "Slowest imports of a fresh process, seconds with what they import",
                "columns": ("module", "seconds"),
                "rows": [list(item) for item in _imports()],
            },
        ],
        "raw": {"first": firsts},
    }


def chromium() -> Any:
    """The module that starts a browser and a server.

    Raises
    ------
    Unavailable
        Without Playwright or Chromium.
    """
    try:
        from tests.browser import conftest as browser  # noqa: PLC0415 (Playwright may be absent)
    except ImportError as error:
        raise harness.Unavailable("Playwright is not installed") from error
    if browser.CHROMIUM is None:
        raise harness.Unavailable("Chromium is not installed")
    return browser


def _launch(home: Path, name: str, quick: bool) -> None:
    """Make one launch and its analyses, unless the store has it."""
    data = load_sample(name)
    specs = preset(data, LAUNCHES[name], restarts=FACTORIZATIONS // 2).specs
    with closing(JobRunner(RunStore(home))) as runner:
        complete = [run.id for run in reversed(runner.store.runs()) if run.status == "complete"]
        run_ids = complete or runner.start(data, list(specs[:1] if quick else specs))
        # The launch and the initial comparison: nothing is computed while pages are measured.
        for selection in (run_ids, run_ids[:1], run_ids[1:2]):
            if selection:
                runner.wait_analysis(selection, timeout=1800.0)


def first_page(browser: Any, home: Path, loads: int) -> dict[str, list[float]]:
    """Seconds from a fresh server's start, and from its call, until the first page has settled."""
    found: dict[str, list[float]] = {"start of the server": [], "first request": []}
    for _ in range(loads):
        with browser.browser_page() as page, ExitStack() as stack:
            began = time.perf_counter()
            address = stack.enter_context(answering(browser, home))
            ready = time.perf_counter() - began
            answer = Visitor(page, home / "answers").arrive(address)
            found["start of the server"].append(ready + answer.browser)
            found["first request"].append(answer.browser)
    return found


def answering(browser: Any, home: Path) -> Any:
    """A fresh server that logs its answers."""
    (home / "answers").write_text("")
    os.environ[served.ANSWERS] = str(home / "answers")
    return browser.running_server(home, "benchmarks.served")


def _used(browser: Any, home: Path, name: str) -> list[list[Any]]:
    """A row per page: opened for the first time, opened again, and used."""
    runs = ",".join(run.id for run in reversed(RunStore(home).runs()))
    with answering(browser, home) as address, browser.browser_page() as page:
        visitor = Visitor(page, home / "answers")
        visitor.arrive(f"{address}/overview?runs={runs}")
        firsts = [visitor.open(one) for one in PAGES]
        rows = []
        for one, first in zip(PAGES, firsts, strict=True):
            visitor.arrive(f"{address}/overview?runs={runs}")
            answers = [visitor.open(one)]
            for control in visitor.controls():
                answers += visitor.move(*control)
            rows.append(_row(one, name, first, answers))
    return rows


def _row(one: Page, name: str, first: Answer, answers: list[Answer]) -> list[Any]:
    server = [1000 * answer.server for answer in answers]
    browser = [1000 * answer.browser for answer in answers]
    middle, high = median(server), float(np.percentile(server, 95))
    limits = TARGETS["median, ms"], TARGETS["95th percentile, ms"]
    reached = min(limits[0] / middle, limits[1] / high)
    return [
        one.title,
        name,
        len(answers),
        middle,
        high,
        max(server),
        1000 * median(answer.processor for answer in answers),
        median(answer.bytes for answer in answers) / 1000,
        median(browser),
        float(np.percentile(browser, 95)),
        1000 * first.server,
        1000 * first.browser,
        f"≤ {limits[0]:g}, ≤ {limits[1]:g}",
        part(reached),
        reached >= 1.0,
    ]


def _begun(firsts: dict[str, list[float]]) -> list[list[Any]]:
    rows = []
    for since, times in firsts.items():
        verdict = harness.against(median(times), TARGETS["first page, s"], at_least=False)
        rows.append(
            [
                since,
                median(times),
                min(times),
                max(times),
                verdict["target"],
                part(verdict["part"]),
                verdict["met"],
            ]
        )
    return rows


def _imports() -> list[tuple[str, float]]:
    """Time of a fresh process for importing Streamlit and the modules of the first page."""
    code = "import streamlit.web.bootstrap, pages.frame.guard, pages.frame.panel"
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
    return sorted(spent, key=lambda item: -item[1])[:TOP]


if __name__ == "__main__":
    harness.main(measure)
