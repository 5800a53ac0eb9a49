"""What is on screen is computed first, and what nobody looks at gives way."""

import dataclasses
import threading
import time

import numpy as np
import pytest

from bnmf_core.analysis import jobs, stages
from bnmf_core.analysis.distances import STAGE as DISTANCES_STAGE
from bnmf_core.analysis.jobs import Analyses
from bnmf_core.analysis.stage import Stage
from bnmf_core.analysis.stages import STAGES
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.core.spec import RunSpec
from bnmf_core.jobs import scheduler as module
from bnmf_core.jobs.job import WAITING
from bnmf_core.jobs.scheduler import SILENCE, Scheduler
from bnmf_core.store import files

pytestmark = pytest.mark.slow

SPEC = RunSpec("random_restarts", 2, particles=4, settings={"max_iterations": 10})


@pytest.fixture
def run_ids(runner, small, monkeypatch):
    """Five small runs that nothing is computed of yet."""
    monkeypatch.setattr(type(runner), "_analyse_launch", lambda self, run_id: None)
    found = runner.start(small, [dataclasses.replace(SPEC, seed=seed) for seed in range(5)])
    runner.wait(found)
    return found


@pytest.fixture
def made(monkeypatch):
    """Stages do nothing but wait for their turn; what was computed: [(comparison, stage)]."""
    done: list[tuple[str, str]] = []
    gate = threading.Semaphore(0)

    def compute_of(key):
        def compute(comparison, folder, report, stopped):
            while not gate.acquire(timeout=0.01):
                if stopped():
                    raise stages.Cancelled("stopped")
            done.append((comparison.key, key))

        return compute

    for key, stage in STAGES.items():
        changed = dataclasses.replace(stage, compute=compute_of(key))
        monkeypatch.setitem(STAGES, key, changed)
    return done, gate


@pytest.fixture
def now():
    return [100.0]


@pytest.fixture
def scheduler(now):
    found = Scheduler(clock=lambda: now[0])
    yield found
    found.close()


@pytest.fixture
def line(store, scheduler):
    return Analyses(store, scheduler, "me")


def reach(true, timeout=10.0):
    end = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)


def test_the_stage_that_a_page_needs_comes_first(line, made, run_ids):
    done, gate = made
    one = line.open(run_ids[:1])
    line.ask(one, "quality")  # needs the distances
    for _ in STAGES:
        gate.release()
    reach(lambda: stages.complete(one))
    assert [key for _, key in done][:4] == ["distances", "quality", "basins", "structure"]
    assert sorted(key for _, key in done) == sorted(STAGES)
    assert line.status(one).status == "complete"


def test_another_page_of_the_same_comparison_changes_the_order_at_once(line, made, run_ids):
    done, gate = made
    one = line.open(run_ids[:1])
    line.ask(one, "stein")
    reach(lambda: line.status(one).stage == STAGES["stein"].label)
    line.ask(one, "downstream")
    reach(lambda: line.status(one).stage == STAGES["downstream"].label)
    gate.release()
    reach(lambda: done == [(one.key, "downstream")])


def test_what_is_looked_at_goes_before_what_is_not(line, made, run_ids):
    done, gate = made
    first, second = line.open(run_ids[:1]), line.open(run_ids[1:2])
    line.ask(first, watched=False)
    reach(lambda: line.status(first).stage == STAGES["distances"].label)
    line.ask(second)
    reach(lambda: line.status(second).stage == STAGES["distances"].label)
    assert line.status(first).stage == WAITING
    gate.release()
    reach(lambda: done == [(second.key, "distances")])


def test_nobody_looks_any_more_so_the_next_has_its_turn(line, made, run_ids, now):
    first, second = line.open(run_ids[:1]), line.open(run_ids[1:2])
    line.ask(first)
    reach(lambda: line.status(first).stage == STAGES["distances"].label)
    line.ask(second)
    now[0] += SILENCE - 1
    line.ask(second)
    assert line.status(second).stage == WAITING  # the first was there before
    now[0] += 2  # by now the first has been silent for too long
    reach(lambda: line.status(second).stage == STAGES["distances"].label)
    assert line.status(first).stage == WAITING


