"""Jobs start in a fair order, and nobody's queue holds up another one."""

import threading
import time
from dataclasses import dataclass, field, replace

import pytest

from bnmf_core import JobRunner, RunSpec, RunStore, laurberg
from bnmf_core.core.errors import Cancelled, DataError
from bnmf_core.core.limits import Limits
from bnmf_core.jobs import scheduler as module
from bnmf_core.jobs.scheduler import SILENCE, Scheduler
from bnmf_core.runs.executors import Executors


@dataclass(eq=False)
class Gated:
    """A job whose next part ends when its gate is opened; it notes when it begins."""

    key: str
    begun: list[str]
    lane: str = "run"
    parts: int = 1
    gate: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    made: int = 0

    def ready(self) -> bool:
        return self.made == self.parts

    def make(self, report, stopped) -> bool:
        self.begun.append(self.key)
        report(self.made / self.parts, "at work")
        while not self.gate.acquire(timeout=0.005):
            if stopped():
                raise Cancelled("stopped")
        self.made += 1
        return self.made < self.parts


@pytest.fixture
def now():
    return [100.0]


@pytest.fixture
def jobs(now):
    found = Scheduler(Limits(analyses_at_once=1), lambda: now[0])
    yield found
    found.close()


@pytest.fixture
def begun():
    return []


def until(condition) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)


def test_fifty_runs_of_one_hold_nobody_up_and_what_is_left_over_is_shared(jobs, begun):
    busy = [Gated(f"busy{i}", begun) for i in range(50)]
    for job in busy:
        jobs.submit(job, "busy")
    until(lambda: len(begun) == Limits.runs_at_once)
    assert sorted(begun) == ["busy0", "busy1", "busy2"]
    other, third = [Gated(f"other{i}", begun) for i in range(2)], Gated("third", begun)
    for job in other:
        jobs.submit(job, "other")
    jobs.submit(third, "third")
    until(lambda: len(begun) == 5)
    # One each at once; a second one waits until there is room for it.
    assert sorted(begun[3:]) == ["other0", "third"] and jobs.count("run") == (5, 48)
    for job in busy[:2]:
        job.gate.release()
    until(lambda: jobs.count("run")[0] == 3)
    time.sleep(0.05)
    assert len(begun) == 5
    third.gate.release()
    until(lambda: len(begun) == 6)
    # Both have one running: the one who came first.
    assert begun[5] == "busy3"
    busy[2].gate.release()
    until(lambda: len(begun) == 7)
    assert begun[6] == "busy4"
    jobs.leave("busy", 10)
    jobs.leave("other", 10)
    assert jobs.count("run") == (0, 0) and begun[7:] == ["other1"]


def test_the_owner_with_fewest_running_is_next(jobs, begun):
    first = [Gated(f"first{i}", begun) for i in range(5)]
    for job in first:
        jobs.submit(job, "first")
    second = [Gated(f"second{i}", begun) for i in range(3)]
    for job in second:
        jobs.submit(job, "second")
    until(lambda: len(begun) == 4)  # three of the first, one of the second
    first[0].gate.release()
    until(lambda: jobs.count("run")[0] == 3)
    first[1].gate.release()
    until(lambda: len(begun) == 5)
    assert begun[4] == "first3"  # one each: the oldest
    second[0].gate.release()
    until(lambda: len(begun) == 6)
    assert begun[5] == "second1"


def test_a_job_that_fails_makes_room_and_says_why(jobs, begun):
    class Failing(Gated):
        def make(self, report, stopped):
            raise self.error

    expected, bug = Failing("expected", begun), Failing("bug", begun)
    expected.error, bug.error = DataError("The matrix was empty."), ZeroDivisionError("0/0")
    last = Gated("last", begun)
    last.gate.release()
    for job in (expected, bug, last):
        jobs.submit(job, "me")
    until(last.ready)
    jobs.wait("me", 10)
    assert jobs.status(expected, "me").message == "The matrix was empty."
    assert jobs.status(expected, "me").status == "failed"
    assert "unknown reason (ZeroDivisionError: 0/0)" in jobs.status(bug, "me").message
    assert jobs.status(last, "me").status == "complete"
    assert jobs.status(last, "somebody else").status == "complete"  # its result is there
    assert jobs.status(Gated("never", begun), "me").status == "none"
    jobs.forget("bug", "me")
    assert jobs.status(bug, "me").status == "none"


