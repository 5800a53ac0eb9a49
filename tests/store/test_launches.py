"""Runs that were started side by side are one launch, with one name."""

import sqlite3
from contextlib import closing

import pytest

from bnmf_core.core.spec import RunSpec
from bnmf_core.store.database import RENAMED
from bnmf_core.store.run_store import RunStore

SPEC = RunSpec("gibbs", 2, particles=4)


@pytest.fixture
def entered(store, small):
    """Two runs of one launch and one that stands alone; their claims."""
    dataset = store.add_dataset(small)
    first = store.life.enter(dataset, SPEC, launch_name="both")
    second = store.life.enter(dataset, SPEC, launch=first.run_id, launch_name="both")
    return [first, second, store.life.enter(dataset, SPEC)]


def test_runs_are_grouped_in_the_order_of_their_start(store, entered):
    alone, both = store.launches()
    assert [run.id for run in both.runs] == [claim.run_id for claim in entered[:2]]
    assert (both.name, both.rank, both.dataset) == ("both", 2, store.runs()[0].dataset)
    assert [run.id for run in alone.runs] == [entered[2].run_id] and alone.name == ""


def test_a_launch_is_renamed_as_a_whole_and_no_other_with_it(store, entered):
    store.rename_launch(entered[0].run_id, "renamed")
    assert sorted((run.launch_name, run.name) for run in store.runs()) == [
        ("", ""),
        ("renamed", ""),
        ("renamed", ""),
    ]
    RunStore(store.root, owner="other").rename_launch(entered[0].run_id, "stolen")
    assert {run.launch_name for run in store.runs()} == {"", "renamed"}


def test_a_launch_outlives_its_first_run(store, entered):
    store.life.end(entered[0], "failed")
    store.delete_run(entered[0].run_id)
    both = store.launches()[1]
    assert [run.id for run in both.runs] == [entered[1].run_id]
    assert (both.id, both.name) == (entered[0].run_id, "both")


@pytest.mark.parametrize(
    ("ends", "status"),
    [
        ((None, None), "queued"),
        (("complete", None), "running"),
        (("complete", "complete"), "complete"),
        (("cancelled", "cancelled"), "cancelled"),
        (("complete", "failed"), "incomplete"),
    ],
)
def test_the_state_of_a_launch_follows_from_its_runs(store, entered, ends, status):
    for claim, end in zip(entered, ends, strict=False):
        if end:
            store.life.end(claim, end, done=4 if end == "complete" else 0)
    both = store.launches()[1]
    assert both.status == status and both.active == (None in ends)
    resumable = [
        claim.run_id
        for claim, end in zip(entered, ends, strict=False)
        if end in ("cancelled", "failed")
    ]
    assert both.resumable == resumable
    gone = [
        claim.run_id
        for claim, end in zip(entered, ends, strict=False)
        if end in ("cancelled", "failed")
    ]
    assert both.shown == [claim.run_id for claim in entered[:2] if claim.run_id not in gone]


def test_an_index_of_layout_1_is_brought_up_to_date(store, entered):
    launches, runs = store.launches(), store.runs()
    with closing(sqlite3.connect(store.database.path)) as connection:
        for old, new in RENAMED.items():
            connection.execute(f"ALTER TABLE runs RENAME COLUMN {new} TO {old}")
        connection.execute("PRAGMA user_version = 1")
        connection.commit()
    again = RunStore(store.root)
    assert again.launches() == launches and again.runs() == runs
    again.rename_launch(entered[0].run_id, "named")
    assert again.launches()[1].name == "named"
