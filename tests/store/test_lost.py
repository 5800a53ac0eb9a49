"""Runs whose index is lost come back from their folders."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from bnmf_core.analysis.unused import find_unused
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.synthetic import laurberg
from bnmf_core.store import files, folders, records
from bnmf_core.store.lost import bring_back, lost_runs
from bnmf_core.store.run_store import RunStore
from tests.store.saved import save_run, write

GIBBS = RunSpec("gibbs", 2, particles=4, settings={"chains": 2, "warm_up": 1, "thinning": 1})


@pytest.fixture
def filled(store, small):
    """Three runs of two datasets: complete, with a name; complete; begun and not ended."""
    run_ids = [save_run(store, small), save_run(store, laurberg("two"), GIBBS)]
    run_ids.append(save_run(store, small, final=False))
    store.rename(run_ids[0], "the first")
    store.rename_launch(run_ids[1], "chains")
    return run_ids


def without_index(store) -> RunStore:
    for path in store.root.glob("index.*"):
        path.unlink()
    return RunStore(store.root)


def test_everything_comes_back(store, filled):
    before = {run.id: run for run in store.runs()}
    again = without_index(store)
    assert again.runs() == [] and lost_runs(again) == sorted(filled)
    brought = bring_back(again)
    assert set(brought.runs) == set(filled) and brought.datasets == 2 and brought.failures == ()
    for run in again.runs():
        was = before[run.id]
        told = ("name", "dataset", "launch", "launch_name", "spec", "created", "owner")
        assert [getattr(run, name) for name in told] == [getattr(was, name) for name in told]
        assert again.particles(run.id).M == run.done == was.spec.particles
    assert {run.id: run.status for run in again.runs()} == dict(
        zip(filled, ("complete", "complete", "interrupted"), strict=True)
    )
    assert bring_back(again) == type(brought)((), 0, ())


@pytest.mark.parametrize("damage", ["no database", "torn page"])
def test_a_damaged_index_is_set_aside_and_nothing_is_lost(store, filled, damage):
    store.database._keeper.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.database._keeper.close()
    path = store.database.path
    content = bytearray(path.read_bytes())
    if damage == "no database":
        content[:16] = b"no database here"
    else:
        content[4096:8192] = bytes(4096)
    path.write_bytes(content)
    again = RunStore(store.root)
    assert again.runs() == []
    assert [kept.read_bytes() for kept in store.root.glob("index.sqlite.damaged-*")] == [content]
    assert set(bring_back(again).runs) == set(filled)


def test_lost_runs_are_not_taken_for_waste(store, filled):
    again = without_index(store)
    assert [one for one in find_unused(again) if one.kind == "leftover"] == []
    # What a deletion could not remove is.
    bring_back(again)
    folder = again.run_folder(filled[0])
    kept = folder.with_name("kept")
    shutil.copytree(folder, kept)
    again.delete_run(filled[0])
    folder.mkdir()
    shutil.copytree(kept / "particles", folder / "particles")
    shutil.rmtree(kept)
    assert lost_runs(again) == []
    assert [one.key for one in find_unused(again) if one.kind == "leftover"] == [filled[0]]


def test_what_cannot_come_back_is_said_and_the_others_come(store, filled):
    first, second, third = filled
    fourth = save_run(store, laurberg("unique"))
    copy = store.run_folder(first) / records.COPY
    copy.write_text(copy.read_text().replace('"rank": 2', '"rank": 3'))
    (store.run_folder(fourth) / records.COPY).unlink()
    shutil.rmtree(store.root / "datasets" / store.run(second).dataset)
    again = without_index(store)
    brought = bring_back(again)
    assert brought.runs == (third,)
    assert sorted(brought.failures) == sorted(
        [
            f"Run {first} cannot be brought back: its run.json is damaged.",
            f"Run {second} cannot be brought back: its data are not there.",
            f"Run {fourth} cannot be brought back: its run.json is missing.",
        ]
    )
    assert lost_runs(again) == sorted([first, second, fourth])


def test_nobody_is_brought_the_runs_of_others(store, small):
    theirs = save_run(RunStore(store.root, "somebody"), small)
    ours = save_run(store, small)
    again = without_index(store)
    assert bring_back(again).runs == (ours,)
    assert bring_back(RunStore(store.root, "somebody")).runs == (theirs,)


@pytest.mark.parametrize(
    "values",
    [{"spec": "{}"}, {"spec": "["}, {"done": "many"}, {"status": "odd"}, {"seconds": None}],
)
def test_one_damaged_entry_hides_no_other_run(store, filled, values):
    name, value = values.popitem()
    with store.database.connect() as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        if value is None:  # the column takes none, but a word
            value = "none"
        connection.execute(f"UPDATE runs SET {name} = ? WHERE id = ?", (value, filled[0]))
    assert {run.id for run in store.runs()} == set(filled[1:])
    assert list(store.unreadable()) == [filled[0]]
    store.delete_run(filled[0])
    assert store.unreadable() == {} and not store.run_folder(filled[0]).exists()


@pytest.mark.parametrize("axes", [(0, 1, 2), (0, 2, 1), (2, 1, 0)])
def test_checksums_do_not_hang_on_how_factorizations_lie_in_memory(store, small, axes):
    run_id = save_run(store, small)
    particles, folder = store.particles(run_id), store.run_folder(run_id)
    lying = np.array(particles.A.transpose(axes), order="C").transpose(np.argsort(axes))
    folders.write_particles(folder, replace(particles, A=lying), final=True)
    np.testing.assert_array_equal(RunStore(store.root).particles(run_id).A, particles.A)


def test_a_copy_keeps_what_a_run_is_and_not_how_far_it_was(store, small):
    run_id = save_run(store, small)
    write(store, run_id, done=6)
    copied = records.read_copy(store.run_folder(run_id))
    assert (copied.spec, copied.done) == (store.run(run_id).spec, 0)
    assert "sums" in files.read_json(store.run_folder(run_id) / folders.COMPLETE)
