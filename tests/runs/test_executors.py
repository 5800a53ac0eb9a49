"""Where the steps are made changes nothing, and losing a machine loses nothing but time."""

import contextlib
import pickle
import socket
import sys
import threading
import time

import numpy as np
import pytest
from scipy import sparse

from bnmf_core import mode_evidence, registry
from bnmf_core.data.repair import hide_entries
from bnmf_core.data.synthetic import laurberg, low_rank
from bnmf_core.nouns.dataset import Dataset
from bnmf_core.nouns.errors import SchedulerError
from bnmf_core.nouns.spec import RunSpec
from bnmf_core.runs import engine, executors
from bnmf_core.runs.executors import default_scheduler, open_executor
from bnmf_core.runs.parcel import Parcel
from bnmf_core.runs.planning import make_plan
from tests.runs.cluster import Cluster
from tests.suited import model_of, suited

pytestmark = pytest.mark.slow

CHAINS = RunSpec("gibbs", 3, particles=128, seed=5, settings={"chains": 64, "warm_up": 20})
LONG = RunSpec("gibbs", 3, particles=20_000, settings={"chains": 4})


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A scheduler and two workers of one thread."""
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        for _ in range(2):
            cluster.add_worker()
        cluster.open(threads=2).shutdown()
        yield cluster
    finally:
        cluster.close()


@pytest.fixture
def losable(tmp_path):
    """A scheduler of the test's own, without workers."""
    cluster = Cluster(tmp_path)
    yield cluster
    cluster.close()


def assert_same(particles, expected):
    for name in ("A", "W", "log_joint", "error", "ids", "chain", "draw"):
        np.testing.assert_array_equal(getattr(particles, name), getattr(expected, name))


def wait_until(true, timeout=30.0):
    end = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


def test_a_cluster_gives_the_same_bits_and_takes_the_plan_once(cluster, monkeypatch):
    # Some explorers start at a factorization that is known of the data.
    noisy = low_rank(12, 15, 3, noise=0.1)
    with cluster.open(threads=2) as executor:
        sent = []
        scatter = executor._client.scatter
        monkeypatch.setattr(
            executor._client, "scatter", lambda *a, **k: sent.append(a) or scatter(*a, **k)
        )
        for number, key in enumerate(registry.ALGORITHMS, start=1):
            data, spec = suited(noisy, model_of(key)), RunSpec(key, 3, model_of(key), 25, 3)
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


def test_runs_on_a_cluster_are_cancelled_quickly_and_go_on_here(cluster, runner, store, small):
    (run_id,) = runner.start(small, [LONG], scheduler=cluster.address)
    wait_until(lambda: store.run(run_id).done > 0)
    began = time.monotonic()
    runner.cancel(run_id)
    runner.wait([run_id])
    assert time.monotonic() - began < 2
    record, part = store.run(run_id), store.particles(run_id)
    assert record.status == "cancelled" and 0 < part.M < LONG.particles
    again = engine.run(small, LONG)
    assert_same(part, again.subset(part.ids))
    runner.resume(run_id)  # without the cluster
    runner.wait([run_id])
    assert_same(store.particles(run_id), again)


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


def test_a_lost_scheduler_interrupts_the_run_and_it_goes_on_here(losable, runner, store, small):
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
    assert_same(store.particles(run_id), engine.run(small, LONG))


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
    with open_executor("", workers=3) as threads:
        assert threads.submit(lambda: threading.current_thread().name).result().startswith("step")
    monkeypatch.delenv("BNMF_SCHEDULER")
    assert default_scheduler() == ""


def test_a_parcel_holds_aligned_arrays_and_no_copy_of_x(small):
    plan = make_plan(small, CHAINS)
    # What products with X may leave behind is not to be sent.
    assert plan.problem.times_columns(np.ones((1, 3, 12))).shape == (1, 3, 15)
    buffers = []
    message = pickle.dumps(plan.problem.dataset.X, protocol=5)
    assert len(message) > small.X.nbytes
    import cloudpickle  # noqa: PLC0415

    message = cloudpickle.dumps(Parcel(plan), protocol=5, buffer_callback=buffers.append)
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


def test_a_parcel_brings_the_mask_and_no_work_made_of_it(small):
    data = hide_entries(small, 0.3, np.random.default_rng(0))
    plan = make_plan(data, CHAINS)
    assert plan.problem.seen.sum() == data.observed and plan.problem.completed.shape == (12, 15)
    import cloudpickle  # noqa: PLC0415

    arrived = pickle.loads(cloudpickle.dumps(Parcel(plan))).shared.problem
    np.testing.assert_array_equal(arrived.dataset.mask, data.mask)
    np.testing.assert_array_equal(arrived.dataset.hidden, data.hidden)
    assert not {"seen", "completed"} & set(vars(arrived))
    np.testing.assert_array_equal(arrived.seen, plan.problem.seen)
