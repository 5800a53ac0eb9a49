"""The job runner: several runs at once, cancelled, resumed and failed without harm to others."""

import dataclasses
import errno
import sqlite3
import threading
import time

import numpy as np
import pytest

from bnmf_core import registry
from bnmf_core.core.algorithm import Batch
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import NotFoundError, RunError, SettingsError
from bnmf_core.core.limits import Limits
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.synthetic import low_rank
from bnmf_core.runs import engine, memory
from bnmf_core.runs import runner as module
from bnmf_core.runs.runner import JobRunner
from bnmf_core.store import folders, records
from bnmf_core.store.run_store import RunStore
from tests.same import assert_same
from tests.suited import BRIEF, OF_EACH_STATE, model_of, suited

QUICK = {"max_iterations": 20, "block": 5}
RESTARTS = RunSpec("random_restarts", 2, particles=15, settings=QUICK)


def replace_step(monkeypatch, make):
    """Random restarts with ``make(original step)`` as their step."""
    algorithm = registry.algorithm("random_restarts")
    changed = dataclasses.replace(algorithm, step=make(algorithm.step))
    monkeypatch.setitem(registry.ALGORITHMS, "random_restarts", changed)


@pytest.fixture
def gate(monkeypatch):
    """Random restarts make nothing, in short steps, until this event is set."""
    event = threading.Event()

    def make(original):
        def step(problem, state, settings, rng):
            if event.is_set():
                return original(problem, state, settings, rng)
            time.sleep(0.005)
            D, N, R = problem.dataset.D, problem.dataset.N, problem.rank
            return state, Batch(np.empty((0, D, R)), np.empty((0, R, N)))

        return step

    replace_step(monkeypatch, make)
    return event


def wait_until(true, timeout=10.0):
    end = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)


@pytest.mark.slow
def test_runs_side_by_side_are_what_they_are_alone(runner, store):
    # Some explorers start at a factorization that is known of the data.
    data = suited(low_rank(12, 15, 3, noise=0.1), "boolean")
    specs = [
        RunSpec(one.key, 3, model_of(one.key), 12, seed=4, settings=BRIEF.get(one.key, {}))
        for one in OF_EACH_STATE
    ]
    run_ids = runner.start(data, specs, ["first", "second"])
    runner.wait(run_ids)
    for run_id, spec in zip(run_ids, specs, strict=True):
        record = store.run(run_id)
        assert (record.status, record.done, record.fraction) == ("complete", 12, 1.0)
        assert record.launch == run_ids[0] and record.seconds > 0
        particles = store.particles(run_id)
        assert_same(particles, engine.run(data, spec))
        assert particles.info["stop_reason"] == "complete"
    names = [store.run(run_id).name for run_id in run_ids]
    assert names == ["first", "second", *[""] * (len(specs) - 2)]


def test_a_spec_that_does_not_fit_starts_nothing(runner, store, small):
    for wrong, error, sentence in (
        ({"rank": 99}, RunError, "between 1 and 12"),
        ({"settings": {"block": 0}}, SettingsError, "Factorizations side by side"),
        ({"model_settings": {"sigma": -1}}, SettingsError, "Noise level"),
        ({"holdout": 0.8}, SettingsError, "held-out fraction"),
        ({"algorithm": "magic"}, NotFoundError, "there are q_transform"),
    ):
        with pytest.raises(error, match=sentence):
            runner.start(small, [RESTARTS, dataclasses.replace(RESTARTS, **wrong)])
    assert store.runs() == []


def test_the_queue_has_an_end(runner, store, small, gate, monkeypatch):
    monkeypatch.setattr(runner.scheduler, "limits", Limits(runs_waiting=4))
    run_ids = runner.start(small, [RESTARTS] * 3)
    with pytest.raises(RunError, match="At most 4 of your runs may run or wait"):
        runner.start(small, [RESTARTS] * 2)
    assert len(store.runs()) == 3
    gate.set()
    runner.wait(run_ids)
    runner.wait(runner.start(small, [RESTARTS] * 4))


