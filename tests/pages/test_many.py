"""Many people on one server: nobody is sent what is another's, while one has heavy work done."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from bnmf_core import JobRunner, RunSpec, RunStore, laurberg
from bnmf_core.runs.examples import EXAMPLES
from pages.frame import declared
from pages.frame.places import OWNERS
from pages.serving import identity
from tests.browser.conftest import running_server
from tests.pages.visitors import Visitor

pytestmark = pytest.mark.slow
SPEC = RunSpec("random_restarts", rank=3, particles=4)


@dataclass
class Person:
    """Somebody with a run whose data, name and notes hold a word that nobody else's do."""

    owner: str
    word: str
    runs: str
    data: str


def person(home: Path, number: int) -> Person:
    """Somebody new, whose run is computed already."""
    owner, word = identity.new_owner(), f"Marker{number:02d}of"
    rng = np.random.default_rng(number)
    dataset = laurberg("two", noise=0.01, rng=rng)
    dataset = dataset.__class__(**{**vars(dataset), "name": word})
    with closing(JobRunner(RunStore(home / OWNERS / owner))) as runner:
        (run_id,) = runner.start(dataset, [SPEC], [f"run {word}"], launch_name=f"launch {word}")
        runner.wait_analysis([run_id])
        A = runner.store.particles(run_id).A[0]
        data = runner.store.run(run_id).dataset
        runner.store.notes.keep(data, "mode", A, f"mode {word}")
    return Person(owner, word, run_id, data)


def walk(address: str, people: list[Person], number: int, actions: int) -> tuple[Visitor, int]:
    """Go through pages of one's own and ask for what is others'; how often something came."""
    me, rng = people[number], np.random.default_rng(number)
    visitor = Visitor(address, {identity.COOKIE: identity.signed(me.owner)})
    foreign, own = 0, 0
    for _ in range(actions):
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


def tried(home: Path, monkeypatch, sessions: int, actions: int) -> list[float]:
    """Let so many people go about, while one of them has heavy work done; seconds of all visits."""
    monkeypatch.setenv("BNMF_HOME", str(home))
    monkeypatch.setenv("BNMF_SHARED", "1")
    people = [person(home, number) for number in range(sessions)]
    with running_server(home) as address:
        busy = Visitor(address, {identity.COOKIE: identity.signed(identity.new_owner())})
        busy.visit("")
        before = memory(address)
        busy.press("", f"Analyse {next(iter(EXAMPLES.values())).label}")
        with ThreadPoolExecutor(sessions) as threads:
            walks = [
                threads.submit(walk, address, people, number, actions) for number in range(sessions)
            ]
            ended = [one.result() for one in walks]
        busy.close()
        after = memory(address)
    waited = np.sort(np.concatenate([visitor.waited for visitor, _ in ended]))
    print(
        f"sessions {sessions}, actions {len(waited)}, sent what is another's "
        f"{sum(foreign for _, foreign in ended)} times; seconds of a page median "
        f"{np.median(waited):.2f}, 95th percentile {np.quantile(waited, 0.95):.2f}, longest "
        f"{waited[-1]:.2f}; memory before {before:.0f} MB, after {after:.0f} MB"
    )
    assert sum(foreign for _, foreign in ended) == 0
    return list(waited)


def test_five_people_see_only_what_is_theirs(tmp_path, monkeypatch):
    assert len(tried(tmp_path, monkeypatch, 5, 10)) == 50


@pytest.mark.long
def test_twenty_people_see_only_what_is_theirs(tmp_path, monkeypatch):
    assert len(tried(tmp_path, monkeypatch, 20, 50)) == 1000
