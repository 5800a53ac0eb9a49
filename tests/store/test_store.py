"""Stored runs come back as they were, for their owner only, also from damaged files."""

import os
import shutil
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from bnmf_core.core.errors import DamagedError, NotFoundError, StoreError
from bnmf_core.core.spec import RunSpec
from bnmf_core.runs import engine, planning
from bnmf_core.runs.planning import describe
from bnmf_core.runs.runner import JobRunner
from bnmf_core.store import files, folders
from bnmf_core.store.home import data_home
from bnmf_core.store.life import Claim
from bnmf_core.store.records import LEASE, this_process
from bnmf_core.store.run_store import RunStore
from tests.store.saved import SPEC, hurt, save_run, write


def test_a_finished_run_is_memory_mapped_and_read_only(store, small, monkeypatch):
    monkeypatch.setattr(files, "SMALLEST_MAPPED", 0)
    run_id = save_run(store, small)
    particles = RunStore(store.root).particles(run_id)
    expected = engine.run(small, SPEC)
    for name in ("A", "W", "log_joint", "error", "ids", "chain", "draw", "weights"):
        values = getattr(particles, name)
        assert isinstance(values, np.memmap)
        np.testing.assert_array_equal(values, getattr(expected, name))
        with pytest.raises(ValueError, match="read-only"):
            values[...] = 0
    for key, values in expected.diagnostics.items():
        np.testing.assert_array_equal(particles.diagnostics[key], values)
    assert particles.spec == SPEC
    assert not list(store.run_folder(run_id).glob("chunk-*"))


def test_small_runs_hold_no_file_open_and_cannot_be_changed(store, small):
    run_ids = [save_run(store, small) for _ in range(12)]
    before = len(os.listdir("/proc/self/fd"))
    opened = [store.particles(run_id) for run_id in run_ids]
    assert len(os.listdir("/proc/self/fd")) <= before
    with pytest.raises(ValueError, match="read-only"):
        opened[0].A[...] = 0


def test_an_unfinished_run_shows_what_it_has(store, small):
    run_id = save_run(store, small, final=False)
    folder = store.run_folder(run_id)
    (folder / "chunk-00002-00000000.npz").unlink()
    expected = engine.run(small, SPEC)
    particles = store.particles(run_id)
    np.testing.assert_array_equal(particles.A, expected.A[:4])
    np.testing.assert_array_equal(particles.ids, np.arange(4))
    np.testing.assert_allclose(particles.weights, 1 / 4)
    assert particles.info["stop_reason"] == "queued"


def test_what_was_being_written_when_the_power_went_is_ignored(store, small):
    run_id = save_run(store, small, final=False)
    folder = store.run_folder(run_id)
    before = store.particles(run_id)
    (folder / "chunk-00001-00000002.npz.123.part").write_bytes(b"half a chunk")
    (folder / "particles.json.123.part").write_bytes(b"{")
    np.testing.assert_array_equal(store.particles(run_id).A, before.A)


@pytest.mark.parametrize("damage", ["torn", "flipped", "deleted"])
def test_a_damaged_chunk_is_left_out_and_told(store, small, damage):
    run_id = save_run(store, small, final=False)
    expected = store.particles(run_id)
    write(store, run_id, done=6)
    hurt(store.run_folder(run_id) / "chunk-00001-00000000.npz", damage)
    found = store.particles(run_id)
    np.testing.assert_array_equal(found.ids, [0, 1, 4, 5])
    np.testing.assert_array_equal(found.A, expected.A[[0, 1, 4, 5]])
    assert found.info["damage"].startswith("2 of 6 factorizations are damaged or missing")
    assert "damage" not in expected.info


@pytest.mark.parametrize("damage", ["torn", "flipped", "deleted"])
@pytest.mark.parametrize("hit", ["chunk-00001-00000000", "checkpoint-00001"])
def test_what_is_damaged_is_made_again_as_it_was(store, small, damage, hit):
    run_id = save_run(store, small, final=False)
    expected = store.particles(run_id)
    folder = store.run_folder(run_id)
    hurt(folder / f"{hit}.npz", damage)
    plan, sink = planning.make_plan(small, SPEC), folders.FolderSink(folder)
    with ThreadPoolExecutor(1) as executor:
        assert engine.drive(plan, sink, executor).stop_reason == "complete"
    chunks, broken = sink.read()
    assert not broken
    starts = [shard.start for shard in plan.shards]
    found = engine.assemble(chunks, starts, SPEC, describe(plan))
    np.testing.assert_array_equal(found.A, expected.A)
    np.testing.assert_array_equal(found.W, expected.W)


