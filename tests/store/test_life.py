"""The life of a run: whatever several programs do and wherever they die, its rules hold."""

import itertools
import os
import shutil
import socket
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as some
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from bnmf_core.core.errors import BNMFError, NotFoundError, RunError, StoreError
from bnmf_core.core.spec import RunSpec
from bnmf_core.store import life as module
from bnmf_core.store.database import Database
from bnmf_core.store.life import ENDED, Claim, Life
from bnmf_core.store.records import ACTIVE, LEASE, select
from bnmf_core.version import VERSION
from tests.generated import generated

SPEC = RunSpec("gibbs", 3)


class Program:
    """One of several programs that share a store; not of this machine, so only silence tells."""

    def __init__(self, database, number, clock):
        names = (f"elsewhere-{number}:{life}:x" for life in itertools.count())
        self.life = Life(database, "me", clock, lambda: next(names))
        self.claims: list[Claim] = []  # in order: their names are random


class Lives(RuleBasedStateMachine):
    """Three programs enter, make, cancel, resume and delete runs, and die in between."""

    runs = Bundle("runs")

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.now = 1000.0
        self.database = Database(self.folder)
        self.programs = [Program(self.database, n, lambda: self.now) for n in range(3)]
        # What ought to be: run → [status, claim, last sign of life, wish]
        self.model: dict[str, list] = {}

    def teardown(self):
        shutil.rmtree(self.folder)

    def status(self, run_id):
        status, _, heartbeat, _ = self.model[run_id]
        return "interrupted" if status in ACTIVE and self.now - heartbeat >= LEASE else status

    def read(self, run_id):
        return select(self.database, "me", "AND id = ?", (run_id,))[0][0]

    @rule(target=runs, number=some.integers(0, 2))
    def enter(self, number):
        program = self.programs[number]
        claim = program.life.enter("data", SPEC)
        program.claims.append(claim)
        self.model[claim.run_id] = ["queued", claim, self.now, ""]
        return claim.run_id

    @rule(number=some.integers(0, 2), choice=some.randoms())
    def begin(self, number, choice):
        self._own(number, choice, lambda life, claim: life.begin(claim), ("queued",), "running")

    @rule(number=some.integers(0, 2), choice=some.randoms())
    def report(self, number, choice):
        self._own(number, choice, lambda life, claim: life.report(claim, done=1), ("running",))

    @rule(number=some.integers(0, 2), choice=some.randoms(), status=some.sampled_from(ENDED))
    def end(self, number, choice, status):
        self._own(number, choice, lambda life, claim: life.end(claim, status), ACTIVE, status)

    @rule(number=some.integers(0, 2), choice=some.randoms())
    def withdraw(self, number, choice):
        def act(life, claim):
            return life.withdraw(claim, "closing")

        self._own(number, choice, act, ("queued",), "interrupted")

    def _own(self, number, choice, act, states, becomes=None):
        """A move of a holder: it is made only if the run is in one of the states, and still his."""
        program = self.programs[number]
        if not program.claims:
            return
        claim = choice.choice(program.claims)
        now = self.model.get(claim.run_id)
        allowed = now is not None and now[1] == claim and now[0] in states
        assert act(program.life, claim) == allowed
        if allowed and becomes in (None, "running"):
            now[0], now[2] = becomes or now[0], self.now
        elif allowed:
            now[0], now[3] = becomes, ""

    @rule(number=some.integers(0, 2))
    def beat(self, number):
        program = self.programs[number]
        for claim in list(program.claims):
            sign = program.life.beat(claim)
            now = self.model.get(claim.run_id)
            if now is None or now[1] != claim or now[0] not in ACTIVE:
                assert sign == "lost"
                program.claims.remove(claim)
            else:
                assert sign == now[3]
                now[2] = self.now

    @rule(number=some.integers(0, 2), run_id=runs)
    def cancel(self, number, run_id):
        if run_id not in self.model:
            with pytest.raises(NotFoundError):
                self.programs[number].life.cancel(run_id)
            return
        status = self.status(run_id)
        self.programs[number].life.cancel(run_id)
        if status == "queued":
            self.model[run_id][0] = "cancelled"
        elif status == "running":
            self.model[run_id][3] = "cancel"

    @rule(number=some.integers(0, 2), run_id=runs)
    def resume(self, number, run_id):
        program = self.programs[number]
        if run_id not in self.model or self.status(run_id) in (*ACTIVE, "complete"):
            with pytest.raises(BNMFError):
                program.life.resume(run_id)
            return
        claim = program.life.resume(run_id)
        program.claims.append(claim)
        self.model[run_id] = ["queued", claim, self.now, ""]

    @rule(number=some.integers(0, 2), run_id=runs)
    def delete(self, number, run_id):
        life = self.programs[number].life
        if run_id not in self.model or self.status(run_id) in ACTIVE:
            with pytest.raises(BNMFError):
                life.delete(run_id)
            return
        life.delete(run_id)
        del self.model[run_id]

    @rule(number=some.integers(0, 2))
    def crash(self, number):
        self.programs[number].claims.clear()

    @rule(seconds=some.sampled_from([0.1, 1.0, LEASE / 2, LEASE, 10 * LEASE]))
    def time_passes(self, seconds):
        self.now += seconds

    @invariant()
    def everything_is_as_it_ought_to_be(self):
        for run_id in self.model:
            assert self.read(run_id).as_of(self.now).status == self.status(run_id)
        assert len(select(self.database, "me")[0]) == len(self.model)

    @invariant()
    def nothing_is_stuck(self):
        """A run that nobody speaks for any more can be resumed or deleted after the lease."""
        held = set().union(*(program.claims for program in self.programs))
        for run_id, (_, claim, heartbeat, _) in self.model.items():
            if claim not in held and self.now - heartbeat >= LEASE:
                assert self.status(run_id) not in ACTIVE


