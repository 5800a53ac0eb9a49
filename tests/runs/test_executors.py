"""Where the steps are made changes nothing, and losing a machine loses nothing but time."""

import contextlib
import pickle
import socket
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from bnmf_core import mode_evidence
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import RunError, SchedulerError
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.repair import hide_entries
from bnmf_core.data.synthetic import laurberg, low_rank
from bnmf_core.runs import engine, executors
from bnmf_core.runs.executors import default_scheduler, open_executor
from bnmf_core.runs.payload import Payload
from bnmf_core.runs.planning import make_plan
from bnmf_core.store.mapped import Mapped
from tests.runs.cluster import wait_until
from tests.same import assert_same
from tests.suited import BRIEF, OF_EACH_STATE, model_of, suited

pytestmark = pytest.mark.slow

CHAINS = RunSpec("gibbs", 3, particles=128, seed=5, settings={"chains": 64, "warm_up": 20})
LONG = RunSpec("gibbs", 3, particles=20_000, settings={"chains": 4})


@pytest.fixture(scope="module")
def whole(small):
    """What the long run makes here."""
    return engine.run(small, LONG)


def test_a_cluster_gives_the_same_bits_and_takes_the_plan_once(cluster, monkeypatch):
    # Some explorers start at a factorization that is known of the data.
    noisy = low_rank(12, 15, 3, noise=0.1)
    with cluster.open(threads=2) as executor:
        sent = []
        scatter = executor._client.scatter
        monkeypatch.setattr(
            executor._client, "scatter", lambda *a, **k: sent.append(a) or scatter(*a, **k)
        )
        for number, key in enumerate((one.key for one in OF_EACH_STATE), start=1):
            data = suited(noisy, model_of(key))
            spec = RunSpec(key, 3, model_of(key), 25, 3, BRIEF.get(key, {}))
            assert_same(engine.run(data, spec, executor=executor), engine.run(data, spec))
            assert len(sent) == number
        assert executor.at_once == 2


def test_modes_are_weighed_on_a_cluster_as_here(cluster):
    data = laurberg("two")
    spec = RunSpec("random_restarts", rank=3, particles=4, model_settings={"sigma": 0.05})
    starts = engine.run(data, spec).subset(np.array([0]))
    with cluster.open(threads=2) as executor:
        here, there = (
            mode_evidence(
                data, starts, rng=np.random.default_rng(3), particles=16, executor=where
            ).to_numpy(float)
            for where in (None, executor)
        )
    np.testing.assert_array_equal(here, there)


def test_sparse_data_travel_too(cluster):
    X = sparse.random_array((60, 90), density=0.1, rng=np.random.default_rng(0))
    dataset = Dataset.from_array(sparse.csc_array(X))
    spec = RunSpec("random_restarts", 3, particles=25)
    with cluster.open(threads=2) as executor:
        assert_same(engine.run(dataset, spec, executor=executor), engine.run(dataset, spec))


def test_runs_on_a_cluster_are_cancelled_quickly_and_go_on_here(
    cluster, runner, store, small, whole
):
    (run_id,) = runner.start(small, [LONG], scheduler=cluster.address)
    wait_until(lambda: store.run(run_id).done > 0)
    began = time.monotonic()
    runner.cancel(run_id)
    runner.wait([run_id])
    assert time.monotonic() - began < 2
    record, part = store.run(run_id), store.particles(run_id)
    assert record.status == "cancelled" and 0 < part.M < LONG.particles
    assert_same(part, whole.subset(part.ids))
    runner.resume(run_id)  # without the cluster
    runner.wait([run_id])
    assert_same(store.particles(run_id), whole)


# Where X lies


def _kind_of_X(plan):
    return type(plan.problem.dataset.X).__name__


def _bytes_sent(executor, monkeypatch):
    """What each plan that the executor sends is, once pickled."""
    import cloudpickle  # noqa: PLC0415

    sent, scatter = [], executor._client.scatter

    def counted(data, **given):
        payload = next(iter(data.values())) if isinstance(data, dict) else data
        sent.append(len(cloudpickle.dumps(payload)))
        return scatter(data, **given)

    monkeypatch.setattr(executor._client, "scatter", counted)
    return sent


@pytest.fixture
def stored(store):
    """400 kB of data in a store, and a run of them."""
    data = low_rank(200, 250, 3, noise=0.1)
    return store.dataset(store.add_dataset(data))


def test_workers_map_the_file_of_a_stored_X_and_are_not_sent_it(cluster, stored, monkeypatch):
    spec = RunSpec("random_restarts", 3, particles=25)
    expected = engine.run(stored, spec)
    with cluster.open(threads=2) as executor:
        sent = _bytes_sent(executor, monkeypatch)
        assert_same(engine.run(stored, spec, executor=executor), expected)
        assert len(sent) == 2 and max(sent) < stored.X.nbytes / 4  # the names of rows and columns
        assert executor.submit(_kind_of_X, make_plan(stored, spec)).result(20) == "memmap"
        assert {room.maps for room in executor.rooms(stored)} == {True}


