"""What several owners share: nobody's queue holds up another one."""

import threading
import time

import pytest

from bnmf_core import JobRunner, RunSpec, RunStore, laurberg
from bnmf_core.core.errors import Cancelled
from bnmf_core.core.limits import Limits
from bnmf_core.runs.hall import Hall


class Owner:
    """Whose runs are made."""


@pytest.fixture
def hall():
    found = Hall(workers=1, limits=Limits(analyses_at_once=1))
    yield found
    found.close()


def work(gates: dict[str, threading.Event], begun: list[str], name: str):
    """A run that ends when its gate is opened."""
    gates[name] = threading.Event()

    def make() -> None:
        begun.append(name)
        gates[name].wait(10)

    return make


def until(condition) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_fifty_runs_of_one_hold_nobody_up_and_what_is_left_over_is_shared(hall):
    busy, other, third = Owner(), Owner(), Owner()
    gates, begun = {}, []
    for i in range(50):
        hall.enter(busy, work(gates, begun, f"busy{i}"))
    until(lambda: len(begun) == Limits.runs_at_once)
    assert sorted(begun) == ["busy0", "busy1", "busy2"]
    for i in range(2):
        hall.enter(other, work(gates, begun, f"other{i}"))
    hall.enter(third, work(gates, begun, "third"))
    until(lambda: len(begun) == 5)
    # One each at once; a second one waits until there is room for it.
    assert sorted(begun[3:]) == ["other0", "third"] and hall.count() == (5, 48)
    for name in ("busy0", "busy1"):
        gates[name].set()
    time.sleep(0.05)
    assert len(begun) == 5
    gates["third"].set()
    until(lambda: len(begun) == 6)
    # Both have one running: the one who came first.
    assert begun[5] == "busy3"
    gates["busy2"].set()
    until(lambda: len(begun) == 7)
    assert begun[6] == "busy4"
    hall.leave(busy, 0)
    hall.leave(other, 0)
    for gate in gates.values():
        gate.set()
    until(lambda: hall.count() == (0, 0))
    assert len(begun) == 7


def test_a_run_that_fails_makes_room(hall):
    owner, done = Owner(), threading.Event()

    def fail() -> None:
        raise ZeroDivisionError

    for _ in range(5):
        hall.enter(owner, fail)
    hall.enter(owner, done.set)
    assert done.wait(10)


def test_analyses_wait_for_their_turn_and_give_up_when_nobody_wants_them(hall):
    with hall.analysis(lambda: False):
        with pytest.raises(Cancelled), hall.analysis(lambda: True):
            pass
        got = threading.Event()

        def wait() -> None:
            with hall.analysis(lambda: False):
                got.set()

        threading.Thread(target=wait, daemon=True).start()
        assert not got.wait(0.2)
    assert got.wait(10)


def test_a_long_analysis_of_somebody_else_does_not_delay_a_short_one(hall):
    got = threading.Event()

    def look() -> None:
        with hall.analysis(lambda: False, short=True):
            got.set()

    with hall.analysis(lambda: False):  # the one place for long ones is taken
        threading.Thread(target=look, daemon=True).start()
        assert got.wait(10)


def test_places_are_taken_in_the_order_of_asking_and_the_wait_is_told(hall):
    order, told = [], []

    def ask(number: int) -> None:
        with hall.analysis(lambda: False, waits=lambda before: told.append((number, before))):
            order.append(number)

    with hall.analysis(lambda: False):
        threads = []
        for number in range(3):
            threads.append(threading.Thread(target=ask, args=(number,), daemon=True))
            threads[-1].start()
            until(lambda number=number: (number, number) in told)
    for thread in threads:
        thread.join(10)
    assert order == [0, 1, 2]
    assert {(0, 0), (1, 1), (2, 2)} <= set(told)


def test_runners_of_two_stores_share_a_hall_and_one_that_leaves_stops_nothing(tmp_path):
    hall, spec = Hall(workers=1), RunSpec("random_restarts", rank=3, particles=4)
    one, two = (JobRunner(RunStore(tmp_path / name), hall) for name in ("one", "two"))
    (gone,) = one.start(laurberg("two"), [spec])
    one.wait([gone])
    one.close()
    (kept,) = two.start(laurberg("two"), [spec])
    two.wait_analysis([kept])
    assert two.store.run(kept).done == 4
    assert [run.id for run in one.store.runs()] == [gone]
    two.close()
    hall.close()
