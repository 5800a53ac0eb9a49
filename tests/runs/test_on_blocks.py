"""What is recommended, promised and held for data that are read in blocks."""

import time
from contextlib import closing

import numpy as np
import pytest

from bnmf_core.analysis.proposal import proposal
from bnmf_core.blocks.stores.npy import NpySource
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError, RunError
from bnmf_core.core.spec import RunSpec
from bnmf_core.jobs.scheduler import Scheduler
from bnmf_core.passes import faces
from bnmf_core.registry import ALGORITHMS
from bnmf_core.runs import engine, on_blocks, pilots
from bnmf_core.runs.estimate import estimate
from bnmf_core.runs.launch import COUNTS_ON_BLOCKS, preset
from bnmf_core.runs.memory import disk_needed, memory_needed
from bnmf_core.runs.pilots import Pilots
from bnmf_core.runs.planning import check

N, D, SAMPLE = 3_000, 12, 400


def stored(folder, counts=False, N=N):
    rng = np.random.default_rng(0)
    X = rng.gamma(1.0, 1.0, (N, 3)) @ rng.gamma(0.5, 1.0, (3, D))
    if counts:
        X = rng.negative_binomial(2, 2 / (2 + 3 * X)).astype(float)
    np.save(folder / "cells.npy", X)
    return folder / "cells.npy"


@pytest.fixture
def large(tmp_path):
    return Dataset.from_blocks(stored(tmp_path), sample=SAMPLE)


@pytest.mark.parametrize("plan", ["quick", "thorough", "compare"])
def test_only_what_reads_blocks_is_recommended(large, plan):
    recommended = preset(large, 3, plan=plan)
    assert {spec.algorithm for spec in recommended.specs} >= {"random_restarts", "q_transform"}
    for spec in recommended.specs:
        assert ALGORITHMS[spec.algorithm].on_blocks is not None
        check(large, spec)
    assert "read in blocks" in recommended.left_out[0]
    assert ("HMC and Mode jumps need all data in memory" in " ".join(recommended.left_out)) == (
        plan == "compare"
    )


def test_factorizations_are_fewer_and_chains_only_where_there_is_time(large, monkeypatch):
    quick = {spec.algorithm: spec.particles for spec in preset(large, 3).specs}
    assert quick["random_restarts"] == quick["q_transform"] == COUNTS_ON_BLOCKS[0]
    assert "gibbs" in quick
    monkeypatch.setattr(on_blocks, "READING", 1.0)
    slow = preset(large, 3)
    assert [(spec.algorithm, spec.particles) for spec in slow.specs] == [
        ("random_restarts", COUNTS_ON_BLOCKS[-1]),
        ("q_transform", COUNTS_ON_BLOCKS[-1]),
    ]
    assert "Gibbs would take too long" in slow.left_out[-1]


def test_counts_get_a_model_that_blocks_have(tmp_path):
    data = Dataset.from_blocks(stored(tmp_path, counts=True), sample=SAMPLE)
    found = proposal(data)
    assert found.model == "poisson" and "read in blocks" in found.reason
    assert preset(data, 3, model=found.model).specs
    assert proposal(data.columns(np.arange(SAMPLE))).model == "negative_binomial"


def test_a_pass_reads_the_file_and_no_more_than_X(tmp_path, large):
    size = (tmp_path / "cells.npy").stat().st_size
    assert on_blocks.bytes_of_a_pass(large.whole) == 8 * N * D < size
    np.save(tmp_path / "small.npy", np.ones((N, D), dtype=np.float32))
    small = Dataset.from_blocks(tmp_path / "small.npy", sample=SAMPLE).whole
    assert on_blocks.bytes_of_a_pass(small) == (tmp_path / "small.npy").stat().st_size
    (tmp_path / "small.npy").unlink()
    assert on_blocks.bytes_of_a_pass(small) == 8 * N * D


