"""From a file to its first picture in five fields, and the memory of the server.

Each file is dropped on Home unchanged; clicks and seconds are counted until the first
chart that is computed from it has been drawn. Then pages are visited, and ten analyses are opened
in ten tabs. Those ten are made once and cached in ``benchmarks/.stores``.
"""

import json
import math
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.pages import STORES, answering, chromium, first_page
from benchmarks.tables import part
from benchmarks.visits import Visitor
from bnmf_core import JobRunner, RunStore, load_sample
from bnmf_core.runs.launch import preset
from pages.frame.declared import PAGES

TARGETS = {
    "clicks": 3.0,
    "seconds": 10.0,
    "first page, s": 1.5,
    "95th percentile of visits, s": 1.0,
    "memory, GB": 1.2,
}
# Field → files in the folder of public data; the first present one is dropped.
FIELDS = {
    "genes": ("golub_all_aml/ALL_AML_data.txt",),
    "tumours": ("breast21_signatures/Samples_SBS.txt",),
    "texts": ("20newsgroups/20newsgroups-train.tab.gz", "bbc/bbc.mtx"),
    "faces": ("olivetti/olivettifaces.mat", "cbcl/CBCL_uint8.mat"),
    "spectra": ("samson/samson_dataset.mat", "jasper_ridge/jasperRidge2_R198.mat"),
}
# Analyses that are open side by side: sample and number of components.
OPEN = (
    ("digits", 6),
    ("digits", 8),
    ("digits", 10),
    ("faces", 6),
    ("faces", 10),
    ("signatures", 3),
    ("signatures", 4),
    ("signatures", 5),
    ("leukemia", 3),
    ("newsgroups", 16),
)
RESTARTS = 10
# Browsers of a class that open one link at once.
CLASS = 30
# Times that every page is visited, and loads of the first one.
ROUNDS, LOADS = 2, 5
# Time limit of a step in milliseconds, long enough to measure a slow one.
PATIENCE = 120_000
# A chart of a page that the analysis opens, drawn for what is there now.
DRAWN = """() => ["/overview", "/boolean"].includes(location.pathname)
    && [...document.querySelectorAll('[data-testid="stPlotlyChart"] .main-svg')]
        .some(chart => !chart.closest('[data-stale="true"]') && chart.getBoundingClientRect().width)
"""
JOURNEYS = (
    "field",
    "file",
    "MB",
    "clicks",
    "seconds",
    "to be read",
    "to the first chart",
    "why not",
)
WHOLE = ("what", "measured", "target", "of target", "met")


def measure(quick: bool = False) -> dict[str, Any]:
    """Five journeys, visits of all pages, and the memory of ten tabs."""
    journeys: list[list[Any]] = []
    numbers: list[list[Any]] = []
    why_not = ""
    try:
        browser = chromium()
        journeys = [journey(browser, field) for field in (["tumours"] if quick else FIELDS)]
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory()) if quick else STORES
            home = Path(folder) / "open"
            analyses = _analyses(home, OPEN[5:7] if quick else OPEN)
            firsts = first_page(browser, home, 1 if quick else LOADS)["first request"]
            visits, memory = _visited(browser, home, analyses)
            numbers = _numbers(journeys, firsts, visits, memory, len(analyses))
            numbers += _class(browser, home, analyses[0], 2 if quick else CLASS)
    except harness.Unavailable as reason:
        why_not = f"Skipped: {reason}."
    return {
        "title": "From a file to its first picture",
        "summary": [
            "Files are dropped on Home as they were published; a journey ends with the first chart "
            "that is computed from them. To be read: until the file is understood and can be "
            "taken. Visits are clicks in the menu, "
            f"{ROUNDS} of each page. Memory is what the server's process holds with so many "
            f"analyses open in tabs of their own ({RESTARTS} restarts and as many Q-Transforms "
            f"each). {why_not}".strip(),
        ],
        "tables": [
            {"title": "Journeys", "columns": JOURNEYS, "rows": journeys},
            {"title": "Targets", "columns": WHOLE, "rows": numbers},
        ],
        "raw": {},
    }


def journey(browser: Any, field: str) -> list[Any]:
    """A row: the file of a field, dropped on a fresh server."""
    try:
        file = _file(field)
    except harness.Unavailable as reason:
        return [field, *[None] * (len(JOURNEYS) - 2), f"{reason}"]
    file_cells = [field, file.name, file.stat().st_size / 1e6]
    with tempfile.TemporaryDirectory() as folder, browser.browser_page() as page:
        home = Path(folder)
        with answering(browser, home) as address:
            Visitor(page, home / "answers").arrive(address)
            page.set_default_timeout(PATIENCE)
            found: dict[str, float] = {}
            why_not = ""
            try:
                for step, seconds in _walk(page, file):
                    found[step] = seconds
            except Exception as error:  # a person would be stuck, too: report it
                why_not = str(error).splitlines()[0]
            read, drawn = found.get("read"), found.get("drawn")
            rest = None if drawn is None else drawn - found["read"]
            clicks = 2 if "analyse" in found else None
            return [*file_cells, clicks, math.inf if drawn is None else drawn, read, rest, why_not]