def test_draws_behind_a_gap_are_left_out(store, small, monkeypatch):
    """Draws of a chain stand one behind the other: those behind a gap would be miscounted."""
    monkeypatch.setattr("bnmf_core.core.algorithm.STEP_WORK", 1.0)  # one sweep a step
    spec = RunSpec("gibbs", 2, particles=6, settings={"chains": 1, "warm_up": 2, "thinning": 1})
    run_id = save_run(store, small, spec, final=False)
    expected = store.particles(run_id)
    paths = sorted(store.run_folder(run_id).glob("chunk-*.npz"))
    assert len(paths) == 8  # two of them of the warm-up
    paths[5].unlink()
    found = store.particles(run_id)
    np.testing.assert_array_equal(found.A, expected.A[:3])
    np.testing.assert_array_equal(found.draw, [0, 1, 2])
    assert found.info["damage"].startswith("some of 3 factorizations are damaged or missing")


@pytest.mark.parametrize("name", ["A", "W"])
def test_one_flipped_bit_leaves_out_its_factorization_and_says_so(store, small, name):
    run_id = save_run(store, small)
    expected = store.particles(run_id)
    path = store.run_folder(run_id) / "particles" / f"{name}.npy"
    content = bytearray(path.read_bytes())
    content[-expected.A[0].nbytes // 2] ^= 1  # of the last one
    path.write_bytes(content)
    found = RunStore(store.root).particles(run_id)
    np.testing.assert_array_equal(found.ids, [0, 1, 2, 3, 4])
    np.testing.assert_array_equal(found.A, expected.A[:5])
    assert found.weights.sum() == pytest.approx(1)
    assert found.info["damage"] == (
        "1 of 6 factorizations is damaged on the disk and left out (number 5)"
    )


@pytest.mark.parametrize("name", ["error", "weights", "diagnostic_iterations"])
def test_one_flipped_bit_in_what_concerns_all_is_a_sentence(store, small, name):
    run_id = save_run(store, small)
    path = store.run_folder(run_id) / "particles" / f"{name}.npy"
    content = bytearray(path.read_bytes())
    content[-3] ^= 4
    path.write_bytes(content)
    with pytest.raises(StoreError, match=rf"stored {name}\.npy of this run is damaged"):
        RunStore(store.root).particles(run_id)


@pytest.mark.parametrize(
    ("before", "after"), [('"seed": 0', '"seed": 1'), ('"spec"', '"spek"'), ("{", "[")]
)
def test_a_changed_entry_of_a_finished_run_is_a_sentence(store, small, before, after):
    run_id = save_run(store, small)
    path = store.run_folder(run_id) / folders.COMPLETE
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))
    with pytest.raises(StoreError, match="damaged|cannot be read"):
        RunStore(store.root).particles(run_id)


@pytest.mark.parametrize("name", ["A", "log_joint"])
def test_one_byte_of_a_header_that_turns_all_numbers_is_a_sentence(store, small, name):
    """The bytes of the entries, and so their checksums, are what they were."""
    run_id = save_run(store, small)
    dataset_id = store.run(run_id).dataset
    for path in (
        store.run_folder(run_id) / "particles" / f"{name}.npy",
        store.root / "datasets" / dataset_id / "X.npy",
    ):
        content = path.read_bytes()
        assert content.count(b"'<f") == 1
        path.write_bytes(content.replace(b"'<f", b"'>f"))
    with pytest.raises(DamagedError, match=f"{name}.npy of this run is damaged"):
        RunStore(store.root).particles(run_id)
    with pytest.raises(DamagedError, match="'small' are damaged on the disk"):
        RunStore(store.root).dataset(dataset_id)


@pytest.mark.parametrize("name", ["A", "weights", "diagnostic_iterations"])
def test_a_torn_array_of_a_finished_run_is_a_sentence(store, small, name):
    run_id = save_run(store, small)
    path = store.run_folder(run_id) / "particles" / f"{name}.npy"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(StoreError, match=rf"{name}\.npy cannot be read"):
        store.particles(run_id)
    path.unlink()
    with pytest.raises(StoreError, match=rf"{name}\.npy cannot be read"):
        store.particles(run_id)


def test_a_run_without_factorizations_says_so(store, small):
    run_id = store.life.enter(store.add_dataset(small), SPEC).run_id
    with pytest.raises(StoreError, match="has not saved a factorization yet"):
        store.particles(run_id)


