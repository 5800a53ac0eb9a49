"""What the engine records of a sampler's chains, and what becomes of those that fail."""

import dataclasses
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from bnmf_core import registry
from bnmf_core.compare.distances.invariants import INVARIANTS, invariants
from bnmf_core.core.algorithm import Batch
from bnmf_core.core.errors import RunError, StoreError
from bnmf_core.core.particles import Particles
from bnmf_core.core.spec import RunSpec
from bnmf_core.runs import engine, planning
from bnmf_core.store import folders

GIBBS = RunSpec(
    "gibbs", 2, particles=7, seed=3, settings={"chains": 3, "warm_up": 10, "thinning": 2}
)
HMC = RunSpec(
    "hmc", 2, particles=7, seed=3, settings={"chains": 3, "warm_up": 5, "leapfrog_steps": 4}
)
EXPLORER = RunSpec("random_restarts", 2, particles=6, settings={"block": 2, "max_iterations": 20})


def assert_same_trace(one, other):
    assert list(one) == list(other)
    for key, values in one.items():
        np.testing.assert_array_equal(other[key], values, err_msg=key)


# The trace


@pytest.mark.parametrize(("spec", "warm_up"), [(GIBBS, 5), (HMC, 5)])
def test_the_trace_has_every_recorded_state_of_every_chain(small, spec, warm_up):
    particles = engine.run(small, spec)
    trace = particles.trace
    assert set(trace) == {
        "chain",
        "sweep",
        "warm_up",
        "log_joint",
        "log_likelihood",
        "error",
        *INVARIANTS,
    }
    assert all(values.shape == (3 * warm_up + 7,) for values in trace.values())
    for chain, draws in ((0, 3), (1, 2), (2, 2)):
        of_chain = trace["chain"] == chain
        np.testing.assert_array_equal(trace["sweep"][of_chain], np.arange(warm_up + draws))
        np.testing.assert_array_equal(
            trace["warm_up"][of_chain], np.arange(warm_up + draws) < warm_up
        )
        np.testing.assert_array_equal(particles.draw[particles.chain == chain], np.arange(draws))
    kept = ~trace["warm_up"]
    for name in ("chain", "log_joint", "error"):
        np.testing.assert_array_equal(trace[name][kept], getattr(particles, name))
    model, problem = registry.model("gaussian"), planning.make_plan(small, spec).problem
    np.testing.assert_allclose(
        trace["log_likelihood"][kept],
        model.log_likelihood(problem, particles.A, particles.W),
        rtol=1e-12,
    )
    for name, values in invariants(particles.A, particles.W).items():
        np.testing.assert_allclose(trace[name][kept], values, rtol=1e-12)


def test_an_explorer_has_no_trace(small):
    assert engine.run(small, EXPLORER).trace == {}


@pytest.mark.parametrize("spec", [GIBBS, HMC])
def test_the_trace_survives_files_and_subsets(small, spec, tmp_path):
    particles = engine.run(small, spec)
    particles.save(tmp_path / "some.npz")
    assert_same_trace(particles.trace, Particles.load(tmp_path / "some.npz").trace)
    folders.write_particles(tmp_path / "run", particles, final=True)
    assert_same_trace(particles.trace, folders.read_particles(tmp_path / "run").trace)
    assert_same_trace(particles.trace, particles.subset(np.array([1, 4])).trace)
    exported = particles.to_xarray()
    for key, values in particles.trace.items():
        assert exported[f"trace_{key}"].dims == ("state",)
        np.testing.assert_array_equal(exported[f"trace_{key}"], values)


@pytest.mark.slow
@pytest.mark.parametrize("spec", [GIBBS, HMC])
def test_the_trace_of_an_interrupted_run_is_that_of_a_whole_one(small, spec, tmp_path, monkeypatch):
    whole = engine.run(small, spec)
    monkeypatch.setattr("bnmf_core.core.algorithm.STEP_WORK", 1.0)
    plan, sink = planning.make_plan(small, spec), folders.FolderSink(tmp_path)
    starts = [shard.start for shard in plan.shards]
    sink.write_plan({}, starts)
    reason, unsaved = "", 0
    while reason != "complete":
        cancel = threading.Event()
        with ThreadPoolExecutor(1) as executor:
            reason = engine.drive(
                plan, sink, executor, lambda _, cancel=cancel: cancel.set(), cancel
            ).stop_reason
        if not any(chunk.size for chunk in sink.chunks()):  # nothing but warm-up so far
            unsaved += 1
            with pytest.raises(StoreError, match="not saved a factorization yet"):
                folders.read_partial(tmp_path, spec, "running")
    assert unsaved > 2
    resumed = folders.read_partial(tmp_path, spec, "complete")
    np.testing.assert_array_equal(resumed.A, whole.A)
    np.testing.assert_array_equal(resumed.ids, whole.ids)
    assert_same_trace(whole.trace, resumed.trace)