def test_X_is_sent_to_workers_that_do_not_reach_its_file(cluster, stored, monkeypatch):
    spec = RunSpec("random_restarts", 3, particles=25)
    expected = engine.run(stored, spec)
    with cluster.open(threads=2) as executor:
        _, second = executor._client.nthreads()
        for reaching in ([], [second]):
            with monkeypatch.context() as patch:
                sent = _bytes_sent(executor, patch)
                patch.setattr(executor, "_reaching", lambda where, found=reaching: found)
                assert_same(engine.run(stored, spec, executor=executor), expected)
            assert [size > stored.X.nbytes for size in sent] == [True] + [False] * len(reaching)


def test_a_file_that_is_gone_or_another_one_is_not_mapped(cluster, stored, monkeypatch):
    """Neither when workers are asked, nor when they were asked before it went."""
    spec = RunSpec("random_restarts", 3, particles=25)
    expected = engine.run(stored, spec)
    where = Mapped.of(stored.X)
    other = where.path.with_name("other.npy")
    np.save(other, stored.X * np.linspace(1, 2, stored.N))
    with cluster.open(threads=2) as executor:
        assert len(executor._reaching(where)) == 2
        assert executor._reaching(replace(where, path=other)) == []
        assert executor._reaching(replace(where, checksum=where.checksum + 1)) == []
        sent = _bytes_sent(executor, monkeypatch)
        asked = executor._reaching
        with monkeypatch.context() as patch:
            patch.setattr(executors, "where_X_lies", lambda plan: replace(where, path=other))
            patch.setattr(executor, "_reaching", lambda place: asked(where) if place else [])
            assert_same(engine.run(stored, spec, executor=executor), expected)
        assert [size > stored.X.nbytes for size in sent] == [False, False, True]


def test_only_a_whole_file_of_a_store_is_mapped(stored, store, tmp_path):
    where = Mapped.of(stored.X)
    np.testing.assert_array_equal(where.open(), stored.X)
    assert Mapped.of(np.array(stored.X)) is None
    assert Mapped.of(stored.X[:, :100]) is None and Mapped.of(stored.X.T) is None
    np.save(tmp_path / "X.npy", stored.X)
    assert Mapped.of(np.load(tmp_path / "X.npy", mmap_mode="r")) is None  # of no store
    by_columns = store.dataset(store.add_dataset(replace(stored, X=np.asfortranarray(stored.X))))
    assert Mapped.of(by_columns.X).open().flags.f_contiguous


# What fits


def test_a_run_that_no_worker_can_hold_is_refused_with_both_numbers(losable, runner, store, small):
    losable.add_worker("100MB")
    losable.open(threads=1).shutdown()
    with pytest.raises(RunError, match=r"about 250\.. MB of memory on a worker .* take 100\.0 MB"):
        runner.start(small, [CHAINS], scheduler=losable.address)
    assert store.runs() == []
    losable.add_worker("600MB")  # one is enough, and makes all steps
    with losable.open(threads=2) as executor:
        plan, limits = make_plan(small, CHAINS), [room.memory for room in executor.rooms(small)]
        steps = [executor.submit(_limit_there, plan, i) for i in range(8)]
        assert {step.result(20) for step in steps} == {600_000_000}
        assert sorted(limits) == [100_000_000, 600_000_000]
    runner.wait(runner.start(small, [CHAINS], scheduler=losable.address))
    assert store.runs()[0].status == "complete"


def _limit_there(plan, number):
    from distributed import get_worker  # noqa: PLC0415

    return get_worker().memory_manager.memory_limit


def test_an_error_on_a_worker_comes_back_as_it_is(cluster, small):
    plan = make_plan(small, CHAINS)
    with cluster.open(threads=2) as executor, pytest.raises(ZeroDivisionError):
        executor.submit(_divide, plan, 0).result(20)


def _divide(plan, by):
    return 1 // by


def test_killed_workers_lose_nothing_but_time(losable, small):
    """First one of two, then all of them: the plan is then sent again to a new one."""
    with pytest.raises(SchedulerError, match="has no workers; start one with"):
        open_executor(losable.address)
    workers = [losable.add_worker() for _ in range(2)]
    expected = engine.run(small, CHAINS)
    with losable.open(threads=2) as executor:
        steps = []

        def lose_one(progress):
            steps.append(progress.done)
            if len(steps) == 2:
                workers[0].kill()

        assert_same(engine.run(small, CHAINS, lose_one, executor=executor), expected)
        steps.clear()

        def lose_the_last(progress):
            steps.append(progress.done)
            if len(steps) == 2:
                workers[1].kill()
                losable.add_worker()

        assert_same(engine.run(small, CHAINS, lose_the_last, executor=executor), expected)