@pytest.mark.slow
def test_cancelling_a_running_run_is_quick_and_keeps_what_is_there(runner, store):
    rng = np.random.default_rng(2)
    X = rng.random((300, 5)) @ rng.random((5, 200)) + 0.1 * rng.random((300, 200))
    specs = [RunSpec(key, 5, particles=20_000) for key in ("q_transform", "gibbs")]
    run_ids = runner.start(Dataset.from_array(X), specs)
    wait_until(lambda: all(store.run(run_id).done for run_id in run_ids), 60.0)
    began = time.monotonic()
    for run_id in run_ids:
        runner.cancel(run_id)
    runner.wait(run_ids)
    assert time.monotonic() - began < 2
    for run_id in run_ids:
        record, particles = store.run(run_id), store.particles(run_id)
        assert record.status == "cancelled" and "kept" in record.message
        assert 0 < record.done == particles.M < 20_000
        assert particles.info["stop_reason"] == "cancelled"


@pytest.mark.slow
def test_a_cancelled_run_goes_on_where_it_stopped(runner, store, small):
    spec = RunSpec("random_restarts", 3, particles=600, settings=QUICK)
    (run_id,) = runner.start(small, [spec])
    wait_until(lambda: store.run(run_id).done >= 20)
    runner.cancel(run_id)
    runner.wait([run_id])
    record, part = store.run(run_id), store.particles(run_id)
    assert record.status == "cancelled" and part.M < 600
    expected = engine.run(small, spec)
    assert_same(part, expected.subset(part.ids))
    runner.resume(run_id)
    runner.wait([run_id])
    assert store.run(run_id).status == "complete"
    assert_same(store.particles(run_id), expected)
    assert store.run(run_id).seconds > record.seconds
    with pytest.raises(RunError, match="is complete; there is nothing to resume"):
        runner.resume(run_id)


@pytest.mark.slow
def test_a_queued_run_is_cancelled_at_once_and_may_be_resumed(runner, store, small, gate):
    """A resumed run stands in the queue twice, but is made once."""
    running = runner.start(small, [RESTARTS] * Limits.runs_at_once)
    wait_until(lambda: all(store.run(run_id).status == "running" for run_id in running))
    queued, other = runner.start(small, [RESTARTS] * 2)
    runner.cancel(queued)
    assert store.run(queued).status == "cancelled"
    with pytest.raises(RunError, match=r"is running; there is nothing to resume"):
        runner.resume(running[0])
    runner.resume(queued)
    assert store.run(queued).status == "queued"
    gate.set()
    runner.wait([*running, queued, other])
    for run_id in [*running, queued, other]:
        assert store.run(run_id).status == "complete"
    # All the threads that serve runs are still there.
    later = runner.start(small, [RESTARTS] * 5)
    runner.wait(later)
    assert_same(store.particles(later[-1]), store.particles(queued))


def test_a_resumed_run_can_be_cancelled_again(runner, store, small, gate):
    running = runner.start(small, [RESTARTS] * Limits.runs_at_once)
    wait_until(lambda: all(store.run(run_id).status == "running" for run_id in running))
    (queued,) = runner.start(small, [RESTARTS])
    runner.cancel(queued)
    runner.resume(queued)
    runner.cancel(running[0])  # makes room
    wait_until(lambda: store.run(queued).status == "running")
    runner.cancel(queued)
    runner.wait([queued], timeout=10)
    assert store.run(queued).status == "cancelled"
    gate.set()
    runner.wait(running)


def test_cancelling_what_is_over_or_unknown(runner, store, small):
    (run_id,) = runner.start(small, [RESTARTS])
    runner.wait([run_id])
    runner.cancel(run_id)
    assert store.run(run_id).status == "complete"
    with pytest.raises(NotFoundError, match="no run 'nothing'"):
        runner.cancel("nothing")


def fail_from_the_second_block(fault):
    def make(original):
        def step(problem, state, settings, rng):
            state, batch = original(problem, state, settings, rng)
            if step.calls:
                batch = fault(batch)
            step.calls += bool(batch.size)
            return state, batch

        step.calls = 0
        return step

    return make


def not_finite(batch):
    return Batch(np.full_like(batch.A, np.nan), batch.W, batch.diagnostics)


def division(batch):
    return 1 // 0