def test_studies_of_one_owner_wait_for_each_other_and_say_so(jobs, begun):
    one, two = (Gated(key, begun, "study") for key in ("one", "two"))
    jobs.submit(one, "me")
    jobs.submit(two, "me")
    until(lambda: jobs.status(one, "me").stage == "at work")
    waiting = jobs.status(two, "me")
    assert waiting.active and waiting.status == "waiting"
    assert waiting.message == "Waits until what you started before is done."
    # Neither runs nor explorations wait for them.
    run, hand = Gated("run", begun, "run"), Gated("hand", begun, "exploration")
    jobs.submit(run, "me")
    jobs.submit(hand, "me")
    until(lambda: len(begun) == 3)
    assert begun[0] == "one" and jobs.active("me", "study") == [one, two]
    one.gate.release()
    until(lambda: begun[-1] == "two")
    assert jobs.status(one, "me").status == "complete"


def test_a_cancelled_job_stops_soon_and_can_be_started_again(jobs, begun):
    one, two = (Gated(key, begun, "study") for key in ("one", "two"))
    jobs.submit(one, "me")
    jobs.submit(two, "me")
    jobs.cancel(two, "me")  # before it begins
    assert jobs.status(two, "me").status == "cancelled"
    until(lambda: begun == ["one"])
    jobs.cancel(one, "me")
    jobs.wait("me", 10)
    assert jobs.status(one, "me").status == "cancelled" and begun == ["one"]
    one.gate.release()
    jobs.submit(one, "me")
    jobs.wait("me", 10)
    assert jobs.status(one, "me").status == "complete"


def test_a_job_that_is_started_again_before_it_has_stopped_goes_on(jobs, begun):
    class Slow(Gated):
        def make(self, report, stopped):
            try:
                return super().make(report, stopped)
            except Cancelled:
                time.sleep(0.2)
                raise

    one = Slow("one", begun, "study")
    jobs.submit(one, "me")
    until(lambda: begun == ["one"])
    jobs.cancel(one, "me")
    jobs.submit(one, "me")
    one.gate.release()
    jobs.wait("me", 10)
    assert jobs.status(one, "me").status == "complete"


def test_what_a_job_submits_while_its_owner_leaves_is_dropped(jobs, begun):
    class Last(Gated):
        def make(self, report, stopped):
            while not stopped():
                time.sleep(0.005)
            time.sleep(0.05)  # by now the owner only waits for this one
            jobs.submit(Gated("another", begun), "me")
            raise Cancelled("stopped")

    jobs.submit(Last("last", begun), "me")
    began = time.monotonic()
    jobs.leave("me", 10)
    assert time.monotonic() - began < 5 and not jobs.active("me")


def test_places_are_taken_in_the_order_of_asking_and_the_wait_is_told(jobs, begun):
    asked = [Gated(f"job{i}", begun, "long stage") for i in range(4)]
    for i, job in enumerate(asked):
        jobs.submit(job, f"owner{i}")
    until(lambda: begun == ["job0"])
    told = [jobs.status(job, f"owner{i}").message for i, job in enumerate(asked)]
    assert told[1:] == [
        "Waits for others on this server (next).",
        "Waits for others on this server (1 other wait before it).",
        "Waits for others on this server (2 others wait before it).",
    ]
    for job in asked:
        job.gate.release()
    until(lambda: len(begun) == 4)
    assert begun == ["job0", "job1", "job2", "job3"]


def test_a_long_stage_of_somebody_else_does_not_delay_a_short_one(jobs, begun):
    jobs.submit(Gated("long", begun, "long stage"), "one")
    jobs.submit(Gated("short", begun, "short stage"), "other")
    until(lambda: sorted(begun) == ["long", "short"])


def test_what_nobody_watches_gives_way_and_goes_on_later(jobs, begun, now):
    unseen, seen = (Gated(key, begun, "long stage") for key in ("unseen", "seen"))
    jobs.submit(unseen, "one", watched=False)
    until(lambda: begun == ["unseen"])
    jobs.submit(seen, "other")  # even of somebody else, as there is one place
    until(lambda: begun == ["unseen", "seen"])
    assert jobs.status(unseen, "one").status == "waiting"
    seen.gate.release()
    until(lambda: begun == ["unseen", "seen", "unseen"])


def test_what_is_watched_gives_way_once_nobody_watches_it_any_more(jobs, begun, now):
    one, two = (Gated(key, begun, "short stage") for key in ("one", "two"))
    jobs.submit(one, "me")
    jobs.submit(two, "me")
    now[0] += SILENCE - 1
    jobs.submit(two, "me")
    time.sleep(0.3)
    assert begun == ["one"]  # it was there before
    now[0] += 2
    until(lambda: begun == ["one", "two"])


