"""What is shown to others: seen by the link, changed by nobody, gone when it is taken back."""

import inspect
from contextlib import closing

import pytest

from bnmf_core import JobRunner, RunSpec, RunStore, laurberg, load_sample
from bnmf_core.core.errors import NotFoundError, StoreError
from bnmf_core.store.guest import GuestStore
from bnmf_core.store.life import Claim
from bnmf_core.store.run_store import RunStore as Whole
from bnmf_core.store.shares import Shares

SPEC = RunSpec("random_restarts", rank=3, particles=4)


@pytest.fixture(scope="module")
def owned(tmp_path_factory):
    """A store of somebody with two runs on different data; the ids of both."""
    root = tmp_path_factory.mktemp("owned")
    with closing(JobRunner(RunStore(root))) as runner:
        (shown,) = runner.start(laurberg("two"), [SPEC])
        (hidden,) = runner.start(load_sample("digits").columns(range(40)), [SPEC])
        runner.wait_analysis([shown])
        runner.wait_analysis([hidden])
    return root, shown, hidden


def test_a_link_is_found_listed_and_taken_back_by_its_owner_alone(tmp_path):
    shares = Shares(tmp_path / "shares")
    share = shares.make("anna", ["r1", "r2"], "Faces")
    assert shares.make("anna", ["r2", "r1"]) == share
    other = shares.make("anna", ["r1"])
    assert shares.find(share.token) == share and other.token != share.token
    assert {s.token for s in shares.of("anna")} == {share.token, other.token}
    assert shares.of("ben") == []
    # Who sees the folder does not know the links.
    assert not any(share.token in path.name for path in (tmp_path / "shares").iterdir())
    with pytest.raises(NotFoundError, match="taken back"):
        shares.take_back("ben", share.token)
    shares.take_back("anna", share.token)
    for token in (share.token, "", "../../x", "a" * 22, "é" * 22):
        with pytest.raises(NotFoundError):
            shares.find(token)
    assert shares.find(other.token).run_ids == ("r1",)


def test_a_guest_sees_what_is_shown_and_nothing_else(owned):
    root, shown, hidden = owned
    guest = GuestStore(root, [shown])
    assert [run.id for run in guest.runs()] == [shown] and guest.particles(shown).M == 4
    assert [entry.name for entry in guest.dataset_entries()] == [laurberg("two").name]
    assert guest.made() == {shown: 4}
    of_hidden = RunStore(root).run(hidden).dataset
    for look in (
        lambda: guest.run(hidden),
        lambda: guest.particles(hidden),
        lambda: guest.dataset(of_hidden),
    ):
        with pytest.raises(NotFoundError):
            look()
    with closing(JobRunner(guest)) as runner:
        assert list(runner.analyse([shown]).run_ids) == [shown]
        with pytest.raises(NotFoundError):
            runner.analyse([shown, hidden])


def test_a_guest_changes_nothing(owned):
    root, shown, _ = owned
    guest, dataset = GuestStore(root, [shown]), laurberg("two")
    A = guest.particles(shown).A[0]
    claim = Claim(shown, "anybody")
    changes = {
        "add_dataset": lambda: guest.add_dataset(dataset),
        "remove_dataset": lambda: guest.remove_dataset(dataset.hash),
        "rename": lambda: guest.rename(shown, "mine"),
        "rename_launch": lambda: guest.rename_launch(shown, "mine"),
        "delete_run": lambda: guest.delete_run(shown),
        "enter": lambda: guest.life.enter(dataset.hash, SPEC),
        "begin": lambda: guest.life.begin(claim),
        "report": lambda: guest.life.report(claim, done=9),
        "end": lambda: guest.life.end(claim, "complete"),
        "delete": lambda: guest.life.delete(shown),
        "keep": lambda: guest.notes.keep(dataset.hash, "mode", A, "mine"),
        "remove": lambda: guest.notes.remove(dataset.hash, "0" * 8),
        "keep_on_runs": lambda: guest.notes.keep_on_runs([shown], "mine"),
    }
    for name, change in changes.items():
        with pytest.raises(StoreError, match="somebody else's"):
            change()
            pytest.fail(name)
    with closing(JobRunner(guest)) as runner, pytest.raises(StoreError, match="somebody else's"):
        runner.start(dataset.hash, [SPEC])
    assert RunStore(root).run(shown).name == ""


def test_what_a_store_can_change_is_all_tried_above():
    public = {name for name, _ in inspect.getmembers(Whole, inspect.isfunction) if name[0] != "_"}
    assert public == {
        *("add_dataset", "remove_dataset", "rename", "rename_launch", "delete_run"),
        # These only read.
        *("dataset", "datasets", "dataset_entries", "dataset_is_shared", "datasets_in_use"),
        *("run", "runs", "launches", "unreadable", "made", "run_folder", "particles"),
        *("verify_dataset", "check_room", "insertion"),
    }


def test_what_would_go_beyond_what_one_may_keep_is_refused_with_its_numbers(tmp_path):
    store = RunStore(tmp_path, most=600_000)
    store.add_dataset(laurberg("two"))
    with pytest.raises(StoreError, match=r"it would exceed the [0-9.]+ [kM]B that everybody"):
        store.add_dataset(load_sample("digits"))
    store.add_dataset(laurberg("two"))  # is there already
    with closing(JobRunner(store)) as runner, pytest.raises(StoreError, match="may keep"):
        runner.start(laurberg("two"), [RunSpec("random_restarts", rank=3, particles=4000)])
    assert store.runs() == []