def test_blocks_that_fail_are_told_and_the_others_are_kept(runner, store, small, monkeypatch):
    expected = engine.run(small, RESTARTS)
    with monkeypatch.context() as patch:
        patch.setattr(engine, "WORKERS", 1)  # one block after the other
        replace_step(patch, fail_from_the_second_block(not_finite))
        (run_id,) = runner.start(small, [RESTARTS])
        runner.wait([run_id])
    record, particles = store.run(run_id), store.particles(run_id)
    assert (record.status, record.done, record.fraction) == ("complete", 5, 1.0)
    assert_same(particles, expected.subset(np.arange(5)))
    failed = particles.info["failed_chains"]
    assert [one["chain"] for one in failed] == list(range(1, 1 + len(failed)))
    assert all(one["after_draw"] == 0 for one in failed)
    sentence = "Random restarts made a value that is not finite after particle 5"
    assert failed[0]["reason"].startswith(sentence)


def test_a_failed_run_keeps_its_message_and_what_came_before(runner, store, small, monkeypatch):
    expected = engine.run(small, RESTARTS)
    with monkeypatch.context() as patch:
        patch.setattr(engine, "WORKERS", 1)  # one block after the other
        replace_step(patch, fail_from_the_second_block(division))
        (run_id,) = runner.start(small, [RESTARTS])
        runner.wait([run_id])
    record = store.run(run_id)
    assert record.status == "failed"
    assert record.message.startswith("Something unforeseen went wrong (ZeroDivisionError")
    assert record.done == 5
    assert_same(store.particles(run_id), expected.subset(np.arange(5)))
    assert "ZeroDivisionError" in (store.run_folder(run_id) / "error.txt").read_text()
    runner.resume(run_id)
    runner.wait([run_id])
    assert store.run(run_id).status == "complete"
    assert_same(store.particles(run_id), expected)


def test_a_run_goes_on_with_the_blocks_that_it_was_begun_with(
    runner, store, small, gate, monkeypatch
):
    """Another version may make blocks of another size; what is saved is of the old ones."""
    gate.set()
    expected = engine.run(small, RESTARTS)
    gate.clear()
    (run_id,) = runner.start(small, [RESTARTS])
    folder = store.run_folder(run_id)
    wait_until((folder / "checkpoint-00001.npz").exists)
    runner.cancel(run_id)
    runner.wait([run_id])
    begun = folders.FolderSink(folder).starts()
    monkeypatch.setattr(memory, "BLOCK_BYTES", 1)
    gate.set()
    runner.resume(run_id)
    runner.wait([run_id])
    assert store.run(run_id).status == "complete" and len(begun) < RESTARTS.particles
    assert folders.FolderSink(folder).starts() == begun
    assert_same(store.particles(run_id), expected)


def test_a_shard_whose_checkpoint_is_torn_is_made_again(runner, store, small, gate):
    (run_id,) = runner.start(small, [RESTARTS])
    checkpoint = store.run_folder(run_id) / "checkpoint-00000.npz"
    wait_until(checkpoint.exists)
    runner.cancel(run_id)
    runner.wait([run_id])
    checkpoint.write_bytes(checkpoint.read_bytes()[:-100])
    gate.set()
    runner.resume(run_id)
    runner.wait([run_id])
    assert store.run(run_id).status == "complete"
    assert_same(store.particles(run_id), engine.run(small, RESTARTS))


def test_a_program_that_closes_leaves_runs_to_be_resumed(store, small, gate):
    first = JobRunner(store)
    run_ids = first.start(small, [RESTARTS] * (Limits.runs_at_once + 2))
    wait_until(lambda: sum(run.status == "running" for run in store.runs()) == Limits.runs_at_once)
    first.close()
    assert all(store.run(run_id).status == "interrupted" for run_id in run_ids)
    gate.set()
    second = JobRunner(store)
    try:
        for run_id in run_ids:
            second.resume(run_id)
        second.wait(run_ids)
    finally:
        second.close()
    assert all(store.run(run_id).status == "complete" for run_id in run_ids)