def test_of_those_that_nobody_looks_at_only_the_newest_wait(line, made, run_ids, monkeypatch):
    monkeypatch.setattr(module, "MOST_UNWATCHED", 2)
    done, gate = made
    found = [line.open([run_id]) for run_id in run_ids]
    line.ask(found[0])
    reach(lambda: line.status(found[0]).stage == STAGES["distances"].label)
    for one in found[1:]:
        line.ask(one, watched=False)
    for _ in range(3 * len(STAGES)):
        gate.release()
    kept = [found[0], found[3], found[4]]
    reach(lambda: all(stages.complete(one) for one in kept))
    assert not stages.complete(found[1]) and not stages.complete(found[2])
    assert {key for key, _ in done} == {one.key for one in kept}


def test_while_a_launch_is_being_made_only_what_is_asked_for_is_computed(
    line, scheduler, made, run_ids, store
):
    done, gate = made
    one = line.open(run_ids[:1])
    launch = one.runs[0].launch
    for _ in STAGES:
        gate.release()
    real = store.runs
    others = [dataclasses.replace(run, status="running") for run in real() if run.id == run_ids[1]]
    assert others[0].launch == launch
    store.runs = lambda: [*others, *real()]
    line.ask(one, "structure")
    reach(lambda: STAGES["structure"].ready(one) and not scheduler.active("me"))
    assert [key for _, key in done] == ["distances", "basins", "structure"]
    store.runs = real
    line.ask(one)
    reach(lambda: stages.complete(one))


def test_the_time_left_is_that_of_the_stage_in_work(line, run_ids, now, monkeypatch):
    told = []

    def compute(comparison, folder, report, stopped):
        for part in (0.05, 0.5):
            now[0] += 3.0
            report(part)
            told.append(line.status(comparison).remaining)

    slow = dataclasses.replace(STAGES["distances"], compute=compute)
    monkeypatch.setitem(STAGES, "distances", slow)
    line.ask(line.open(run_ids[:1]), "distances")
    reach(lambda: len(told) >= 2)
    assert told[:2] == [None, 6.0]  # half of it took 6 seconds


def test_the_queue_holds_ids_and_few_opened_comparisons(line, scheduler, made, run_ids):
    for run_id in run_ids:
        line.ask(line.open([run_id]))
    waiting = scheduler.active("me")
    assert {run_id for job in waiting for run_id in job.run_ids} == set(run_ids)
    assert all(isinstance(run_id, str) for job in waiting for run_id in job.run_ids)
    assert len(line._opened) <= jobs.MOST_OPEN


@pytest.mark.slow
def test_a_new_distance_does_not_break_what_is_stored(runner, run_ids, monkeypatch):
    before = runner.wait_analysis(run_ids[:2])
    runner.scheduler.wait(runner.owner, 10)  # a last look at what is missing would see both
    monkeypatch.setitem(DISTANCES, "second_wad", DISTANCES["wad"])
    assert not stages.complete(before) and not STAGES["structure"].ready(before)
    assert STAGES["downstream"].ready(before)  # knows no distances
    after = runner.wait_analysis(run_ids[:2])
    matrices = STAGES["distances"].of(after)
    np.testing.assert_array_equal(matrices.matrix("second_wad"), matrices.matrix("wad"))
    merges = after.grouped.size - 1
    assert STAGES["structure"].of(after).linkage("second_wad").shape == (merges, 4)
    monkeypatch.undo()
    assert stages.complete(before)


def test_a_new_version_of_a_stage_is_computed_again_and_so_is_what_needs_it(runner, run_ids):
    found = runner.wait_analysis(run_ids[:1])
    newer = dataclasses.replace(DISTANCES_STAGE, version=DISTANCES_STAGE.version + 1)
    assert not newer.ready(found)
    assert not dataclasses.replace(STAGES["structure"], needs=(newer,)).ready(found)
    assert STAGES["structure"].ready(found)


def test_a_stage_is_one_declaration_and_one_line(runner, run_ids, monkeypatch):
    """Everything follows: it is computed, after what it needs, stored, read and versioned."""

    def compute(comparison, folder, report, stopped):
        matrix = DISTANCES_STAGE.of(comparison).matrix("wad")
        files.write_json(folder / "widest.json", float(matrix.max()))

    def read(comparison, folder) -> float:
        return files.read_json(folder / "widest.json")

    widest = Stage("widest", "Finding the widest pair", (DISTANCES_STAGE,), 1, compute, read)
    monkeypatch.setitem(STAGES, widest.key, widest)
    found = runner.wait_analysis(run_ids[:2])
    assert widest.of(found) == STAGES["distances"].of(found).matrix("wad").max()
    assert stages.in_order(["widest"]) == ["distances", "widest"]
