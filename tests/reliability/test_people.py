"""Many people at work on one server: nobody is sent what is another's, or loses anything."""

import json
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from bnmf_core import RunStore
from bnmf_core.store.guest import GuestStore
from bnmf_core.store.home import OWNERS
from bnmf_core.store.shares import Shares
from pages.frame import declared
from pages.serving import identity
from tests.browser.conftest import running_server
from tests.pages.visitors import Visitor
from tests.reliability.counted import Counted
from tests.reliability.people import Person, person

pytestmark = pytest.mark.slow
PATIENCE = 600.0
# Work that a server does for whoever presses the button, and what it is called among their runs.
SMALL = "Analyse a matrix with exactly two answers", b"exactly two answers"
LARGE = "Analyse 1,797 digits", b"1,797 digits"
# A server at rest works at most this part of a core, and is so after so many seconds at the latest.
AT_REST, SOON = 0.1, 60.0


@dataclass
class Trial:
    """What people do on a server, and what is seen of it.

    sessions : how many people. clicks, seconds : when each of them leaves. pause : seconds that
    they look at a page on average. button : what each of them presses first.
    """

    sessions: int
    clicks: int = 10**9
    seconds: float = PATIENCE
    pause: float = 0.0
    button: tuple[str, bytes] = SMALL
    counted: Counted = field(default_factory=lambda: Counted("pages of people at work"))
    waited: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)
    rested: float = 0.0

    def walk(self, address: str, people: list[Person], number: int, end: float) -> None:
        """Have work done, go through one's own pages, and ask for what is others'."""
        me, rng = people[number], np.random.default_rng(number)
        visitor = Visitor(address, {identity.COOKIE: identity.signed(me.owner)})
        others = [one.word.encode() for one in people if one is not me]
        try:
            visitor.press("", self.button[0])
            for _ in range(self.clicks - 1):
                time.sleep(rng.exponential(self.pause) if self.pause else 0.0)
                if time.monotonic() > end:
                    break
                page = declared.PAGES[rng.integers(len(declared.PAGES))]
                whose = me if rng.random() < 0.6 else people[rng.integers(len(people))]
                asked = {"runs": whose.runs, "data": whose.data, "left": whose.runs}
                asked |= {"right": me.runs}
                asked = {key: value for key, value in asked.items() if key in page.parameters}
                sent = visitor.visit(page.address, **asked)
                self.counted.tried[page.key] += 1
                if any(word in sent for word in others):
                    self.counted.fault("leaks", f"{page.key} shows {me.word} what is another's")
            self.counted.tried["runs"] += 1
            sent = visitor.visit("runs")
            if me.word.encode() not in sent or self.button[1] not in sent:
                self.counted.fault("losses", f"{me.word} misses runs of theirs")
            # What is looked for can be found; many pages say it only when their figures are ready.
            assert me.word.encode() in visitor.visit("overview", runs=me.runs)
        except TimeoutError:
            self.counted.fault("hangs", f"{me.word} waited in vain")
        finally:
            self.waited += visitor.waited
            visitor.close()

    def run(self, home: Path, monkeypatch) -> str:
        """Let people come, and leave; what was seen, in words."""
        monkeypatch.setenv("BNMF_HOME", str(home))
        monkeypatch.setenv("BNMF_SHARED", "1")
        people = [person(home, number) for number in range(self.sessions)]
        before = {one.runs: _content(home, one) for one in people}
        with running_server(home) as address, self._watched(address):
            end = time.monotonic() + self.seconds
            with ThreadPoolExecutor(self.sessions) as threads:
                walks = [
                    threads.submit(self.walk, address, people, number, end)
                    for number in range(self.sessions)
                ]
                for one in walks:
                    one.result()
            self._come_to_rest(address)
        log = (home / "server.log").read_text()
        for _ in range(log.count("Traceback")):
            self.counted.fault("tracebacks", log[log.index("Traceback") :][:300])
        for one in people:
            if _content(home, one) != before[one.runs]:
                self.counted.fault("silent changes", f"the run of {one.word} has changed")
            runs = RunStore(home / OWNERS / one.owner).runs()
            if any(run.status != "complete" for run in runs) or len(runs) < 2:
                self.counted.fault("losses", f"{one.word}: {[run.status for run in runs]}")
        times = np.sort(self.waited)
        self.counted.said = (
            f"{self.sessions} sessions, who look at a page for {self.pause:g} s; seconds of a page "
            f"median {np.median(times):.2f}, 95th percentile {np.quantile(times, 0.95):.2f}, "
            f"longest {times[-1]:.2f}; memory at most {max(self.megabytes):.0f} MB; at rest "
            f"{self.rested:.0f} s after the last analysis"
        )
        return self.counted.row

    @contextmanager
    def _watched(self, address: str):
        """Look at the server's memory every second."""
        ended = threading.Event()

        def look() -> None:
            while not ended.wait(1.0):
                self.megabytes.append(int(_told(address, "status", "VmRSS:")) / 1e3)

        thread = threading.Thread(target=look)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _come_to_rest(self, address: str) -> None:
        """Wait until all work is done, then until the processor is idle."""
        end = time.monotonic() + PATIENCE
        while any(
            count
            for kind, count in json.load(urllib.request.urlopen(f"{address}/health")).items()
            if kind.endswith(("_running", "_waiting"))
        ):
            assert time.monotonic() < end, "the work has not come to its end"
            time.sleep(0.5)
        ended = time.monotonic()
        while _working(address, 2.0) > AT_REST:
            if time.monotonic() > ended + SOON:
                self.counted.fault("hangs", f"the server still works {SOON:g} s after all is done")
                break
        self.rested = time.monotonic() - ended