def test_what_nobody_watches_waits_while_somebody_watches_anything(jobs, begun):
    watched = Gated("watched", begun, "long stage")
    jobs.submit(watched, "other")
    until(lambda: begun == ["watched"])
    jobs.submit(Gated("unseen", begun, "short stage"), "me", watched=False)
    # A run is made beside it: whoever started it waits for it.
    jobs.submit(Gated("run", begun, "run"), "third", watched=False)
    until(lambda: begun == ["watched", "run"])
    time.sleep(0.2)
    assert begun == ["watched", "run"]
    watched.gate.release()
    until(lambda: begun == ["watched", "run", "unseen"])


def test_what_nobody_watches_does_not_begin_and_stop_without_end(jobs, begun):
    jobs.submit(Gated("mine", begun, "short stage"), "me", watched=False)
    until(lambda: begun == ["mine"])
    jobs.submit(Gated("other", begun, "long stage"), "other")
    until(lambda: begun == ["mine", "other"])
    time.sleep(0.4)
    assert begun == ["mine", "other"] and jobs.count("short stage", "long stage") == (1, 1)


def test_of_twins_one_is_made_at_a_time_and_whoever_waits_for_it_watches_it(jobs, begun, now):
    first, second, third = (Gated(key, begun, "short stage") for key in ("one", "two", "three"))
    first.twin = second.twin = ("the same", 1)
    jobs.lanes["short stage"] = replace(jobs.lanes["short stage"], at_once=9)
    jobs.submit(first, "me", watched=False)
    until(lambda: begun == ["one"])
    jobs.submit(second, "other")
    jobs.submit(third, "third")  # is watched, too, and no reason to stop the first
    until(lambda: begun == ["one", "three"])
    time.sleep(0.3)
    assert begun == ["one", "three"] and jobs.status(first, "me").status == "running"
    assert jobs.status(second, "other").status == "waiting"
    first.gate.release()
    until(lambda: begun == ["one", "three", "two"])


def test_studies_go_on_when_nobody_watches_them(jobs, begun, now):
    jobs.submit(Gated("one", begun, "study"), "me")
    until(lambda: begun == ["one"])
    now[0] += 100 * SILENCE
    jobs.submit(Gated("two", begun, "study"), "me")
    time.sleep(0.3)
    assert begun == ["one"]


def test_of_what_nobody_watches_only_the_newest_wait(jobs, begun, monkeypatch):
    monkeypatch.setattr(module, "MOST_UNWATCHED", 2)
    asked = [Gated(f"job{i}", begun, "long stage") for i in range(5)]
    for job in asked:
        jobs.submit(job, "me", watched=False)
    until(lambda: begun == ["job0"])
    assert jobs.active("me") == [asked[0], asked[3], asked[4]]


def test_a_job_in_parts_is_made_part_by_part(jobs, begun):
    one = Gated("one", begun, "long stage", parts=2)
    jobs.submit(one, "me")
    one.gate.release()
    until(lambda: begun == ["one", "one"])
    assert jobs.status(one, "me").fraction == 0.5
    one.gate.release()
    jobs.wait("me", 10)
    assert one.ready()


def test_the_time_left_counts_from_what_was_stored_before(jobs, now):
    told = []

    class Counting:
        key, lane = "counting", "study"

        def ready(self):
            return False

        def make(self, report, stopped):
            for part in (0.5, 0.52, 0.75):  # half of it was stored
                report(part, "counting")
                told.append(jobs.status(self, "me").remaining)
                now[0] += 3.0

    jobs.submit(Counting(), "me")
    jobs.wait("me", 10)
    assert told == [None, None, 6.0]  # half of the other half took 6 seconds


def test_runners_of_two_stores_share_a_scheduler_and_one_that_leaves_stops_nothing(tmp_path):
    jobs, steps = Scheduler(), Executors(workers=1)
    spec = RunSpec("random_restarts", rank=3, particles=4)
    one, two = (JobRunner(RunStore(tmp_path / name), jobs, steps) for name in ("one", "two"))
    (gone,) = one.start(laurberg("two"), [spec])
    one.wait([gone])
    one.close()
    (kept,) = two.start(laurberg("two"), [spec])
    two.wait_analysis([kept])
    assert two.store.run(kept).done == 4
    assert [run.id for run in one.store.runs()] == [gone]
    two.close()
    jobs.close()
    steps.close()