def test_a_lost_scheduler_interrupts_the_run_and_it_goes_on_here(
    losable, runner, store, small, whole
):
    for _ in range(2):
        losable.add_worker()
    losable.open(threads=2).shutdown()
    (run_id,) = runner.start(small, [LONG], scheduler=losable.address)
    wait_until(lambda: store.run(run_id).done > 0)
    losable.scheduler.kill()
    runner.wait([run_id], timeout=15)
    record = store.run(run_id)
    assert record.status == "interrupted"
    assert "was lost; what was made is kept" in record.message
    assert store.particles(run_id).M >= record.done > 0
    runner.resume(run_id)
    runner.wait([run_id])
    assert_same(store.particles(run_id), whole)


# Before a run begins


@contextlib.contextmanager
def listening(answer: bytes):
    """Something on a port that is no scheduler."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)

        def serve():
            with contextlib.suppress(OSError), server.accept()[0] as connection:
                connection.sendall(answer)
                connection.recv(1000)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"
        thread.join()


def test_an_unreachable_scheduler_is_a_sentence_within_seconds(runner, store, small):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
    began = time.monotonic()
    with pytest.raises(SchedulerError, match=f"No scheduler answered at '{address}'"):
        runner.start(small, [CHAINS], scheduler=address)
    assert time.monotonic() - began < 7
    assert store.runs() == []


@pytest.mark.parametrize("address", ["nonsense", "tcp://", "http://127.0.0.1:1", "tcp://a b:x"])
def test_an_address_that_is_none_is_a_sentence(address):
    with pytest.raises(SchedulerError, match="check the address"):
        open_executor(address)


def test_another_kind_of_server_is_a_sentence(monkeypatch):
    monkeypatch.setattr(executors, "PATIENCE", 1.0)
    with (
        listening(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 4) as address,
        pytest.raises(SchedulerError, match="No scheduler answered"),
    ):
        open_executor(address)


def test_without_dask_the_command_that_installs_it_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(SchedulerError, match=r"pip install -r requirements-cluster\.txt"):
        open_executor("tcp://127.0.0.1:8786")


def test_the_scheduler_comes_from_the_environment_unless_it_is_named(monkeypatch):
    monkeypatch.setenv("BNMF_SCHEDULER", " nonsense ")
    assert default_scheduler() == "nonsense"
    with pytest.raises(SchedulerError, match="'nonsense'"):
        open_executor()
    with open_executor("") as threads:
        assert threads.submit(lambda: threading.current_thread().name).result().startswith("step")
    monkeypatch.delenv("BNMF_SCHEDULER")
    assert default_scheduler() == ""


def test_a_payload_holds_aligned_arrays_and_no_copy_of_x(small):
    plan = make_plan(small, CHAINS)
    # What products with X may leave behind is not to be sent.
    assert plan.problem.times_columns(np.ones((1, 3, 12))).shape == (1, 3, 15)
    buffers = []
    message = pickle.dumps(plan.problem.dataset.X, protocol=5)
    assert len(message) > small.X.nbytes
    import cloudpickle  # noqa: PLC0415

    message = cloudpickle.dumps(Payload(plan), protocol=5, buffer_callback=buffers.append)
    sizes = [memoryview(buffer).nbytes for buffer in buffers]
    assert sizes.count(small.X.nbytes) == 1 and len(message) < 50_000

    def shifted(buffer):
        raw = bytes(buffer.raw())
        return memoryview(bytearray(3) + raw)[3:]

    arrived = pickle.loads(message, buffers=[shifted(buffer) for buffer in buffers]).shared
    X = arrived.problem.dataset.X
    assert X.flags.aligned and not X.flags.writeable
    np.testing.assert_array_equal(X, small.X)
    assert arrived.problem.model_settings == plan.problem.model_settings
    assert arrived.spec == plan.spec and arrived.shards == plan.shards


def test_a_payload_brings_the_mask_and_no_work_made_of_it(small):
    data = hide_entries(small, 0.3, np.random.default_rng(0))
    plan = make_plan(data, CHAINS)
    assert plan.problem.seen.sum() == data.observed and plan.problem.completed.shape == (12, 15)
    import cloudpickle  # noqa: PLC0415

    arrived = pickle.loads(cloudpickle.dumps(Payload(plan))).shared.problem
    np.testing.assert_array_equal(arrived.dataset.mask, data.mask)
    np.testing.assert_array_equal(arrived.dataset.hidden, data.hidden)
    assert not {"seen", "completed"} & set(vars(arrived))
    np.testing.assert_array_equal(arrived.seen, plan.problem.seen)
