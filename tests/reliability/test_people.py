"""Many people on one server: nobody is sent what is another's, while one has heavy work done."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from bnmf_core import RunSpec, RunStore
from bnmf_core.store.home import OWNERS
from pages.frame import declared
from pages.serving import identity
from tests.browser.conftest import running_server
from tests.pages.visitors import Visitor
from tests.reliability.people import Person, person

pytestmark = pytest.mark.slow
PATIENCE = 300.0
# Heavy work for a few people, and for many.
HEAVY, HEAVIER = "Analyse a matrix with exactly two answers", "Analyse 1,797 digits"
# Seconds after the last one has gone in which the server may put things away.
SETTLING = 10.0
SPEC = RunSpec("random_restarts", rank=3, particles=4)


def walk(
    address: str, people: list[Person], number: int, actions: int, pause: float
) -> tuple[Visitor, int]:
    """Go through pages of one's own and ask for what is others'; how often something came."""
    me, rng = people[number], np.random.default_rng(number)
    visitor = Visitor(address, {identity.COOKIE: identity.signed(me.owner)})
    foreign, own = 0, 0
    for _ in range(actions):
        time.sleep(rng.exponential(pause) if pause else 0.0)
        page = declared.PAGES[rng.integers(len(declared.PAGES))]
        whose = me if rng.random() < 0.6 else people[rng.integers(len(people))]
        asked = {"runs": whose.runs, "data": whose.data, "left": whose.runs, "right": me.runs}
        asked = {key: value for key, value in asked.items() if key in page.parameters}
        sent = visitor.visit(page.address, **asked)
        foreign += any(one.word.encode() in sent for one in people if one is not me)
        own += me.word.encode() in sent
    visitor.close()
    assert own > 0  # what is looked for can be found
    return visitor, foreign


def memory(address: str) -> float:
    """Megabytes that the server's process holds."""
    port = address.rsplit(":", 1)[1]
    for status in Path("/proc").glob("[0-9]*/cmdline"):
        words = status.read_bytes().split(b"\0") if status.exists() else []
        if port.encode() in words:
            told = (status.parent / "status").read_text()
            return int(told.split("VmRSS:")[1].split()[0]) / 1e3
    raise AssertionError("the server's process is not there")


def tried(
    home: Path, monkeypatch, sessions: int, actions: int, heavy: str, pause: float = 0.0
) -> tuple[int, str]:
    """Let so many people go about, while one of them has heavy work done.

    ``heavy`` : the button of that work. ``pause`` : seconds that people look at a page on average
    before they ask for the next.

    Returns
    -------
    How many pages were asked for; what was seen, in words.
    """
    monkeypatch.setenv("BNMF_HOME", str(home))
    monkeypatch.setenv("BNMF_SHARED", "1")
    people = [person(home, number) for number in range(sessions)]
    with running_server(home) as address:
        first, busy = (
            Visitor(address, {identity.COOKIE: identity.signed(identity.new_owner())})
            for _ in range(2)
        )
        # Who comes first has libraries loaded, and with the heavier work compiled loops read.
        if heavy == HEAVIER:
            first.press("", heavy)
        for page in declared.PAGES:
            first.visit(page.address)
        finished(home)
        first.close()
        before = memory(address)
        busy.press("", heavy)
        with ThreadPoolExecutor(sessions) as threads:
            walks = [
                threads.submit(walk, address, people, number, actions, pause)
                for number in range(sessions)
            ]
            ended = [one.result() for one in walks]
        most = memory(address)
        finished(home)
        busy.close()
        time.sleep(SETTLING)
        after = memory(address)
    waited = np.sort(np.concatenate([visitor.waited for visitor, _ in ended]))
    foreign = sum(foreign for _, foreign in ended)
    assert foreign == 0
    return len(waited), (
        f"people {sessions}, who look at a page for {pause:g} s, {len(waited):,} pages asked for, "
        f"sent what is another's {foreign} times; seconds of a page median "
        f"{np.median(waited):.2f}, 95th percentile {np.quantile(waited, 0.95):.2f}, longest "
        f"{waited[-1]:.2f}; memory with every library loaded {before:.0f} MB, at the end "
        f"{most:.0f} MB, when all had gone {after:.0f} MB"
    )


def finished(home: Path) -> None:
    """Wait until the heavy work is done."""
    began = time.monotonic()
    while time.monotonic() < began + PATIENCE:
        stores = [RunStore(folder) for folder in (home / OWNERS).iterdir()]
        if not any(run.active for store in stores for run in store.runs()):
            return
        time.sleep(0.5)
    raise AssertionError("the heavy work has not come to its end")


def test_three_people_see_only_what_is_theirs(tmp_path, monkeypatch, promise):
    asked, line = tried(tmp_path, monkeypatch, 3, 12, HEAVY)
    promise(line)
    assert asked == 36


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("pause", [0.0, 2.0])
def test_twenty_people_see_only_what_is_theirs(tmp_path, monkeypatch, promise, pause):
    asked, line = tried(tmp_path, monkeypatch, 20, 50, HEAVIER, pause)
    promise(line)
    assert asked == 1000
