"""What other versions of the program have stored is read, gone on with, or set aside in words."""

import json
import sqlite3
import tarfile
from pathlib import Path

import numpy as np
import pytest

from bnmf_core.nouns.errors import NotFoundError, StoreError
from bnmf_core.nouns.spec import RunSpec
from bnmf_core.runs import engine
from bnmf_core.runs.estimate import estimate
from bnmf_core.store import database
from bnmf_core.store.run_store import RunStore
from bnmf_core.version import VERSION

# Made by the version before: two finished runs with a comparison, and four cancelled ones.
BEFORE = Path(__file__).parent / "version_0_1.tar.xz"


@pytest.fixture
def store(tmp_path):
    with tarfile.open(BEFORE) as kept:
        kept.extractall(tmp_path / "store", filter="data")
    return RunStore(tmp_path / "store")


def by_name(store):
    return {run.name: run for run in store.runs()}


def assert_reads(particles, dataset, expected):
    """What was stored stands to its data as it says, and where a run of today comes to rest.

    Not bit for bit: it was made on another processor, whose matrix products round otherwise, and a
    descent that stops at a small drop of the error stops a few iterations earlier or later.
    """
    for name in ("ids", "chain", "draw"):
        np.testing.assert_array_equal(getattr(particles, name), getattr(expected, name))
    X, made = dataset.X, particles.A @ particles.W
    relative = np.linalg.norm(X - made, axis=(1, 2)) / np.linalg.norm(X)
    np.testing.assert_allclose(particles.error, relative, rtol=1e-9)
    np.testing.assert_allclose(particles.error, expected.error, rtol=1e-2)
    np.testing.assert_allclose(made, expected.A @ expected.W, atol=0.01 * X.max())


def test_data_and_finished_runs_of_the_version_before_are_read(store):
    (entry,) = store.dataset_entries()
    assert (entry.name, entry.D, entry.N, entry.labels) == ("old data", 6, 8, ("group",))
    dataset = store.dataset(entry.id)
    for name in ("finished", "tree"):
        record = by_name(store)[name]
        assert (record.status, record.done, record.version) == ("complete", 12, "")
        assert_reads(store.particles(record.id), dataset, engine.run(dataset, record.spec))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["half", "half chain", "half hmc", "half tree"])
def test_what_the_version_before_has_begun_is_finished_or_said_to_be_over(store, runner, name):
    record, dataset = by_name(store)[name], store.dataset(by_name(store)[name].dataset)
    assert record.status == "cancelled"
    expected, before = engine.run(dataset, record.spec), store.particles(record.id)
    assert_reads(before, dataset, expected.subset(before.ids))
    runner.resume(record.id)
    runner.wait([record.id])
    after, kept = store.run(record.id), store.particles(record.id)
    np.testing.assert_array_equal(kept.A[: before.M], before.A)
    assert after.version == VERSION
    assert name != "half" or after.status == "complete"
    if kept.M == expected.M:
        assert_reads(kept, dataset, expected)
    else:
        assert "another version" in after.message and kept.M >= 8
        assert [chain["after_draw"] for chain in kept.info["failed_chains"]] == [kept.M]


def test_runs_of_the_version_before_keep_a_prior_rate_of_1(store):
    """It was the default then; one that is left open now is taken from the data."""
    assert {run.spec.model_settings["rate"] for run in store.runs()} == {1.0}


def test_runs_of_the_version_before_stop_as_they_did(store):
    """Explorers stopped at a drop in error by default then; now when they have converged."""
    expected = {"block": 4, "max_iterations": 300, "tolerance": 5e-5}
    assert by_name(store)["half"].spec.settings == expected
    for settings in ({}, {"block": 4}, {"tolerance": 1e-3}, {"max_iterations": 20}):
        spec = RunSpec("random_restarts", 2, settings=settings)
        claim = store.life.enter(by_name(store)["half"].dataset, spec)
        assert store.run(claim.run_id).spec == spec


def test_old_runs_are_compared_again(store, runner):
    runs = by_name(store)
    found = runner.wait_analysis([runs["finished"].id, runs["tree"].id])
    assert len(found.members) == 24


def test_a_run_of_a_newer_version_is_set_aside_in_a_sentence(store):
    run_id = by_name(store)["finished"].id
    spec = store.run(run_id).spec.to_dict() | {"flavour": "strange"}
    with store.database.connect() as connection:
        connection.execute(
            "UPDATE runs SET spec = ?, version = '7.1' WHERE id = ?", (json.dumps(spec), run_id)
        )
    assert "finished" not in by_name(store) and len(store.runs()) == 5
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
