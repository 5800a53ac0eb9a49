"""The loop: what it adds to the algorithms, and what it says when one misbehaves."""

import dataclasses
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from bnmf_core import registry
from bnmf_core.core.algorithm import Batch
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import RunError
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.synthetic import low_rank
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.runs import engine, planning
from bnmf_core.store import checkpoint
from tests.suited import model_of, suited

QUICK = {"max_iterations": 20, "block": 5}


def blas_threads() -> list[int]:
    return [
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    ]


@pytest.fixture
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        threads = blas_threads()  # a library built without threads stays at one
        assert 2 in threads
        yield threads


def test_a_cancel_before_the_first_factorization_is_said(small):
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(RunError, match="stopped before it had made a factorization"):
        engine.run(small, RunSpec("gibbs", 2), cancel=cancel)


def test_a_value_that_is_not_finite_stops_the_run(small, monkeypatch):
    algorithm = registry.algorithm("random_restarts")

    def step(problem, state, settings, rng):
        state, batch = algorithm.step(problem, state, settings, rng)
        return state, Batch(batch.A, np.full_like(batch.W, np.nan), batch.diagnostics)

    changed = dataclasses.replace(algorithm, step=step)
    monkeypatch.setitem(registry.ALGORITHMS, "random_restarts", changed)
    with pytest.raises(RunError, match="Random restarts made a value that is not finite after"):
        engine.run(small, RunSpec("random_restarts", 2, particles=3))


def test_held_out_observations_are_not_seen(small):
    spec = RunSpec("random_restarts", 2, particles=3, settings=QUICK, holdout=0.2)
    seen, held_out = planning.split(small, 0.2)
    assert held_out.size == 3 and seen.size == 12
    particles = engine.run(small, spec)
    assert particles.W.shape == (3, 2, 12)
    alone = engine.run(small.columns(seen), dataclasses.replace(spec, holdout=0.0))
    np.testing.assert_array_equal(particles.A, alone.A)


def test_info_holds_every_setting_with_the_value_it_took(small):
    spec = RunSpec("random_restarts", 2, particles=3, settings=QUICK, model_settings={"rate": 2})
    info = engine.run(small, spec).info
    left_out = dataclasses.asdict(registry.algorithm("random_restarts").Settings())
    assert info["settings"] == left_out | QUICK
    assert info["model_settings"]["rate"] == 2.0
    assert info["model_settings"]["sigma"] > 0
    assert info["dataset"] == "small" and info["run_seconds"] > 0


def test_any_executor_will_do_and_the_order_does_not_matter(small):
    spec = RunSpec("random_restarts", 3, particles=17, settings=QUICK)
    plan = planning.make_plan(small, spec)
    backwards = dataclasses.replace(plan, shards=plan.shards[::-1])
    sink = engine.MemorySink()
    with ThreadPoolExecutor(1) as executor:
        assert engine.drive(backwards, sink, executor).stop_reason == "complete"
    starts = [shard.start for shard in plan.shards]
    info = planning.describe(plan)
    particles = engine.assemble(sink.chunks(), starts, spec, info)
    np.testing.assert_array_equal(particles.A, engine.run(small, spec).A)


def assert_same_state(one, other):
    for field in dataclasses.fields(one):
        ours, theirs = getattr(one, field.name), getattr(other, field.name)
        assert type(ours) is type(theirs)
        if dataclasses.is_dataclass(ours):
            assert_same_state(ours, theirs)
        elif isinstance(ours, tuple):
            for one_part, other_part in zip(ours, theirs, strict=True):
                np.testing.assert_array_equal(one_part, other_part)
        else:
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("key", list(registry.ALGORITHMS))
def test_a_checkpoint_is_its_own_inverse(key):
    # Some explorers start at a factorization that is known of the data.
    data = suited(low_rank(12, 15, 3, noise=0.1), model_of(key))
    plan = planning.make_plan(data, RunSpec(key, 3, model_of(key), particles=2))
    made, _ = engine.advance(plan, plan.shards[0], None)
    back = checkpoint.from_arrays(checkpoint.to_arrays(made), plan.algorithm.State)
    assert (back.produced, back.fraction, back.generator) == (
        made.produced,
        made.fraction,
        made.generator,
    )
    assert_same_state(made.state, back.state)
    drawn = checkpoint.restore_generator(back.generator).random(5)
    np.testing.assert_array_equal(drawn, checkpoint.restore_generator(made.generator).random(5))


def test_draws_of_a_chain_are_counted_over_all_steps(small, monkeypatch):
    """A chain that fails later is reported after as many draws as it has made in all."""
    monkeypatch.setattr("bnmf_core.core.algorithm.STEP_WORK", 1.0)  # one sweep a step
    chain = {"warm_up": 2, "thinning": 1, "chains": 1}
    plan = planning.make_plan(small, RunSpec("gibbs", 2, particles=5, settings=chain))
    made, counts = None, []
    while made is None or made.produced < 5:
        made, _ = engine.advance(plan, plan.shards[0], made)
        counts.append((made.produced, made.draws.get("0", 0)))
    assert counts[-1] == (5, 5) and len(counts) >= 5
    assert all(produced == drawn for produced, drawn in counts)


def test_the_plan_does_not_depend_on_the_number_of_threads(two_threads):
    """With two BLAS threads a sum over this many entries is split, and rounds differently."""
    rng = np.random.default_rng(0)
    X = rng.random((700, 5)) @ rng.random((5, 600)) + 0.1 * rng.random((700, 600))
    spec = RunSpec("gibbs", 5)
    many = planning.make_plan(Dataset.from_array(X), spec).problem
    with one_blas_thread():
        one = planning.make_plan(Dataset.from_array(X), spec).problem
    assert many.model_settings == one.model_settings
    with one_blas_thread():
        alone = Dataset.from_array(X).squared_norm
    assert Dataset.from_array(X).squared_norm == alone
    assert alone == pytest.approx((X**2).sum(), rel=1e-13)


def test_one_blas_thread_is_undone_by_the_last_to_leave(two_threads):
    entered, left = threading.Event(), threading.Event()
    inside = []

    def other():
        with one_blas_thread(), one_blas_thread():
            entered.set()
            left.wait(5)
            inside.append(blas_threads())

    thread = threading.Thread(target=other)
    with one_blas_thread():
        thread.start()
        assert entered.wait(5)
        assert set(blas_threads()) == {1}
    assert set(blas_threads()) == {1}  # the other one is still inside
    left.set()
    thread.join()
    assert set(inside[0]) == {1}
    assert blas_threads() == two_threads


def test_one_blas_thread_is_undone_by_an_error(two_threads):
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        raise ZeroDivisionError
    assert blas_threads() == two_threads