def test_a_checkpoint_never_speaks_of_a_chunk_that_is_not_there(store, small, monkeypatch):
    """The disk is full, or the power goes, between any two files."""
    run_id = store.life.enter(store.add_dataset(small), SPEC).run_id
    sink = folders.FolderSink(store.run_folder(run_id))
    plan = planning.make_plan(small, SPEC)
    shard, written = plan.shards[0], []
    checkpoint, chunk = None, None
    while chunk is None:
        checkpoint, chunk = engine.advance(plan, shard, checkpoint)

    def first_only(path, arrays):
        if written:
            raise OSError("no room")
        written.append(path.name)
        write_arrays(path, arrays)

    write_arrays = files.write_arrays
    monkeypatch.setattr(files, "write_arrays", first_only)
    with pytest.raises(OSError, match="no room"):
        sink.save(shard, checkpoint, chunk)
    assert sink.checkpoint(shard, plan.algorithm.State) is None
    assert written == ["chunk-00000-00000000.npz"]


def test_finishing_never_leaves_a_checkpoint_without_its_chunks(store, small, monkeypatch):
    run_id = save_run(store, small, final=False)
    folder = store.run_folder(run_id)
    particles = store.particles(run_id)
    unlink = type(folder).unlink

    def checked(path, *arguments, **keywords):
        unlink(path, *arguments, **keywords)
        checkpoints = {p.name.split("-")[1].split(".")[0] for p in folder.glob("checkpoint-*")}
        assert checkpoints <= {p.name.split("-")[1] for p in folder.glob("chunk-*")}

    monkeypatch.setattr(type(folder), "unlink", checked)
    folders.write_particles(folder, particles, final=True)
    assert not list(folder.glob("*.npz"))


def test_a_record_keeps_its_spec_and_its_changes(store, small):
    spec = RunSpec("gibbs", 3, particles=9, seed=2**40, settings={"start": "prior"}, holdout=0.25)
    claim = store.life.enter(store.add_dataset(small), spec, name="größer", launch="together")
    assert store.life.begin(claim)
    assert store.life.report(claim, done=4, fraction=0.5, remaining=1.5)
    record = store.run(claim.run_id)
    assert (record.spec, record.name, record.launch) == (spec, "größer", "together")
    assert (record.status, record.done, record.remaining) == ("running", 4, 1.5)
    assert record.active and record.token.startswith(this_process())
    with pytest.raises(StoreError, match="no entry colour"):
        store.life.report(claim, colour="blue")


def test_runs_come_newest_first(store, small):
    dataset_id = store.add_dataset(small)
    ids = [store.life.enter(dataset_id, SPEC).run_id for _ in range(4)]
    assert [run.id for run in store.runs()] == ids[::-1]


@pytest.mark.parametrize("status", ["queued", "running"])
def test_an_active_run_cannot_be_deleted(store, small, status):
    run_id = save_run(store, small)
    claim = Claim(run_id, store.run(run_id).token)
    write(store, run_id, status=status)
    with pytest.raises(StoreError, match="still running; cancel it before deleting it"):
        store.delete_run(run_id)
    store.life.end(claim, "complete")
    store.delete_run(run_id)
    assert store.runs() == [] and not store.run_folder(run_id).exists()
    with pytest.raises(NotFoundError, match=f"no run '{run_id}'"):
        store.run(run_id)


def test_another_owner_sees_nothing(store, small):
    run_id = save_run(store, small)
    other = RunStore(store.root, owner="other")
    assert other.runs() == [] and other.datasets() == {}
    for look in (other.run, other.particles, other.delete_run):
        with pytest.raises(NotFoundError, match=f"no run '{run_id}'"):
            look(run_id)
    with pytest.raises(NotFoundError, match="no dataset"):
        other.dataset(small.hash)
    other.rename(run_id, "mine")
    assert store.run(run_id).name == ""
    with pytest.raises(NotFoundError, match=f"no run '{run_id}'"):
        other.life.cancel(run_id)


def test_a_run_whose_process_is_gone_is_marked(store, small):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    dataset_id, host = store.add_dataset(small), socket.gethostname()
    processes = {
        "dead": f"{host}:{gone.pid}:0",
        # A restarted container: same name and number, another life.
        "before": f"{host}:{os.getpid()}:0",
        "alive": this_process(),
        "parent": f"{host}:{os.getppid()}:0",
        "elsewhere": f"not-{host}:1:0",
        "silent": f"not-{host}:1:0",
    }
    ids = {}
    for name, process in processes.items():
        ids[name] = store.life.enter(dataset_id, SPEC, name).run_id
        write(store, ids[name], status="running", token=process)
    write(store, ids["silent"], heartbeat=time.time() - LEASE - 1)
    finished = store.life.enter(dataset_id, SPEC).run_id
    write(store, finished, status="complete", token=processes["dead"])
    interrupted = {run.id for run in store.runs() if run.status == "interrupted"}
    assert interrupted == {ids["dead"], ids["before"], ids["silent"]}
    assert store.run(ids["dead"]).status == "interrupted"
    assert "what was saved is kept" in store.run(ids["dead"]).message
    assert all(store.run(ids[name]).status == "running" for name in ("alive", "elsewhere"))
    assert store.run(finished).status == "complete"