def test_more_observations_take_longer_and_need_no_more_memory(tmp_path, large):
    spec = RunSpec("random_restarts", 3, particles=10)
    (tmp_path / "more").mkdir()
    more = Dataset.from_blocks(stored(tmp_path / "more", N=200_000), sample=SAMPLE)
    assert more.whole.count > 1
    assert estimate(more, spec).busy > 20 * estimate(large, spec).busy
    held = memory_needed(more, spec)
    block = np.diff(more.whole.blocks.bounds).max()
    assert held.particles == memory_needed(large, spec).particles == 8 * 10 * 3 * (D + SAMPLE)
    assert 8 * block * (D + 10 * 3) < held.added
    far = Dataset.from_blocks(stored(tmp_path / "more", N=800_000), sample=SAMPLE)
    assert memory_needed(far, spec).added == held.added


def test_a_pass_holds_curvatures_of_every_row_of_counts_and_of_faces(large):
    def added(model, rank):
        return memory_needed(large, RunSpec("random_restarts", rank, model, particles=20)).added

    most = faces.MOST_COMPONENTS
    few, many = (added("poisson", R) - added("gaussian", R) for R in (most, most + 1))
    assert many > 8 * 20 * (most + 1) ** 2 * (D - 1)
    assert few < 8 * 20 * (most**2 * (D - 1) - most**4)


def test_no_pilot_is_flown(store, large, monkeypatch):
    spec = RunSpec("random_restarts", 3, particles=5)
    with pytest.raises(RunError, match="read in blocks"):
        pilots.fly(large, spec)
    monkeypatch.setattr(pilots, "fly", lambda *_: pytest.fail("flown"))
    dataset_id = store.add_dataset(large)
    with closing(Scheduler()) as jobs:
        made = Pilots(store, jobs, "me")
        assert not made.ask(dataset_id, [spec])
        assert made.known(dataset_id, spec) is None


def test_a_run_on_blocks_is_learned_from(runner, store, large):
    spec = RunSpec("random_restarts", 3, particles=5)
    (run_id,) = runner.start(large, [spec])
    runner.wait([run_id])
    assert store.run(run_id).status == "complete"
    assert estimate(large, spec, store).seconds > 0


def test_a_pass_is_told_cancelled_and_gone_on_with(runner, store, tmp_path, monkeypatch):
    data = Dataset.from_blocks(stored(tmp_path, N=200_000), sample=SAMPLE)
    read = NpySource.read

    def slowly(self, first, stop):
        time.sleep(0.2)
        return read(self, first, stop)

    spec = RunSpec("random_restarts", 3, particles=2, settings={"max_iterations": 10})
    with monkeypatch.context() as slow:
        slow.setattr(NpySource, "read", slowly)
        (run_id,) = runner.start(data, [spec])
        seen = set()
        end = time.monotonic() + 60
        while not any(message.startswith("Pass 2 of at most 11: block") for message in seen):
            assert time.monotonic() < end
            seen.add(store.run(run_id).message)
            time.sleep(0.02)
        began = time.monotonic()
        runner.cancel(run_id)
        runner.wait([run_id])
        assert time.monotonic() - began < 2.0
    assert store.run(run_id).status == "cancelled"
    assert any(f"of {data.whole.count}" in message for message in seen)
    runner.resume(run_id)
    runner.wait([run_id])
    assert store.run(run_id).status == "complete"
    whole = engine.run(data, spec)
    assert np.array_equal(store.particles(run_id).A, whole.A)


def test_the_weights_of_a_chain_take_room_while_it_walks_and_none_after(large, runner):
    spec = RunSpec("gibbs", 3, particles=6, settings={"chains": 2, "warm_up": 4})
    (run_id,) = runner.start(large, [spec])
    folder = runner.store.run_folder(run_id)
    runner.wait([run_id])
    assert runner.store.run(run_id).status == "complete" and not list(folder.glob("weights-*"))
    kept = memory_needed(large, spec).particles
    assert disk_needed(large, spec) - kept == 2 * 8 * 2 * 3 * N
    assert (
        disk_needed(large, RunSpec("random_restarts", 3))
        == memory_needed(large, RunSpec("random_restarts", 3)).particles
    )


def test_a_sample_has_two_observations_at_least(tmp_path):
    with pytest.raises(DataError, match="at least 2 have to be in memory"):
        Dataset.from_blocks(stored(tmp_path), sample=1)