def _file(field: str) -> Path:
    """The first present file of a field."""
    for name in FIELDS[field]:
        if (harness.data_folder() / name).is_file():
            break
    return harness.public(name)


def _walk(page: Any, file: Path) -> Iterator[tuple[str, float]]:
    """Steps (two clicks and a first chart) and the seconds from the drop to their end."""
    began = time.perf_counter()
    page.locator('input[type="file"]').first.set_input_files(file)
    take = page.get_by_role("button", name="Take these data")
    take.wait_for()
    yield "read", time.perf_counter() - began
    take.click()
    page.wait_for_url("**/run**")
    page.get_by_test_id("stBaseButton-primary").filter(has_text="Analyse").click()
    yield "analyse", time.perf_counter() - began
    page.wait_for_function(DRAWN, polling=50)
    yield "drawn", time.perf_counter() - began


def _analyses(home: Path, wanted: Any) -> list[list[str]]:
    """The runs of each analysis, made unless the store has them."""
    cache = home / "analyses.json"
    if cache.is_file():
        return list(json.loads(cache.read_text()))
    with closing(JobRunner(RunStore(home))) as runner:
        found = []
        for name, rank in wanted:
            data = load_sample(name)
            # Without long chains: the benchmark measures open analyses, not their making.
            specs = [
                spec
                for spec in preset(data, rank, restarts=RESTARTS).specs
                if spec.algorithm in ("random_restarts", "q_transform")
            ]
            found.append(runner.start(data, specs))
            runner.wait_analysis(found[-1], timeout=1800.0)
    cache.write_text(json.dumps(found))
    return found


def _visited(
    browser: Any, home: Path, analyses: list[list[str]]
) -> tuple[list[list[float]], float]:
    """Seconds of the visits in each round, and the server's memory in GB with all tabs open."""
    with answering(browser, home) as address, browser.browser_page() as page:
        page.set_default_timeout(PATIENCE)
        visitor = Visitor(page, home / "answers")
        visitor.arrive(f"{address}/overview?runs={','.join(analyses[0])}")
        rounds = [[visitor.open(page_).browser for page_ in PAGES] for _ in range(ROUNDS)]
        for number, run_ids in enumerate(analyses):
            tab = page.context.browser.new_page() if number else page
            tab.goto(f"{address}/overview?runs={','.join(run_ids)}")
            browser.rest(tab)
        last = json.loads((home / "answers").read_text().splitlines()[-1])
    return rounds, last["resident"] / 1e9


def _class(browser: Any, home: Path, run_ids: list[str], size: int) -> list[list[Any]]:
    """Rows: seconds until half of a class, and all of it, see the map; memory with all tabs."""
    with answering(browser, home) as address, browser.browser_page() as page:
        link = f"{address}/overview?runs={','.join(run_ids)}"
        page.goto(link)  # the teacher has opened it before
        browser.rest(page)
        tabs = [page.context.browser.new_context().new_page() for _ in range(size)]
        began, seen = time.perf_counter(), []
        for tab in tabs:
            tab.set_default_timeout(PATIENCE)
            tab.goto(link, wait_until="commit")
        for tab in tabs:
            tab.wait_for_function(DRAWN, polling=50)
            seen.append(time.perf_counter() - began)
        last = json.loads((home / "answers").read_text().splitlines()[-1])
    return [
        [f"half of {size} browsers on one link see the map, s", median(seen), "", "", None],
        [f"all {size} see it, s", max(seen), "", "", None],
        [f"memory with {size} browsers, GB", last["resident"] / 1e9, "", "", None],
    ]


def _numbers(
    journeys: list[list[Any]],
    firsts: list[float],
    visits: list[list[float]],
    memory: float,
    tabs: int,
) -> list[list[Any]]:
    rows = []
    for name in ("clicks", "seconds"):
        place = JOURNEYS.index(name)
        if made := [row[place] for row in journeys if row[place] is not None]:
            rows.append(_against(f"{name} of the longest journey", max(made), name))
    every = [seconds for visit in visits for seconds in visit]
    rows += [
        _against("first page of a fresh server, s", median(firsts), "first page, s"),
        _against(
            f"95th percentile of {len(every)} visits, s",
            float(np.percentile(every, 95)),
            "95th percentile of visits, s",
        ),
        ["… of the first of each page, s", float(np.percentile(visits[0], 95)), "", "", None],
        ["… of the later ones, s", float(np.percentile(visits[-1], 95)), "", "", None],
    ]
    if memory:
        rows.append(_against(f"memory with {tabs} analyses open, GB", memory, "memory, GB"))
    return rows


def _against(what: str, measured: float, target: str) -> list[Any]:
    verdict = harness.against(measured, TARGETS[target], at_least=False)
    return [what, measured, verdict["target"], part(verdict["part"]), verdict["met"]]


if __name__ == "__main__":
    harness.main(measure)