def _content(home: Path, one: Person) -> tuple[str, str]:
    store = RunStore(home / OWNERS / one.owner)
    return store.particles(one.runs).fingerprint, store.dataset(one.data).hash


def _told(address: str, file: str, word: str = "") -> str:
    """What the system says of the server's process."""
    port = address.rsplit(":", 1)[1].encode()
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if port in command.read_bytes().split(b"\0"):
                told = (command.parent / file).read_text()
                return told.split(word)[1].split()[0] if word else told
        except OSError:  # a process that has ended meanwhile
            continue
    raise AssertionError("the server's process is not there")


def _working(address: str, seconds: float) -> float:
    """The part of one core that the server takes."""

    def ticks() -> int:
        told = _told(address, "stat").rpartition(")")[2].split()
        return int(told[11]) + int(told[12])

    before = ticks()
    time.sleep(seconds)
    return (ticks() - before) / 100 / seconds


def test_three_people_see_and_keep_what_is_theirs(tmp_path, monkeypatch, promise):
    trial = Trial(3, clicks=6)
    promise(trial.run(tmp_path, monkeypatch))
    assert not trial.counted.first, trial.counted.first
    assert trial.counted.tried.total() == 3 * 6


def test_what_goes_wrong_is_counted(tmp_path, monkeypatch):
    """A run that is lost, another's word, a traceback, and a run that changes."""
    trial = Trial(2, clicks=8)
    walk = trial.walk

    def harming(address, people, number, end):
        if number == 0:
            walk(address, [people[0], replace_word(people[1], "Marker00of")], 0, end)
            with (tmp_path / "server.log").open("a") as log:
                log.write("Traceback (most recent call last)\n")
            return
        store = RunStore(tmp_path / OWNERS / people[1].owner)
        store.delete_run(people[1].runs)

    def replace_word(one, word):
        return Person(one.owner, word, one.runs, one.data)

    monkeypatch.setattr(trial, "walk", harming)
    monkeypatch.setattr(
        "tests.reliability.test_people._content", lambda home, one: time.monotonic()
    )
    trial.run(tmp_path, monkeypatch)
    faults = {kind for kind, lines in trial.counted.faults.items() if lines}
    assert faults >= {"tracebacks", "silent changes", "losses", "leaks"}


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_ten_people_click_thirty_times_while_each_has_the_same_example_analysed(
    tmp_path, monkeypatch, promise
):
    trial = Trial(10, clicks=30, pause=2.0, button=LARGE)
    promise(trial.run(tmp_path, monkeypatch))
    assert not trial.counted.first, trial.counted.first
    assert np.quantile(trial.waited, 0.95) <= 1.5 and max(trial.megabytes) <= 1200


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_twenty_people_for_ten_minutes(tmp_path, monkeypatch, promise):
    trial = Trial(20, seconds=600.0, pause=2.0, button=LARGE)
    promise(trial.run(tmp_path, monkeypatch))
    assert not trial.counted.first, trial.counted.first


def shown_to(address: str, link: str, runs: str, number: int) -> tuple[Visitor, list[bytes]]:
    """What one of those who were given a link is sent on some pages."""
    visitor, rng = Visitor(address, {}), np.random.default_rng(number)
    asked = {"shown": link, "runs": runs}
    pages = ["overview", *rng.permutation([p.address for p in declared.PAGES if p.for_guests])[:3]]
    found = [visitor.visit(page, **asked) for page in pages]
    visitor.close()
    return visitor, found


def test_thirty_people_look_at_what_one_shows_them(tmp_path, monkeypatch, promise):
    monkeypatch.setenv("BNMF_HOME", str(tmp_path))
    monkeypatch.setenv("BNMF_SHARED", "1")
    me, other = (person(tmp_path, number) for number in range(2))
    link = Shares(tmp_path / "shares").make(me.owner, [me.runs]).token
    before = _content(tmp_path, me)
    with running_server(tmp_path) as address:
        with ThreadPoolExecutor(30) as threads:
            found = list(threads.map(lambda n: shown_to(address, link, me.runs, n), range(30)))
        for _visitor, (overview, *rest) in found:
            assert me.word.encode() in overview
            assert not any(other.word.encode() in sent for sent in (overview, *rest))
            assert b"Traceback" not in b"".join(rest)
        assert "Traceback" not in (tmp_path / "server.log").read_text()
    assert _content(tmp_path, me) == before
    assert GuestStore(tmp_path / OWNERS / me.owner, [me.runs]).runs()[0].id == me.runs
    waited = np.sort(np.concatenate([visitor.waited for visitor, _ in found]))
    promise(
        f"30 people on one link, {len(waited)} pages: seconds of a page median "
        f"{np.median(waited):.2f}, 95th percentile {np.quantile(waited, 0.95):.2f}, longest "
        f"{waited[-1]:.2f}"
    )
