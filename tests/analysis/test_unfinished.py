"""What a run has seen so far: read from what is saved, counted as at the end."""

import numpy as np
import pytest

from bnmf_core import RunSpec, covering_numbers, distances, laurberg, run
from bnmf_core.analysis.unfinished import MOST, best, growth, settling
from bnmf_core.compare.coverage import covering_over_time
from bnmf_core.compare.settled import settled
from bnmf_core.runs import engine, planning
from bnmf_core.store import folders
from bnmf_core.store.run_store import RunStore

DATA = laurberg("two", noise=0.001, rng=np.random.default_rng(0))


def made_in(store, claim, spec):
    """Make a run step by step in its folder, without saying that it has ended."""
    store.life.begin(claim)
    plan = planning.make_plan(DATA, spec)
    sink = folders.FolderSink(store.run_folder(claim.run_id))
    sink.write_plan({}, [shard.start for shard in plan.shards])
    with engine.ThreadPoolExecutor(1) as steps:
        engine.drive(plan, sink, steps)


def test_at_every_time_it_is_the_covering_number_of_what_was_there():
    rng = np.random.default_rng(0)
    points = rng.random((30, 2))
    matrix = np.linalg.norm(points[:, None] - points, axis=2)
    seconds = rng.permutation(30).astype(float)
    times, counts = covering_over_time(matrix, seconds, 0.3, most=7)
    assert len(times) == 7 and times[0] == 0.0 and times[-1] == 29.0
    for time, count in zip(times, counts, strict=True):
        # In the order of their coming: of equally good centres the first one is taken.
        there = np.argsort(seconds)[: int((seconds <= time).sum())]
        assert count == covering_numbers(matrix[np.ix_(there, there)], np.array([0.3]))[0]


def test_a_single_sample_is_one_ball():
    times, counts = covering_over_time(np.zeros((1, 1)), np.array([2.0]), 0.1)
    assert times.tolist() == [2.0] and counts.tolist() == [1]


@pytest.mark.slow
def test_a_run_is_read_while_it_is_being_made(tmp_path):
    store = RunStore(tmp_path)
    spec = RunSpec("random_restarts", 3, particles=12)
    claim = store.life.enter(store.add_dataset(DATA), spec)
    assert growth(store, claim.run_id, "max_angle", 15.0).empty
    assert best(store, [claim.run_id]) is None
    made_in(store, claim, spec)
    found = growth(store, claim.run_id, "max_angle", 15.0)
    whole = run(DATA, spec)
    at_end = covering_numbers(distances(whole, "max_angle"), np.array([15.0]))[0]
    assert found["covering"].iloc[-1] == at_end == 2
    seen = best(store, [claim.run_id])
    assert seen.made == 12 and seen.error == whole.error.min()
    columns = whole.A[whole.error.argmin()].T
    assert all(any(np.array_equal(a, b) for b in columns) for a in seen.A.T)
    assert found["made"].iloc[-1] == 12 <= MOST
    assert found["seconds"].is_monotonic_increasing


@pytest.mark.slow
def test_running_chains_are_judged_by_what_they_have_drawn(tmp_path):
    store = RunStore(tmp_path)
    settings = {"chains": 2, "warm_up": 500, "thinning": 20}
    spec = RunSpec("gibbs", 3, particles=120, settings=settings, model_settings={"sigma": 0.01})
    claim = store.life.enter(store.add_dataset(DATA), spec)
    assert settling(store, claim.run_id) is None
    made_in(store, claim, spec)
    made = run(DATA, spec)
    apart = distances(made, "max_angle")
    firsts = [np.flatnonzero(made.chain == c) for c in range(2)]
    one_mode = apart[np.ix_(*firsts)].min() < 15.0
    judged = settled(made.A, made.W, made.log_joint, made.chain, [0, 0 if one_mode else 1])
    expected = judged.r_hat, min(judged.ess_bulk, judged.ess_tail)
    np.testing.assert_allclose(settling(store, claim.run_id), expected)
