"""A real server and a real headless Chromium."""

import atexit
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import sync_playwright

from bnmf_core import Dataset, JobRunner, RunSpec, RunStore, laurberg

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
]


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def running_server(
    home: Path,
    program: str = "streamlit",
    options: Sequence[str] = (),
    root: Path = ROOT,
    port: int = 0,
):
    """The app on a free port with its own store; yields the address.

    ``program``: a module that is called as Streamlit is. ``options``: further ones of the server.
    ``root``: the folder in which the program lies. ``port``: 0 for any.
    """
    port = port or free_port()
    command = [sys.executable, "-m", program, "run", "app.py", "--server.port", str(port), *options]
    log = (home / "server.log").open("ab")
    process = subprocess.Popen(
        command, cwd=root, env=os.environ | {"BNMF_HOME": str(home)}, stdout=log, stderr=log
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(1500):
            try:
                urllib.request.urlopen(f"{address}/_stcore/health", timeout=1).close()
                break
            except OSError:
                time.sleep(0.02)
        yield address
    finally:
        process.terminate()
        process.wait(timeout=20)
        log.close()


def after_three_seconds(route) -> None:
    """What a route is given that stands for a slow line."""
    time.sleep(3)
    route.continue_()


def finished_runs(
    home: Path, dataset: Dataset | None = None, names: Sequence[str] = ()
) -> list[str]:
    """Two finished runs with their analysis in a store that a server can be given; their ids.

    Those of the usual data are made once, and copied.
    """
    if dataset is None and not names:
        made, run_ids = _usual_runs()
        shutil.copytree(made, home, dirs_exist_ok=True)
        return run_ids
    if dataset is None:
        dataset = laurberg("two", noise=0.001, rng=np.random.default_rng(0))
    return _made_runs(home, dataset, names)


@cache
def _usual_runs() -> tuple[Path, list[str]]:
    home = Path(tempfile.mkdtemp(prefix="bnmf-tests-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    data = laurberg("two", noise=0.001, rng=np.random.default_rng(0))
    return home, _made_runs(home, data, ())


def _made_runs(home: Path, dataset: Dataset, names: Sequence[str]) -> list[str]:
    specs = [
        RunSpec("random_restarts", rank=3, particles=12),
        RunSpec("gibbs", rank=3, particles=12, settings={"warm_up": 5, "thinning": 1}),
    ]
    runner = JobRunner(RunStore(home))
    run_ids = runner.start(dataset, specs, names)
    runner.wait_analysis(run_ids)
    runner.close()
    return run_ids


@contextmanager
def browser_page(
    width: int = 1366, height: int = 900, scheme: str = "light", trusting: bool = False
):
    """A page in a fresh headless Chromium; ``trusting`` : of any certificate."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        page = browser.new_page(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            ignore_https_errors=trusting,
        )
        page.set_default_timeout(60_000)
        yield page
        browser.close()


def settle(page, extra: int = 400) -> None:
    """Wait until the app's script has stopped running."""
    running = page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]')
    running.wait_for(state="attached")
    page.wait_for_timeout(extra)
    running.wait_for(state="attached")


# It has come to rest: nothing runs, nothing is awaited.
BUSY = "[data-testid=stProgress], [data-testid=stSkeleton], [data-stale=true]"
AT_REST = f"""() => !document.querySelector("{BUSY}")
    && document.querySelector('[data-test-script-state="notRunning"]')"""


def until(page, condition: str, argument=None, at_most: float = 60) -> None:
    """Wait until a function of the page says yes; seconds at most.

    Playwright's ``wait_for_function`` evaluates a string within the page from its second look
    on, which the server's content policy forbids.
    """
    end = time.monotonic() + at_most
    while not page.evaluate(condition, argument):
        assert time.monotonic() < end, f"not within {at_most:g} s: {condition}"
        page.wait_for_timeout(100)


def rest(page, at_most: int = 240) -> None:
    """Wait until a page has come to rest and stays so; seconds at most."""
    for _ in range(3):
        until(page, AT_REST, at_most=at_most)
        page.wait_for_timeout(400)


@pytest.fixture(scope="session")
def usual(chromium, tmp_path_factory):
    """A server with the usual finished runs, for tests that change nothing: address, run ids."""
    home = tmp_path_factory.mktemp("usual")
    run_ids = finished_runs(home)
    with running_server(home) as address:
        yield address, run_ids


@pytest.fixture(scope="session")
def chromium():
    """Skips where there is no Chromium, unless the environment says that there must be one."""
    if CHROMIUM is None:
        reason = "Chromium is not installed; install Debian's chromium to run browser tests."
        if os.environ.get("BNMF_REQUIRE_BROWSER"):
            pytest.fail(reason)
        pytest.skip(reason)
    return browser_page