Lives.TestCase.settings = settings(generated(60), stateful_step_count=40)
test_lives = Lives.TestCase


@pytest.fixture
def one(tmp_path):
    return Life(Database(tmp_path), "me")


def at_once(count, act):
    """The results of ``count`` threads that act at the same moment; errors as themselves."""
    gate, results = threading.Barrier(count), []

    def work():
        gate.wait()
        try:
            results.append(act())
        except BNMFError as error:
            results.append(error)

    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_of_many_that_resume_a_run_one_does(one):
    for _ in range(5):
        claim = one.enter("data", SPEC)
        one.end(claim, "failed", "no reason")
        results = at_once(8, lambda claim=claim: one.resume(claim.run_id))
        claims = [result for result in results if isinstance(result, Claim)]
        assert len(claims) == 1
        refused = [str(result) for result in results if isinstance(result, RunError)]
        assert len(refused) == 7
        assert all("is queued; there is nothing to resume" in words for words in refused)
        assert one.begin(claims[0]) and not one.begin(claims[0])


def test_a_run_is_resumed_or_deleted_but_not_both(one):
    for _ in range(5):
        claim = one.enter("data", SPEC)
        one.withdraw(claim, "closing")
        turns = itertools.cycle([one.resume, one.delete])
        lock = threading.Lock()

        def act(claim=claim, turns=turns, lock=lock):
            with lock:
                turn = next(turns)
            return turn(claim.run_id)

        results = at_once(6, act)
        assert sum(not isinstance(result, BNMFError) for result in results) == 1


def test_a_number_that_another_process_has_now_does_not_hold_a_run(tmp_path):
    """The claim is renewed by nobody: it lapses, although the number belongs to a process."""
    now = [1000.0]
    holder = f"{socket.gethostname()}:{os.getppid()}:before"
    dead = Life(Database(tmp_path), "me", lambda: now[0], lambda: holder)
    claim = dead.enter("data", SPEC)
    assert dead.begin(claim)
    other = Life(Database(tmp_path), "me", lambda: now[0])
    with pytest.raises(StoreError, match="still running"):
        other.delete(claim.run_id)
    now[0] += LEASE
    again = other.resume(claim.run_id)
    assert other.begin(again) and not dead.report(claim, done=3)
    assert dead.beat(claim) == "lost"


def test_a_run_tells_the_versions_that_worked_on_it(one, tmp_path, monkeypatch):
    claim = one.enter("data", SPEC)
    one.withdraw(claim, "closing")
    monkeypatch.setattr(module, "VERSION", "9.0")
    again = one.resume(claim.run_id)
    (record,), _ = select(Database(tmp_path), "me")
    assert record.version == f"{VERSION}, 9.0"
    one.withdraw(again, "closing")
    one.resume(claim.run_id)
    assert select(Database(tmp_path), "me")[0][0].version == f"{VERSION}, 9.0"