def test_a_trace_that_does_not_fit_together_is_refused(small, tmp_path):
    path = tmp_path / "some.npz"
    engine.run(small, GIBBS).save(path)
    with np.load(path) as stored:
        arrays = dict(stored)
    for wrong in (arrays["trace_sweep"][1:], np.zeros((22, 2))):
        np.savez(path, **(arrays | {"trace_sweep": wrong}))
        with pytest.raises(StoreError, match="trace do not fit together"):
            Particles.load(path)


# Failures


def breaking(monkeypatch, key, chains, after):
    """Let states of the algorithm's chains have a NaN from the ``after``-th one of a batch on."""
    known = registry.algorithm(key)

    def step(problem, state, settings, rng):
        state, batch = known.step(problem, state, settings, rng)
        W = np.array(batch.W)
        W[(np.arange(batch.size) >= after) & np.isin(batch.chain, chains), 0, 0] = np.nan
        return state, dataclasses.replace(batch, W=W)

    monkeypatch.setitem(registry.ALGORITHMS, key, dataclasses.replace(known, step=step))


def test_one_failed_chain_leaves_the_others_to_finish(small, monkeypatch, tmp_path):
    whole = engine.run(small, GIBBS)
    breaking(monkeypatch, "gibbs", chains=[2], after=6)
    plan = planning.make_plan(small, GIBBS)
    sink = folders.FolderSink(tmp_path)
    with ThreadPoolExecutor(1) as executor:
        outcome = engine.drive(plan, sink, executor)
    assert outcome.stop_reason == "complete"
    (failed,) = outcome.to_dict()["failed_chains"]
    assert (failed["chain"], failed["after_draw"]) == (2, 1)
    assert failed["reason"].startswith("Gibbs made a value that is not finite after particle 6")
    starts = [shard.start for shard in plan.shards]
    particles = engine.assemble(sink.chunks(), starts, GIBBS, outcome.to_dict())
    kept = whole.ids < 6
    np.testing.assert_array_equal(particles.ids, whole.ids[kept])
    np.testing.assert_array_equal(particles.A, whole.A[kept])
    assert (particles.trace["chain"] == 2).sum() == 6
    particles.save(tmp_path / "some.npz")
    assert Particles.load(tmp_path / "some.npz").info["failed_chains"] == [failed]
    # Resumed, nothing is tried again.
    made = sink.checkpoint(plan.shards[1], plan.algorithm.State)
    assert made.failure.step == 6 and made.failure.reason == failed["reason"]
    monkeypatch.setattr(engine, "advance", None)
    with ThreadPoolExecutor(1) as executor:
        assert engine.drive(plan, sink, executor).failed_chains == (failed,)


def test_chains_side_by_side_say_how_far_each_came(small, monkeypatch):
    breaking(monkeypatch, "hmc", chains=[1], after=13)
    particles = engine.run(small, HMC)
    # Chains 0 and 1 share a shard: five times two of warm-up, then 0, 1, 0 and a NaN.
    assert particles.info["stop_reason"] == "complete"
    told = {one["chain"]: one["after_draw"] for one in particles.info["failed_chains"]}
    assert told == {0: 2, 1: 1}
    assert [int((particles.chain == c).sum()) for c in range(3)] == [2, 1, 2]
    assert np.isfinite(particles.W).all()


def test_a_failed_block_of_an_explorer_is_left_out(small, monkeypatch):
    known = registry.algorithm("random_restarts")

    def step(problem, state, settings, rng):
        state, batch = known.step(problem, state, settings, rng)
        second = batch.size and batch.A[0, 0, 0] == first_entry
        W = np.full_like(batch.W, np.inf) if second else batch.W
        return state, Batch(batch.A, W, batch.diagnostics)

    first_entry = float(engine.run(small, EXPLORER).A[2, 0, 0])
    changed = dataclasses.replace(known, step=step)
    monkeypatch.setitem(registry.ALGORITHMS, "random_restarts", changed)
    seen = []
    particles = engine.run(small, EXPLORER, seen.append)
    np.testing.assert_array_equal(particles.ids, [0, 1, 4, 5])
    (failed,) = particles.info["failed_chains"]
    assert (failed["chain"], failed["after_draw"]) == (1, 0)
    assert seen[-1].fraction == 1.0 and seen[-1].done == 4


def test_a_run_in_which_every_chain_fails_says_why(small, monkeypatch, tmp_path):
    breaking(monkeypatch, "gibbs", chains=[0, 1, 2], after=3)
    with pytest.raises(RunError, match="Gibbs made a value that is not finite"):
        engine.run(small, GIBBS)
    plan, sink = planning.make_plan(small, GIBBS), folders.FolderSink(tmp_path)
    for _ in range(2):  # resumed, it says the same
        with ThreadPoolExecutor(1) as executor, pytest.raises(RunError, match="not finite"):
            engine.drive(plan, sink, executor)


def test_a_run_without_failures_says_so(small):
    assert engine.run(small, GIBBS).info["failed_chains"] == []
