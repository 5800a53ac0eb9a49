"""A run that cannot fit is refused, and data on disk stay there."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError, RunError
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.load import map_npy
from bnmf_core.data.repair import hide_entries
from bnmf_core.numerics.residuals import relative_errors, squared_errors
from bnmf_core.runs import engine, memory
from bnmf_core.runs.estimate import estimate
from bnmf_core.store.run_store import RunStore

SPEC = RunSpec("random_restarts", 3, particles=50)


@pytest.fixture
def mapped(tmp_path) -> Dataset:
    """300×200, observations in the rows of a file that is mapped, not read."""
    rng = np.random.default_rng(0)
    np.save(tmp_path / "big.npy", rng.random((200, 300)) + 0.1)
    return map_npy(tmp_path / "big.npy")


# What fits


def test_a_run_that_does_not_fit_is_refused_before_it_starts(runner, store, small, monkeypatch):
    needed = memory.memory_needed(small, SPEC).added
    monkeypatch.setattr(memory, "available_memory", lambda: needed - 1)
    for start in (lambda: runner.start(small, [SPEC]), lambda: engine.run(small, SPEC)):
        with pytest.raises(RunError) as refused:
            start()
        words = str(refused.value)
        assert f"{needed / 1e6:.1f} MB of memory" in words and "are available" in words
        assert "lower the number of factorizations (50) or the rank (3)" in words
    assert store.runs() == []
    for enough in (needed, None):
        monkeypatch.setattr(memory, "available_memory", lambda enough=enough: enough)
        assert engine.run(small, SPEC).M == 50


def test_a_queued_run_that_no_longer_fits_fails_with_the_sentence(
    runner, store, small, monkeypatch
):
    answers = iter([10**12, 0])
    monkeypatch.setattr(memory, "available_memory", lambda: next(answers))
    (run_id,) = runner.start(small, [SPEC])
    runner.wait([run_id])
    assert store.run(run_id).status == "failed"
    assert "0.0 MB are available" in store.run(run_id).message
    monkeypatch.undo()
    runner.resume(run_id)
    runner.wait([run_id])
    assert store.run(run_id).status == "complete"


def test_what_is_needed_counts_the_particles_twice_and_the_data_where_they_are(
    small, mapped, monkeypatch
):
    monkeypatch.setattr(memory, "COPIES", 0)  # the next test has those
    kept = 8 * 50 * 3 * (small.D + small.N)
    needed = memory.memory_needed(small, SPEC)
    assert needed == (kept, small.X.nbytes, 2 * kept + small.X.nbytes)
    on_disk = memory.memory_needed(mapped, SPEC)
    assert on_disk.held == 0 and on_disk.added == 2 * on_disk.particles + mapped.X.nbytes
    assert estimate(mapped, SPEC).memory == on_disk.added
    held_out = memory.memory_needed(mapped, RunSpec("gibbs", 3, particles=50, holdout=0.25))
    assert held_out.added == 2 * held_out.particles + 1.75 * mapped.X.nbytes
    X = sparse.random_array((20_000, 9_000), density=1e-4, rng=np.random.default_rng(0))
    data = Dataset.from_array(sparse.csc_array(X))
    needed = memory.memory_needed(data, SPEC)
    assert needed.held == 8 * data.stored_entries
    assert needed.added == 2 * needed.particles + 8 * data.stored_entries


@pytest.mark.parametrize(
    ("algorithm", "settings", "at_once"),
    [
        ("random_restarts", {}, 40),
        ("random_restarts", {"block": 7}, 14),
        ("random_restarts", {"block": 60}, 50),  # there are no more
        ("gibbs", {"chains": 8}, 8),
        ("rrt", {}, 2),
    ],
)
def test_what_is_needed_counts_what_is_worked_on(small, monkeypatch, algorithm, settings, at_once):
    monkeypatch.setattr(memory, "worker_count", lambda: 2)
    spec = RunSpec(algorithm, 3, particles=50, settings=settings)
    needed = memory.memory_needed(small, spec).added
    monkeypatch.setattr(memory, "COPIES", memory.COPIES + 1)
    each = 8 * 3 * (small.D + small.N)
    assert memory.memory_needed(small, spec).added - needed == at_once * each


def test_what_is_needed_counts_the_mask_and_the_completion(small):
    entries = small.D * small.N
    data = hide_entries(small, 0.3, np.random.default_rng(0))
    whole, needed = memory.memory_needed(small, SPEC), memory.memory_needed(data, SPEC)
    assert needed.held == whole.held + entries + 8 * data.missing
    assert needed.added == whole.added + 3 * 8 * entries


def test_workers_hold_the_data_and_the_work_and_this_machine_what_is_kept(small, monkeypatch):
    needed = memory.memory_needed(small, SPEC)
    here = 2 * needed.particles
    assert memory.needed_here(small, SPEC) == here < needed.added
    sent, mapping = memory.Room(None, 2, maps=False), memory.Room(None, 2, maps=True)
    by_mapping = memory.needed_by(mapping, small, SPEC)
    assert memory.needed_by(sent, small, SPEC) - by_mapping == needed.held
    blocks = replace(SPEC, settings={"block": 5})
    by_four, by_two = (
        memory.needed_by(mapping._replace(threads=threads), small, blocks) for threads in (4, 2)
    )
    assert by_four - by_two == memory.COPIES * 8 * 10 * 3 * (small.D + small.N)
    monkeypatch.setattr(memory, "available_memory", lambda: here)
    tight = mapping._replace(memory=by_mapping - 1)
    memory.check_memory(small, SPEC, [tight, mapping])
    memory.check_memory(small, SPEC, [tight, mapping._replace(memory=by_mapping)])
    with pytest.raises(RunError, match="on a worker of the cluster and the largest may take"):
        memory.check_memory(small, SPEC, [tight, tight._replace(memory=1)])
    monkeypatch.setattr(memory, "available_memory", lambda: here - 1)
    with pytest.raises(RunError, match="are available"):
        memory.check_memory(small, SPEC, [mapping])


@pytest.mark.parametrize("version", [1, 2])
def test_the_tighter_of_system_and_container_counts(tmp_path, monkeypatch, version):
    (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:    5000 kB\n")
    root = tmp_path / "groups" / ("memory" if version == 1 else "")
    group = root / "outer" / "inner"
    group.mkdir(parents=True)
    kinds = "cpu,memory" if version == 1 else ""
    (tmp_path / "own").write_text(f"4:{kinds}:/outer/inner\n7:pids:/elsewhere\n")
    names = dict(zip(("limit", "used", "given_back"), memory.GROUP_FILES[2 - version], strict=True))
    for name, path in (
        ("MEMORY_INFO", "meminfo"),
        ("CONTROL_GROUPS", "groups"),
        ("OWN_GROUPS", "own"),
    ):
        monkeypatch.setattr(memory, name, tmp_path / path)

    def set_limit(folder, limit):
        (folder / names["limit"]).write_text(f"{limit}\n")
        (folder / names["used"]).write_text("600000\n")
        (folder / "memory.stat").write_text(f"cache 7\n{names['given_back']} 100000\n")

    assert memory.available_memory() == 5000 * 1024
    set_limit(group, "max")
    assert memory.available_memory() == 5000 * 1024
    set_limit(root / "outer", 1_000_000)  # an outer limit holds for those inside
    assert memory.available_memory() == 500_000
    set_limit(group, 400_000)
    assert memory.available_memory() == 0
    (tmp_path / "own").unlink()
    (tmp_path / "meminfo").unlink()
    assert memory.available_memory() > 10**8  # all that the machine has


# Data larger than memory


def test_a_mapped_matrix_is_the_same_data(mapped, tmp_path):
    assert isinstance(mapped.X, np.memmap) and mapped.X.shape == (300, 200)
    in_memory = Dataset.from_array(np.asarray(mapped.X), name="big")
    assert mapped.squared_norm == pytest.approx(in_memory.squared_norm, rel=1e-13)
    store = RunStore(tmp_path / "store")
    back = RunStore(store.root).dataset(store.add_dataset(mapped))
    assert isinstance(back.X, np.memmap) and back.hash == mapped.hash
    np.testing.assert_array_equal(back.X, in_memory.X)
    few = replace(SPEC, particles=4, settings={"max_iterations": 50})
    ours, theirs = engine.run(back, few), engine.run(in_memory, few)
    np.testing.assert_allclose(ours.error, theirs.error, rtol=1e-6)


def test_a_mapped_matrix_is_checked_like_any_other(tmp_path):
    path = tmp_path / "matrix.npy"
    X = np.ones((40, 50))
    X[3, 4] = -2.5
    np.save(path, X)
    with pytest.raises(DataError, match=r"-2\.5 at feature 4 .* observation 5 .* is negative"):
        map_npy(path, observations="columns")
    with pytest.raises(DataError, match=r"-2\.5 at feature 5 .* observation 4 .* is negative"):
        map_npy(path)
    X[3, 4] = np.nan
    np.save(path, X)
    assert map_npy(path).missing == 1
    np.save(path, X.astype(np.float32))
    with pytest.raises(DataError, match="has to be an NPY array of float64"):
        map_npy(path)
    path.write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"'matrix\.npy' could not be opened"):
        map_npy(path)
    with pytest.raises(DataError, match="choose one of rows, columns"):
        map_npy(path, observations="both")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("masked", [False, True])
def test_errors_in_blocks_are_those_of_the_whole(monkeypatch, order, masked):
    monkeypatch.setattr("bnmf_core.numerics.linalg.BLOCK_ENTRIES", 100)
    rng = np.random.default_rng(4)
    X = np.asarray(rng.random((37, 29)), order=order)
    A, W = rng.random((2, 37, 3)), rng.random((2, 3, 29))
    mask = rng.random(X.shape) < 0.8 if masked else None
    seen = np.ones_like(X) if mask is None else mask
    expected = (((X - A @ W) * seen) ** 2).sum(axis=(1, 2))
    np.testing.assert_allclose(squared_errors(X, A, W, mask), expected, rtol=1e-12)
    relative = np.sqrt(expected / ((X * seen) ** 2).sum())
    np.testing.assert_allclose(relative_errors(X, A, W, mask), relative, rtol=1e-12)


LARGE = """
import sys, threading
import numpy as np
from bnmf_core.data.load import map_npy
from bnmf_core.registry import ALGORITHMS
from bnmf_core.runs.runner import JobRunner
from bnmf_core.store.run_store import RunStore
from bnmf_core.core.spec import RunSpec

