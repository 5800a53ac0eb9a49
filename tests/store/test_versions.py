"""What other versions of the program have stored is set aside in words."""

import json
import sqlite3
from contextlib import closing

import pytest

from bnmf_core.core.errors import NotFoundError, StoreError
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.synthetic import laurberg
from bnmf_core.runs.estimate import estimate
from bnmf_core.store import database
from bnmf_core.store.run_store import RunStore


@pytest.fixture
def store(tmp_path):
    """Two finished runs of one dataset."""
    found = RunStore(tmp_path / "store")
    dataset_id = found.add_dataset(laurberg("two"))
    for name in ("finished", "other"):
        claim = found.life.enter(dataset_id, RunSpec("random_restarts", 2), name)
        found.life.end(claim, "complete")
    return found


def by_name(store):
    return {run.name: run for run in store.runs()}


def test_a_run_of_a_newer_version_is_set_aside_in_a_sentence(store):
    run_id = by_name(store)["finished"].id
    spec = store.run(run_id).spec.to_dict() | {"flavour": "strange"}
    with store.database.connect() as connection:
        connection.execute(
            "UPDATE runs SET spec = ?, version = '7.1' WHERE id = ?", (json.dumps(spec), run_id)
        )
    assert "finished" not in by_name(store) and len(store.runs()) == 1
    (sentence,) = store.unreadable().values()
    assert "another version of this program (7.1)" in sentence and "'flavour'" in sentence
    with pytest.raises(StoreError, match="another version"):
        store.run(run_id)
    store.delete_run(run_id)
    assert store.unreadable() == {}
    with pytest.raises(NotFoundError):
        store.run(run_id)


def test_a_store_of_a_newer_version_is_refused_in_a_sentence(store):
    with sqlite3.connect(store.database.path) as connection:
        connection.execute(f"PRAGMA user_version = {database.LAYOUT + 1}")
    connection.close()
    with pytest.raises(StoreError, match="newer version of this program; update"):
        RunStore(store.root)


def test_a_store_of_a_version_that_is_too_old_is_refused_in_a_sentence(store):
    with closing(sqlite3.connect(store.database.path)) as connection:
        connection.execute("ALTER TABLE runs DROP COLUMN scheduler")
        connection.execute("PRAGMA user_version = 0")
        connection.commit()
    for _ in range(2):  # the second time, too
        with pytest.raises(StoreError, match="too old; name another folder"):
            RunStore(store.root)


def test_a_setting_that_is_gone_does_not_keep_new_runs_from_being_estimated(store):
    dataset_id = store.dataset_entries()[0].id
    dataset, new = store.dataset(dataset_id), RunSpec("gibbs", 2, particles=100)
    before = estimate(dataset, new, store)
    gone = RunSpec("gibbs", 2, particles=12, settings={"setting_of_long_ago": 3})
    claim = store.life.enter(dataset_id, gone)
    store.life.end(claim, "complete", done=12, seconds=3.0)
    algorithm_gone = store.life.enter(dataset_id, RunSpec("alchemy", 2))
    store.life.end(algorithm_gone, "complete", done=12, seconds=3.0)
    assert estimate(dataset, new, store) == before
    assert estimate(dataset, RunSpec("hmc", 2), store).seconds > 0