def test_a_run_that_vanishes_does_not_stop_the_others(runner, store, small, monkeypatch):
    """The thread that finds the run gone must go on to serve."""
    monkeypatch.setattr(JobRunner, "_analyse_launch", lambda self, run_id: self.store.run("gone"))
    for _ in range(2):
        run_ids = runner.start(small, [RESTARTS] * Limits.runs_at_once)
        runner.wait(run_ids, timeout=20)
        assert all(store.run(run_id).status == "complete" for run_id in run_ids)


def test_the_study_is_analysed_also_when_the_last_run_was_cancelled_in_the_queue(
    runner, store, small, gate, monkeypatch
):
    asked = []

    def analyse(self, run_ids, first=None, watched=True):
        asked.append(set(run_ids))

    monkeypatch.setattr(JobRunner, "analyse", analyse)
    run_ids = runner.start(small, [RESTARTS] * (Limits.runs_at_once + 1))
    wait_until(lambda: sum(run.status == "running" for run in store.runs()) == Limits.runs_at_once)
    runner.cancel(run_ids[-1])
    gate.set()
    wait_until(lambda: set(run_ids[:-1]) in asked)
    assert store.run(run_ids[-1]).message == "Cancelled before it began."


def test_waiting_has_an_end(runner, small, gate):
    run_ids = runner.start(small, [RESTARTS])
    with pytest.raises(RunError, match=r"not finished after 0\.05 seconds"):
        runner.wait(run_ids, timeout=0.05)
    gate.set()
    runner.wait(run_ids)


@pytest.mark.slow
def test_a_full_disk_fails_the_run_with_a_reason_and_keeps_the_rest(
    runner, store, small, monkeypatch
):
    """Neither results nor how the run has ended can be written; later the end can."""
    expected = engine.run(small, RESTARTS)
    monkeypatch.setattr(module, "BEAT_EVERY", 0.02)
    full, tries = OSError(errno.ENOSPC, "No space left on device"), []

    def no_room(sink, shard, checkpoint, chunk):
        raise full

    def end(claim, status, message="", **last):
        tries.append(status)
        if len(tries) < 4:
            raise sqlite3.OperationalError("database or disk is full")
        return whole(claim, status, message, **last)

    whole = store.life.end
    with monkeypatch.context() as patch:
        patch.setattr(folders.FolderSink, "save", no_room)
        patch.setattr(store.life, "end", end)
        (run_id,) = runner.start(small, [RESTARTS])
        runner.wait([run_id], timeout=20)
    record = store.run(run_id)
    assert record.status == "failed" and "No space left on device" in record.message
    assert tries == ["failed"] * 4
    runner.resume(run_id)
    runner.wait([run_id])
    assert_same(store.particles(run_id), expected)


def test_a_claim_that_is_not_renewed_lapses_in_the_same_process(store, small, gate, monkeypatch):
    """As on a disk that stays full: the run does not run for as long as the process lives."""
    monkeypatch.setattr(records, "LEASE", 0.2)
    monkeypatch.setattr(module, "BEAT_EVERY", 0.02)
    runner = JobRunner(store)
    try:
        (run_id,) = runner.start(small, [RESTARTS])
        wait_until(lambda: store.run(run_id).status == "running")
        time.sleep(0.5)
        assert store.run(run_id).status == "running"  # it is renewed
        with monkeypatch.context() as patch:
            patch.setattr(store.life, "beat", lambda claim: "")
            patch.setattr(store.life, "report", lambda claim, **progress: True)
            wait_until(lambda: store.run(run_id).status == "interrupted")
            claim = store.life.resume(run_id)  # somebody else takes it over
        wait_until(lambda: not runner._jobs)  # the runner notices, and lets go of it
        assert store.run(run_id).status == "queued" and store.life.begin(claim)
    finally:
        runner.close()
    assert store.run(run_id).status == "running"


def test_another_program_can_cancel_a_run(store, small, gate, monkeypatch):
    monkeypatch.setattr(module, "BEAT_EVERY", 0.02)
    runner = JobRunner(store)
    try:
        (run_id,) = runner.start(small, [RESTARTS])
        wait_until(lambda: store.run(run_id).status == "running")
        RunStore(store.root).life.cancel(run_id)
        wait_until(lambda: store.run(run_id).status == "cancelled")
    finally:
        runner.close()
