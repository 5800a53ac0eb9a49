"""Short tries of runs tell what the runs will take."""

import time

import pytest

from bnmf_core.core.errors import RunError
from bnmf_core.core.spec import RunSpec
from bnmf_core.jobs.scheduler import Scheduler
from bnmf_core.runs import engine, pilots
from bnmf_core.runs.estimate import KNOWN, TRIED, TRIED_OUT, estimate
from bnmf_core.runs.pilots import Pilot, Pilots, fly

CHAIN = RunSpec("gibbs", 3, particles=400, settings={"thinning": 100})


@pytest.fixture
def own(store):
    """Pilots of a store of the test's own."""
    jobs = Scheduler()
    yield Pilots(store, jobs, "me")
    jobs.close()


def until_known(made, dataset_id, specs):
    end = time.monotonic() + 60
    while made.ask(dataset_id, specs):
        assert time.monotonic() < end
        time.sleep(0.02)


both = pytest.mark.parametrize(
    "spec", [CHAIN, RunSpec("random_restarts", 3, particles=400)], ids=lambda spec: spec.algorithm
)


@both
def test_a_pilot_ends_after_its_time_and_foretells_that_of_the_run(small, spec, monkeypatch):
    start, whole, spent = 0.1, 2.0, []

    def clock(plan, shard, checkpoint):
        step, _ = engine.timed(plan, shard, checkpoint)
        before = -start / whole if checkpoint is None else checkpoint.fraction
        spent.append(whole * (step[0].fraction - before))
        return step, spent[-1]

    monkeypatch.setattr(pilots, "timed", clock)
    # Of an explorer a few particles are tried.
    tried = spec.particles if spec is CHAIN else pilots.FEW
    assert fly(small, spec).busy == pytest.approx((start + whole) * spec.particles / tried)
    # The first step is made once more; of the others, the last one begins in time.
    assert sum(spent[1:-1]) < pilots.LONGEST <= sum(spent[1:])


@pytest.mark.slow
@both
def test_a_pilot_is_near_to_what_the_run_takes(small, spec):
    fly(small, spec)  # all that it needs is compiled then
    # A busy machine makes some of them slow.
    busy = sorted(fly(small, spec).busy for _ in range(3))[1]
    # Processor time of the run, from the same steps in the same thread.
    plan = engine.make_plan(small, spec)
    whole = 0.0
    for shard in plan.shards:
        checkpoint = None
        while checkpoint is None or checkpoint.fraction < 1.0:
            (checkpoint, _), worked = engine.timed(plan, shard, checkpoint)
            whole += worked
    assert whole / 3 < busy < 3 * whole


def test_a_pilot_that_came_to_its_end_is_the_whole_run(small):
    pilot = fly(small, RunSpec("random_restarts", 3, particles=3))
    assert pilot.part == 1.0


def test_what_was_measured_is_kept_for_every_seed(store, own, small):
    dataset_id = store.add_dataset(small)
    specs = [RunSpec("random_restarts", 3, particles=40), RunSpec("gibbs", 3, particles=10)]
    assert own.known(dataset_id, specs[0]) is None
    assert own.ask(dataset_id, specs)
    until_known(own, dataset_id, specs)
    known = own.known(dataset_id, specs[0])
    assert known is not None and known.busy > 0
    again = Pilots(store, Scheduler(), "me")
    assert again.known(dataset_id, RunSpec("random_restarts", 3, particles=40, seed=9)) == known
    assert again.known(dataset_id, RunSpec("random_restarts", 2, particles=40)) is None
    assert not again.ask(dataset_id, specs)


def test_what_cannot_be_tried_is_not_tried_again(store, own, small, monkeypatch):
    def broken(*arguments):
        raise RunError("no")

    monkeypatch.setattr(pilots, "fly", broken)
    dataset_id = store.add_dataset(small)
    until_known(own, dataset_id, [CHAIN])
    assert own.known(dataset_id, CHAIN) is None and not own.ask(dataset_id, [CHAIN])


def test_a_torn_file_is_measured_again(store, small):
    (store.root / pilots.NAME).write_text("{torn")
    assert Pilots(store, Scheduler(), "me").known("any", CHAIN) is None


def test_what_is_known_best_decides(store, small):
    guess = estimate(small, CHAIN)
    tried = estimate(small, CHAIN, store, Pilot(busy=8.0, part=0.2))
    ended = estimate(small, CHAIN, store, Pilot(busy=8.0, part=1.0))
    assert (tried.factor, ended.factor) == (TRIED, TRIED_OUT) and guess.factor > TRIED
    assert tried.busy == 8.0 and tried.low < tried.seconds < tried.high
    claim = store.life.enter(store.add_dataset(small), CHAIN)
    store.life.end(claim, "complete", done=400, seconds=30.0, busy=12.0)
    known = estimate(small, CHAIN, store, Pilot(busy=8.0, part=1.0))
    assert (known.busy, known.factor) == (12.0, KNOWN)


def test_a_run_keeps_how_long_processors_worked_on_it(runner, small):
    (run_id,) = runner.start(small, [RunSpec("gibbs", 3, particles=200, settings={"thinning": 50})])
    runner.wait([run_id])
    run = runner.store.run(run_id)
    assert 0.0 < run.busy <= 1.1 * run.seconds * engine.WORKERS
