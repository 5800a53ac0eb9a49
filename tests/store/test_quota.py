"""What one owner may keep is held for all that is kept; whoever comes to the end loses nothing."""

import shutil
from contextlib import closing

import numpy as np
import pytest

from bnmf_core import JobRunner, RunSpec, RunStore, laurberg
from bnmf_core.analysis import structure
from bnmf_core.analysis.ranks import RankQuestion, RankWork
from bnmf_core.core.errors import BNMFError, StoreError
from bnmf_core.data.synthetic import low_rank
from bnmf_core.findings.answer import Answer
from bnmf_core.share import archive
from bnmf_core.share.opening import open_archive
from bnmf_core.store import quota

SPECS = [RunSpec("random_restarts", rank=3, particles=12, seed=seed) for seed in (0, 1)]
SAID = (
    r"it would exceed the [0-9.,]+ [kM]B that everybody may keep. Delete runs that you do not need"
)


@pytest.fixture(scope="module")
def made_once(tmp_path_factory):
    """A store with two compared runs and an archive of them; their ids."""
    root = tmp_path_factory.mktemp("made")
    with closing(JobRunner(RunStore(root / "store"))) as runner:
        run_ids = runner.start(laurberg("two", noise=0.01), SPECS)
        found = runner.wait_analysis(run_ids, "structure")
        modes = structure.modes_at(found, "max_angle", 1.0)
        archive.write(root / "saved.zip", Answer(found, "max_angle", modes), readable=False)
    return root, run_ids


@pytest.fixture
def full(made_once, tmp_path):
    """The runs without what was computed of them, where next to nothing more may be kept."""
    root = tmp_path / "store"
    shutil.copytree(made_once[0] / "store", root)
    shutil.rmtree(root / "analyses")
    RunStore(root)  # makes what is its own
    return RunStore(root, most=quota.size_of(root) + 1000), made_once[1]


def contents(root):
    return {
        path: path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not path.name.startswith(("index.", "error."))
    }


def _data(store, run_ids, made):
    store.add_dataset(low_rank(60, 80, 3, noise=0.1))


def _run(store, run_ids, made):
    with closing(JobRunner(store)) as runner:
        runner.start(store.run(run_ids[0]).dataset, [RunSpec("gibbs", rank=3, particles=500)])


def _analysis(store, run_ids, made):
    with closing(JobRunner(store)) as runner:
        runner.wait_analysis(run_ids, "structure")


def _study(store, run_ids, made):
    data = store.dataset(store.run(run_ids[0]).dataset)
    question = RankQuestion(data.hash, (1, 2), restarts=3)
    RankWork(store.root, question, data).make(lambda part, stage: None, lambda: False)


def _archive(store, run_ids, made):
    for run_id in run_ids:
        store.delete_run(run_id)
    shutil.rmtree(store.root / "datasets")
    quota.limit(store.root, quota.size_of(store.root) + 6000)
    open_archive(store, made / "saved.zip")


@pytest.mark.parametrize("act", [_data, _run, _analysis, _study])
def test_whoever_keeps_all_that_they_may_is_told_and_loses_nothing(full, made_once, act):
    store, run_ids = full
    before = contents(store.root)
    with pytest.raises(BNMFError, match=SAID):
        act(store, run_ids, made_once[0])
    after = contents(store.root)
    assert all(after[path] == content for path, content in before.items())
    assert sum(map(len, after.values())) <= sum(map(len, before.values())) + 1000
    assert [run.status for run in store.runs()] == ["complete", "complete"]


def test_an_archive_that_is_too_much_is_refused(full, made_once):
    store, run_ids = full
    with pytest.raises(StoreError, match=SAID):
        _archive(store, run_ids, made_once[0])
    assert store.runs() == []


@pytest.mark.parametrize("act", [_analysis, _study])
def test_with_room_again_it_is_made(full, made_once, act):
    store, run_ids = full
    with pytest.raises(BNMFError, match=SAID):
        act(store, run_ids, made_once[0])
    quota.limit(store.root, 10**9)
    act(store, run_ids, made_once[0])
    assert store.runs() and quota.size_of(store.root) > 10_000


def test_a_run_that_was_begun_is_made_whatever_else_is_kept_meanwhile(full):
    store, run_ids = full
    quota.limit(store.root, quota.size_of(store.root) + 100_000)
    with closing(JobRunner(store)) as runner:
        (run_id,) = runner.start(store.run(run_ids[0]).dataset, [SPECS[0]])
        quota.limit(store.root, quota.size_of(store.root))
        runner.wait([run_id])
        assert store.run(run_id).status == "complete" and store.particles(run_id).M == 12


def test_what_is_removed_makes_room_at_once(tmp_path):
    root = tmp_path / "store"
    (root / "notes").mkdir(parents=True)
    quota.limit(root, 10_000)
    (root / "notes" / "one").write_bytes(bytes(9_000))
    quota.check_file(root / "notes" / "two", 500)
    with pytest.raises(StoreError, match=SAID):
        quota.check_file(root / "notes" / "two", 2_000)
    (root / "notes" / "one").unlink()
    quota.check_file(root / "notes" / "two", 2_000)
    quota.check_file(tmp_path / "elsewhere", 10**9)
    quota.check_file(root / "index.reserve", 10**9)


def test_many_small_files_come_to_the_end_too(tmp_path, monkeypatch):
    """The size of the folder is not looked at for each of them."""
    store, sizes = RunStore(tmp_path / "store"), []
    root = store.root
    quota.limit(root, quota.size_of(root) + 100_000)
    size_of = quota.size_of
    monkeypatch.setattr(quota, "size_of", lambda folder: sizes.append(folder) or size_of(folder))
    with pytest.raises(StoreError, match=SAID):
        for number in range(1000):
            store.notes.keep("data", "mode", np.ones((4, 4)), f"note {number}")
    assert 10 < len(list(root.rglob("*.npz"))) < 200 and len(sizes) < 10


def test_a_file_in_two_places_is_counted_once(tmp_path):
    """Equal results of two comparisons of one owner share their files."""
    (tmp_path / "one").write_bytes(bytes(5000))
    (tmp_path / "two").hardlink_to(tmp_path / "one")
    (tmp_path / "three").write_bytes(bytes(70))
    assert quota.size_of(tmp_path) == 5070