highest, done = 0, threading.Event()


def anonymous():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024


def watch():
    global highest
    while not done.wait(0.01):
        highest = max(highest, anonymous())


runner = JobRunner(RunStore(sys.argv[2]))


def make(data, rank):  # few iterations of few particles
    specs = []
    for key, settings in (("gibbs", {"warm_up": 0, "thinning": 1}),
                          ("random_restarts", {"max_iterations": 10})):
        specs.append(RunSpec(key, rank, particles=2, settings=settings,
                             model_settings={"sigma": 0.1}))
    run_ids = runner.start(data, specs)
    runner.wait(run_ids, timeout=200)
    for run_id in run_ids:
        record = runner.store.run(run_id)
        assert (record.status, record.done) == ("complete", 2), record.message
    return run_ids


# Whatever is loaded or compiled at first use, by the comparison of the runs as well; of a size that
# is compressed, which has loops of its own.
np.save(sys.argv[2] + "/tiny.npy", np.random.default_rng(0).random((300, 100)))
runner.wait_analysis(make(map_npy(sys.argv[2] + "/tiny.npy"), 3))
threading.Thread(target=watch, daemon=True).start()
before = anonymous()
make(map_npy(sys.argv[1]), 3)
done.set()
runner.close()
print(highest - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/self/status")
def test_a_run_on_stored_data_never_holds_all_of_them(tmp_path):
    """400 MB of data take less than 100 MB of memory, from the file to the particles."""
    path = tmp_path / "large.npy"
    X = np.lib.format.open_memmap(path, "w+", np.float64, (25_000, 2_000))
    rng = np.random.default_rng(0)
    parts = rng.random((3, 2_000))
    for first in range(0, 25_000, 1_000):
        X[first : first + 1_000] = rng.random((1_000, 3)) @ parts
    del X
    (tmp_path / "store").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", LARGE, path, tmp_path / "store"],
        capture_output=True,
        text=True,
        check=False,
    )
    path.unlink()
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 100


def test_factorizations_of_large_data_go_in_small_blocks(small, monkeypatch):
    """A solver holds several copies of each; how many go together changes none of them."""
    spec = RunSpec("random_restarts", 2, particles=7)
    together = engine.run(small, spec)
    assert together.info["settings"]["block"] == 20
    each = 8 * 2 * (small.D + small.N)
    for room, block in ((3.5 * each, 3), (each / 2, 1)):
        monkeypatch.setattr(memory, "BLOCK_BYTES", int(room))
        found = engine.run(small, spec)
        assert found.info["settings"]["block"] == block
        np.testing.assert_allclose(found.A, together.A, rtol=1e-6, atol=1e-9)
    assert engine.run(small, replace(spec, algorithm="gibbs")).M == 7  # has no blocks
