"""Server time of a rerun of every page with 100 factorizations of faces, and the first load."""

import cProfile
import logging
import os
import pstats
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import streamlit as st
from streamlit.runtime.scriptrunner import script_runner
from streamlit.runtime.scriptrunner_utils import script_run_context
from streamlit.testing.v1 import AppTest

from benchmarks import harness
from benchmarks.tables import part
from bnmf_core import RunSpec, load_sample
from pages.frame import services

TARGETS = {"rerun, median ms": 150.0, "rerun, 95th percentile ms": 400.0, "first load, s": 2.0}
PAGES = (
    "home",
    "data",
    "run",
    "runs",
    "modes",
    "gallery",
    "topics",
    "downstream",
    "coverage",
)
# Pages whose sidebar has the threshold between modes.
THRESHOLD_PAGES = ("modes", "gallery", "downstream", "coverage")
FACES = RunSpec("q_transform", rank=10, particles=100)
POSTS = RunSpec("q_transform", rank=16, particles=100)
RERUNS = 25
PROFILED = 5
TOP = 15
LOADS = 5
FIRST_BUTTON = "Analyse 1,797 digits"
COLUMNS = (
    "page",
    "rerun",
    "median, ms",
    "95th percentile, ms",
    "largest, ms",
    "with AppTest, ms",
    "targets",
    "of target",
    "met",
)


def measure(quick: bool = False) -> dict[str, Any]:
    """Reruns in this process, loads of fresh servers, and what an import costs."""
    # Outside a server Streamlit warns at every use that there is no session.
    logging.getLogger(script_run_context.__name__).addFilter(lambda record: False)
    with tempfile.TemporaryDirectory() as home:
        os.environ["BNMF_HOME"] = home
        st.cache_resource.clear()
        runner = services.runner()
        try:
            faces = _store(runner, "faces", FACES, 4 if quick else FACES.particles)
            posts = [] if quick else _store(runner, "newsgroups", POSTS, POSTS.particles)
            found = _reruns(_views(faces, posts, quick), 3 if quick else RERUNS)
        finally:
            runner.close()
            st.cache_resource.clear()
        loads, why_not = ([], "left out") if quick else _loads(Path(home), LOADS)
    imports = _imports()
    missed = {name: one["profile"] for name, one in found.items() if one["profile"]}
    return {
        "title": "Pages: server time",
        "summary": [
            f"One Q-Transform run of {FACES.particles} factorizations of faces (R={FACES.rank}); "
            "“posts” is the same of newsgroups (R=16), whose words the Topics page shows. "
            f"{RERUNS} reruns of a page after a warm-up, by Streamlit's AppTest in this process: "
            "the time is that of the script alone; AppTest's own reading of the page is given "
            "beside it. “threshold” moves the slider between modes before every rerun. A first "
            "load is a fresh server and a fresh browser: from going to the address to the "
            "script's end.",
        ],
        "tables": [
            {"title": "Reruns", "columns": COLUMNS, "rows": _rerun_rows(found)},
            _load_table(loads, why_not),
            {
                "title": "Slowest imports of a fresh process, seconds with what they import",
                "columns": ("module", "seconds"),
                "rows": [[name, spent] for name, spent in imports["slowest"]],
            },
            *[
                {
                    "title": f"Where the time goes: {name} ({PROFILED} reruns under the profiler)",
                    "columns": ("function", "calls", "seconds with what it calls"),
                    "rows": rows,
                }
                for name, rows in missed.items()
            ],
        ],
        "raw": {"reruns": found, "loads": loads, "imports": imports},
    }


def _store(runner: services.JobRunner, sample: str, spec: RunSpec, count: int) -> list[str]:
    spec = RunSpec(spec.algorithm, rank=spec.rank, particles=count)
    run_ids = runner.start(load_sample(sample), [spec])
    runner.wait_analysis(run_ids, timeout=600.0)
    return run_ids


