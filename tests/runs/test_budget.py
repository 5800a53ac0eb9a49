"""Runs with a budget of processor time: they stop when it is used up, and what they made stays."""

import threading
from dataclasses import replace

import numpy as np
import pytest

from bnmf_core import RunSpec, low_rank, run
from bnmf_core.core.errors import RunError, SettingsError
from bnmf_core.runs import engine, planning
from bnmf_core.runs.estimate import estimate
from bnmf_core.runs.launch import in_words
from bnmf_core.store import folders

pytestmark = pytest.mark.slow

GIBBS = RunSpec("gibbs", 4, particles=100_000, settings={"chains": 1, "warm_up": 5, "thinning": 1})


@pytest.fixture(scope="module")
def data():
    return low_rank(40, 300, rank=4, noise=0.05, rng=np.random.default_rng(0))


def test_a_run_ends_when_its_budget_is_used_up(data):
    told = []
    found = run(data, replace(GIBBS, seconds=0.5), on_progress=told.append)
    assert found.info["stop_reason"] == "budget"
    assert 0 < found.M < 100_000
    # Steps are about a second at most; the one that uses the budget up is not broken off.
    assert told[-1].busy >= 0.5 > told[-2].busy if len(told) > 1 else told[-1].busy >= 0.5
    assert "budget" in engine.Outcome("budget", 1.0).message


def test_what_it_has_made_is_what_it_would_have_made_without(data):
    few = run(data, replace(GIBBS, seconds=0.3))
    same = run(data, replace(GIBBS, particles=few.M))
    np.testing.assert_array_equal(few.A, same.A)
    np.testing.assert_array_equal(few.W, same.W)


def test_a_run_that_is_done_sooner_is_complete(data):
    spec = RunSpec("gibbs", 4, particles=5, settings={"warm_up": 2}, seconds=1e6)
    assert run(data, spec).info["stop_reason"] == "complete"


def test_chains_share_the_budget(data):
    settings = {"chains": 8, "warm_up": 5, "thinning": 1}
    spec = RunSpec("hmc", 4, particles=80_000, settings=settings, seconds=1.0)
    plan = planning.make_plan(data, spec)
    sink = engine.MemorySink()
    with engine.ThreadPoolExecutor(2) as steps:
        engine.drive(plan, sink, steps)
    worked = {shard.index: 0 for shard in plan.shards}
    for chunk in sink.chunks():
        worked[chunk.shard] += chunk.size
    assert min(worked.values()) > 0


def test_a_resumed_run_goes_on_with_what_is_left_of_it(data, tmp_path):
    plan = planning.make_plan(data, replace(GIBBS, seconds=0.4))
    sink = folders.FolderSink(tmp_path)
    sink.write_plan({}, [0])
    cancel = threading.Event()

    def stop_soon(progress):
        cancel.set()

    with engine.ThreadPoolExecutor(1) as steps:
        first = engine.drive(plan, sink, steps, stop_soon, cancel)
        assert first.stop_reason in ("cancelled", "budget")
        made = sum(chunk.size for chunk in sink.chunks())
        rest = engine.drive(plan, sink, steps, busy_before=0.4)
    assert rest.stop_reason == "budget" and rest.busy == 0.0
    assert sum(chunk.size for chunk in sink.chunks()) == made


def test_nothing_made_within_it_is_one_sentence(data):
    spec = replace(GIBBS, settings={"chains": 1, "warm_up": 100_000}, seconds=0.05)
    with pytest.raises(RunError, match=r"nothing within its budget of 0\.05 s") as told:
        run(data, spec)
    assert str(told.value).endswith("Give it more, or set “Warm-up sweeps” below 100,000.")


def test_restarts_that_share_too_small_a_budget_are_told_to_be_fewer(data):
    spec = RunSpec("random_restarts", 4, particles=60, settings={"block": 30}, seconds=1e-6)
    with pytest.raises(RunError, match="Give it more, or set “Factorizations side by side” below"):
        run(data, spec)
    alone = replace(spec, settings={"block": 1})
    with pytest.raises(RunError, match=r"processor time\. Give it more\.$"):
        run(data, alone)


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_a_budget_that_is_none_is_refused(data, seconds):
    with pytest.raises(SettingsError, match="budget"):
        planning.check(data, replace(GIBBS, seconds=seconds))


def test_it_is_said_and_reckoned_with(data):
    spec = replace(GIBBS, seconds=2.0)
    assert in_words(spec).endswith("at most 2 s of processor time")
    assert RunSpec.from_dict(spec.to_dict()) == spec
    assert estimate(data, spec).busy <= 2.0 < estimate(data, GIBBS).busy


def test_a_budget_of_restarts_is_spent_on_one_block_after_the_other(data):
    """Blocks that advance in turns would all be half done when the budget ends."""
    spec = RunSpec("random_restarts", 4, particles=200)
    alone = run(data, replace(spec, particles=20))
    told = []
    engine_told = run(data, replace(spec, seconds=0.0, particles=40), on_progress=told.append)
    assert engine_told.M == 40
    enough = 1.5 * told[-1].busy
    found = run(data, replace(spec, seconds=enough))
    assert found.info["stop_reason"] in ("budget", "complete") and found.M >= 20
    np.testing.assert_array_equal(found.A[:20], alone.A)
