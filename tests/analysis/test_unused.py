"""What nothing uses any more is found and can be removed; what is in use stays."""

import dataclasses
import shutil
from contextlib import closing

import numpy as np
import pytest

from bnmf_core.analysis import stages
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.analysis.stages import STAGES
from bnmf_core.analysis.unused import find_unused, remove_unused
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.spec import RunSpec
from bnmf_core.runs.runner import JobRunner
from bnmf_core.store.run_store import RunStore

pytestmark = pytest.mark.slow

SPEC = RunSpec("random_restarts", 2, particles=4, settings={"max_iterations": 10})


@pytest.fixture(scope="module")
def made_once(tmp_path_factory, small):
    """A store with two runs and three comparisons of them: of each, and of both."""
    store = RunStore(tmp_path_factory.mktemp("made"))
    with closing(JobRunner(store)) as runner:
        run_ids = runner.start(small, [SPEC, dataclasses.replace(SPEC, seed=1)])
        compared = [run_ids[:1], run_ids[1:], run_ids]
        for ids in compared:
            runner.wait_analysis(ids)
    return store.root, compared


@pytest.fixture
def store(tmp_path, request):
    """A store of the test's own; with what is made, where the test asks for it."""
    if "compared" in request.fixturenames:
        shutil.copytree(request.getfixturevalue("made_once")[0], tmp_path / "store")
    return RunStore(tmp_path / "store")


@pytest.fixture
def compared(store, made_once):
    """The ids of two runs, and three comparisons."""
    return made_once[1][2], [open_comparison(store, ids) for ids in made_once[1]]


def test_what_is_on_screen_is_in_use(store, compared):
    assert find_unused(store) == []


def test_comparisons_go_with_their_runs(store, compared):
    run_ids, (first, second, both) = compared
    store.delete_run(run_ids[0])
    found = find_unused(store)
    assert {one.key for one in found} == {first.key, both.key}
    sizes = {one.key: one.bytes for one in found}
    files = [file for file in both.folder.rglob("*") if file.is_file()]
    assert sizes[both.key] == sum(file.stat().st_size for file in files) > 0
    assert remove_unused(store, found) == sum(sizes.values())
    assert not first.folder.exists() and not both.folder.exists()
    assert stages.complete(second) and find_unused(store) == []


def test_the_comparison_of_a_run_that_went_on_is_of_no_use(store, runner, small):
    spec = dataclasses.replace(SPEC, particles=40, settings={"max_iterations": 10, "block": 2})
    (run_id,) = runner.start(small, [spec])
    runner.cancel(run_id)
    runner.wait([run_id])
    if not store.run(run_id).done:  # cancelled before anything was made
        return
    early = runner.wait_analysis([run_id])
    runner.resume(run_id)
    late = runner.wait_analysis([run_id])
    assert [one.key for one in find_unused(store)] == [early.key] != [late.key]


def test_parts_of_another_version_are_of_no_use(store, compared):
    _, (first, *_) = compared
    stray = first.folder / "structure-00000000"
    stray.mkdir()
    (stray / "linkage-wad.npy").write_bytes(bytes(100))
    (one,) = find_unused(store)
    assert (one.key, one.bytes, one.folders) == (first.key, 100, (stray,))
    remove_unused(store, [one])
    merges = first.grouped.size - 1
    assert stages.complete(first)
    assert STAGES["structure"].of(first).linkage("wad").shape == (merges, 4)


def test_data_without_runs_can_be_removed_and_data_with_runs_cannot(store, compared, small):
    lonely = Dataset.from_array(np.ones((3, 4)), name="lonely")
    store.add_dataset(lonely)
    (one,) = find_unused(store)
    assert one.key == lonely.hash and "lonely (3 × 4)" in one.label and one.bytes > 0
    store.life.enter(lonely.hash, SPEC)  # somebody starts a run of it at this moment
    assert remove_unused(store, [one]) == 0
    assert store.dataset(lonely.hash).D == 3
    assert not store.remove_dataset(small.hash)


def test_data_that_another_owner_has_keep_their_files(store, small):
    other = RunStore(store.root, owner="other")
    for one in (store, other):
        one.add_dataset(small)
    (found,) = find_unused(store)
    assert found.folders == ()
    remove_unused(store, [found])
    assert store.datasets() == {}
    np.testing.assert_array_equal(other.dataset(small.hash).X, small.X)


def test_files_of_a_deleted_run_are_leftovers(store, compared):
    folder = store.run_folder("gone")
    folder.mkdir()
    (folder / "chunk.npz").write_bytes(bytes(10))
    (one,) = find_unused(store)
    assert (one.kind, one.bytes) == ("leftover", 10)
    remove_unused(store, [one])
    assert not folder.exists()


def test_studies_of_ranks_go_with_their_data(store, small):
    dataset_id = store.add_dataset(small)
    folder = store.root / "ranks" / dataset_id / "0123456789ab"
    folder.mkdir(parents=True)
    (folder / "study.json").write_bytes(bytes(100))
    (one,) = [unused for unused in find_unused(store) if unused.key == dataset_id]
    assert remove_unused(store, [one]) > 100
    assert not folder.exists()