class Clock:
    """Times every run of the page's script, and profiles it while asked to."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.profile: cProfile.Profile | None = None
        self._execute = script_runner.exec_func_with_error_handling

    def __enter__(self) -> "Clock":
        script_runner.exec_func_with_error_handling = self._timed
        return self

    def __exit__(self, *_: object) -> None:
        script_runner.exec_func_with_error_handling = self._execute

    def _timed(self, *arguments: Any) -> Any:
        began = time.perf_counter()
        try:
            if self.profile is not None:
                return self.profile.runcall(self._execute, *arguments)
            return self._execute(*arguments)
        finally:
            self.seconds.append(time.perf_counter() - began)


def _views(faces: list[str], posts: list[str], quick: bool) -> list[tuple[str, str, list[str]]]:
    """Pages to run, with what changes between reruns and the runs that are looked at."""
    if quick:
        return [("home", "unchanged", faces), ("modes", "threshold", faces)]
    return [
        *[(page, "unchanged", faces) for page in PAGES],
        *[(page, "threshold", faces) for page in THRESHOLD_PAGES],
        ("topics", "unchanged, posts", posts),
    ]


def _reruns(views: list[tuple[str, str, list[str]]], count: int) -> dict[str, Any]:
    with Clock() as clock:
        return {
            f"{page}, {kind}": _page(clock, page, kind, runs, count) for page, kind, runs in views
        }


def _page(clock: Clock, page: str, kind: str, runs: list[str], count: int) -> dict[str, Any]:
    app = AppTest.from_file(harness.ROOT / "app.py", default_timeout=120)
    app.run()
    app.query_params["runs"] = ",".join(runs)
    app.switch_page(f"pages/{page}.py").run()
    for _ in range(2):
        app.run()

    def once(repeat: int) -> float:
        if kind == "threshold":
            slider = app.slider(key="view_threshold")
            share = 0.3 + 0.5 * ((repeat * 0.618) % 1.0)
            slider.set_value(slider.min + share * (slider.max - slider.min))
        clock.seconds.clear()
        whole = harness.seconds(app.run)
        if app.exception:
            raise RuntimeError(f"The page {page} failed: {app.exception[0].message}")
        scripts.append(sum(clock.seconds))
        return whole

    scripts: list[float] = []
    for repeat in range(2):
        once(repeat)
    scripts.clear()
    whole = [once(repeat) for repeat in range(count)]
    found: dict[str, Any] = {"script": list(scripts), "with_apptest": whole, "profile": []}
    middle, high = _milliseconds(found["script"])
    limits = TARGETS["rerun, median ms"], TARGETS["rerun, 95th percentile ms"]
    if middle > limits[0] or high > limits[1]:
        clock.profile = cProfile.Profile()
        for repeat in range(PROFILED):
            once(repeat)
        found["profile"] = _slowest(clock.profile)
        clock.profile = None
    return found


def _milliseconds(times: list[float]) -> tuple[float, float]:
    return 1e3 * median(times), 1e3 * float(np.percentile(times, 95))


def _slowest(profile: cProfile.Profile) -> list[list[Any]]:
    entries = pstats.Stats(profile).stats
    ranked = sorted(entries.items(), key=lambda item: -item[1][3])
    rows = []
    for (file, line, name), (_, calls, _, together, _) in ranked:
        # What runs every script says nothing about where its time goes.
        if re.search(r"scriptrunner|navigation|cProfile", file) or "exec>" in name:
            continue
        if name == "<module>":
            continue
        where = _where(file)
        rows.append([f"{where}:{line} {name}", calls, together])
        if len(rows) == TOP:
            break
    return rows


def _where(file: str) -> str:
    """A file's name as it is called inside its project or package."""
    if file == "~":
        return "built in"
    path = Path(file)
    for folder in ("site-packages", f"python{sys.version_info.major}.{sys.version_info.minor}"):
        if folder in path.parts:
            return "/".join(path.parts[path.parts.index(folder) + 1 :])
    return str(path.relative_to(harness.ROOT)) if path.is_relative_to(harness.ROOT) else path.name


def _rerun_rows(found: dict[str, Any]) -> list[list[Any]]:
    rows = []
    limits = TARGETS["rerun, median ms"], TARGETS["rerun, 95th percentile ms"]
    for name, one in found.items():
        page, kind = name.split(", ", 1)
        middle, high = _milliseconds(one["script"])
        verdicts = [
            harness.against(value, limit, at_least=False)
            for value, limit in zip((middle, high), limits, strict=True)
        ]
        rows.append(
            [
                page,
                kind,
                middle,
                high,
                1e3 * max(one["script"]),
                1e3 * median(one["with_apptest"]),
                f"≤ {limits[0]:g} and ≤ {limits[1]:g}",
                part(min(v["part"] for v in verdicts)),
                all(v["met"] for v in verdicts),
            ]
        )
    return rows


def _loads(home: Path, count: int) -> tuple[list[dict[str, float]], str]:
    """First loads of fresh servers; none, and the reason, where there is no browser."""
    try:
        from tests.browser import conftest as browser  # noqa: PLC0415 (Playwright may be absent)
    except ImportError:
        return [], "skipped: Playwright is not installed"
    if browser.CHROMIUM is None:
        return [], "skipped: Chromium is not installed"
    loads = []
    for _ in range(count):
        began = time.perf_counter()
        with browser.running_server(home) as address:
            healthy = time.perf_counter() - began
            with browser.browser_page() as page:
                first = harness.seconds(lambda: _load(page, address))
                again = harness.seconds(lambda: _load(page, address))
        loads.append({"healthy": healthy, "first": first, "again": again})
    return loads, ""


def _load(page: Any, address: str) -> None:
    page.goto(address)
    page.get_by_role("button", name=FIRST_BUTTON).wait_for()
    state = page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]')
    state.wait_for(state="attached")


def _load_table(loads: list[dict[str, float]], why_not: str) -> dict[str, Any]:
    rows: list[list[Any]] = []
    for key, words in (
        ("healthy", "process start to health"),
        ("first", "first page load, fresh server and browser"),
        ("again", "second load, same browser"),
    ):
        if not loads:
            rows.append([words, why_not, None, None, None, None])
            continue
        times = [load[key] for load in loads]
        verdict = None
        if key == "first":
            verdict = harness.against(median(times), TARGETS["first load, s"], at_least=False)
        rows.append(
            [
                words,
                median(times),
                f"{min(times):.2f}–{max(times):.2f}",
                verdict and verdict["target"],
                part(verdict and verdict["part"]),
                verdict and verdict["met"],
            ]
        )
    columns = ("what", "median, s", "range", "target", "of target", "met")
    return {"title": "First load of the app", "columns": columns, "rows": rows}


def _imports() -> dict[str, Any]:
    """What a fresh process spends on importing the engine, Streamlit and the pages' helpers."""
    code = "import streamlit, bnmf_core, pages.parts.run_card, pages.frame.lens"
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