KILLED = """
import sys
from bnmf_core.store.datasets import verify
from bnmf_core.store.home import data_home
from bnmf_core.runs.runner import JobRunner
from bnmf_core.store.run_store import RunStore
from bnmf_core.core import algorithm
from bnmf_core.solvers import solution
from bnmf_core.core.spec import RunSpec

algorithm.STEP_WORK, solution.STEP_WORK = 1.5e6, 3e6  # many small steps
store = RunStore(sys.argv[1])
specs = [
    RunSpec("gibbs", 3, particles=800, seed=7),
    RunSpec("random_restarts", 3, particles=600, seed=7, settings={"block": 4}),
]
print(*JobRunner(store).start(sys.argv[2], specs), flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
def test_a_killed_program_loses_nothing_that_it_reported(store, small):
    """SIGKILL in the middle: reported particles are there, and resuming changes no bit."""
    dataset_id = store.add_dataset(small)
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(store.root), dataset_id],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        run_ids = process.stdout.readline().split()
        end = time.monotonic() + 60
        while min(store.run(run_id).done for run_id in run_ids) < 20:
            assert time.monotonic() < end and process.poll() is None
            time.sleep(0.005)
    finally:
        process.kill()
        process.communicate()
    killed = [store.run(run_id) for run_id in run_ids]
    whole = {record.id: engine.run(small, record.spec) for record in killed}
    for record in killed:
        assert record.status == "interrupted" and 20 <= record.done < record.spec.particles
        particles = store.particles(record.id)
        assert particles.M >= record.done
        expected = whole[record.id].subset(particles.ids)
        for name in ("A", "W", "log_joint", "error", "chain", "draw"):
            np.testing.assert_array_equal(getattr(particles, name), getattr(expected, name))
    runner = JobRunner(store)
    try:
        assert [store.run(run_id).status for run_id in run_ids] == ["interrupted"] * 2
        for run_id in run_ids:
            runner.resume(run_id)
        runner.wait(run_ids)
    finally:
        runner.close()
    for run_id in run_ids:
        assert store.run(run_id).status == "complete"
        particles = store.particles(run_id)
        for name in ("A", "W", "log_joint", "error", "ids", "chain", "draw"):
            np.testing.assert_array_equal(getattr(particles, name), getattr(whole[run_id], name))
        for key, values in whole[run_id].diagnostics.items():
            np.testing.assert_array_equal(particles.diagnostics[key], values)


def test_the_home_folder_is_the_one_that_is_named(home, monkeypatch, tmp_path):
    from_environment = home / "deep" / "er"
    monkeypatch.setenv("BNMF_HOME", str(from_environment))
    assert data_home() == from_environment and from_environment.is_dir()
    monkeypatch.delenv("BNMF_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "someone"))
    assert data_home() == tmp_path / "someone" / ".local" / "share" / "bnmf"


@pytest.mark.parametrize("name", ["chunk-00001-00000000", "checkpoint-00001", "plan"])
def test_a_file_of_another_run_in_the_place_of_ones_own_is_told(store, small, name):
    """As where a disk or a copy mixes files up: each of them is whole."""
    ours, theirs = (save_run(store, small, final=False) for _ in range(2))
    (path,) = store.run_folder(ours).glob(f"{name}.*")
    before = store.particles(ours)
    shutil.copy(store.run_folder(theirs) / path.name, path)
    sink = folders.FolderSink(store.run_folder(ours))
    shard = planning.make_plan(small, SPEC).shards[1]
    State = planning.make_plan(small, SPEC).algorithm.State
    if name == "plan":
        assert sink.starts() == []
        with pytest.raises(DamagedError, match=r"plan\.json is that of another run"):
            store.particles(ours)
        return
    assert sink.checkpoint(shard, State) is None
    if name.startswith("chunk"):
        write(store, ours, done=6)
        found = store.particles(ours)
        np.testing.assert_array_equal(found.A, before.A[[0, 1, 4, 5]])
        assert found.info["damage"].startswith("2 of 6 factorizations are damaged or missing")
