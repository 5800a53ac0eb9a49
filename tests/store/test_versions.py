"""What other versions of the program have stored is set aside in words."""

import json
import re
import shutil
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from bnmf_core import JobRunner
from bnmf_core.cli import main
from bnmf_core.core.errors import NotFoundError, StoreError
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.synthetic import laurberg
from bnmf_core.runs.estimate import estimate
from bnmf_core.store import database, health
from bnmf_core.store.home import SHARES
from bnmf_core.store.run_store import RunStore
from bnmf_core.store.shares import Shares
from tests.store.kept import EXPECTED

HERE = Path(__file__).parent
OPERATIONS = HERE.parents[1] / "docs" / "guide" / "operations.md"
# Homes as versions have left them, by the layout of their lists.
KEPT = sorted(HERE.glob("home_*.zip"))


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


# Homes that versions of before have left


@pytest.fixture(params=KEPT, ids=lambda path: path.stem)
def left(request, tmp_path):
    """Such a home, and what it holds."""
    home = tmp_path / "left"
    with zipfile.ZipFile(request.param) as archive:
        archive.extractall(home)
    expected = json.loads((home / EXPECTED).read_text())
    (home / EXPECTED).unlink()
    return home, expected


def assert_holds(home, expected):
    """All that a version has left is read, as it was."""
    store = RunStore(home)
    assert list(health.of_list(store)) == [] and store.unreadable() == {}
    np.testing.assert_array_equal(store.dataset(expected["dataset"]).dense(), expected["X"])
    for run_id in (expected["complete"], expected["broken_off"]):
        found = store.particles(run_id)
        for name, values in expected[run_id].items():
            np.testing.assert_array_equal(getattr(found, name)[: len(values)], values)
        assert list(health.of_run(store, store.run(run_id))) == []
    run = store.run(expected["complete"])
    assert (run.name, run.launch_name, run.status) == ("a name", "a launch", "complete")
    (note,) = store.notes.of(expected["dataset"])
    assert (note.name, note.text) == ("a mode", "what it is")
    assert store.notes.on_runs([run.id]) == "what was noted"
    assert Shares(home / SHARES).find(expected["link"]).run_ids == (run.id,)


def test_what_a_version_has_left_is_read_gone_on_with_and_analysed(left):
    home, expected = left
    assert_holds(home, expected)
    with closing(JobRunner(RunStore(home))) as runner:
        runner.resume(expected["broken_off"])
        runner.wait([expected["broken_off"]])
        found = runner.store.run(expected["broken_off"])
        assert (found.status, found.done) == ("complete", 4)
        runner.wait_analysis([expected["complete"]], "structure")
    assert_holds(home, expected)


def test_a_list_of_the_layout_before_is_brought_up_to_date(left):
    home, expected = left
    with closing(sqlite3.connect(home / database.NAME)) as connection:
        for old, new in database.RENAMED.items():
            connection.execute(f"ALTER TABLE runs RENAME COLUMN {new} TO {old}")
        connection.execute("PRAGMA user_version = 1")
    assert_holds(home, expected)
    with RunStore(home).database.connect() as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (database.LAYOUT,)


def commands(heading: str) -> list[list[str]]:
    """What the page for operators says to call, in its order."""
    section = OPERATIONS.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return [line.split()[1:] for line in re.findall(r"^bnmf .*", section, re.MULTILINE)]


@pytest.mark.parametrize("heading", ["Upgrades", "Storage and backups"])
def test_what_operators_are_told_to_call_works_in_this_order(
    left, heading, tmp_path, monkeypatch, capsys
):
    home, expected = left
    monkeypatch.setenv("BNMF_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    called = commands(heading)
    assert {"backup", "restore", "runs"} <= {words[0] for words in called}
    for words in called:
        assert main(words) == 0, (words, capsys.readouterr().err)
    (restored,) = [words[-1] for words in called if words[0] == "restore"]
    assert_holds(home, expected)
    assert_holds(tmp_path / restored, expected)


def test_who_keeps_how_much_and_goes_is_called_as_operators_are_told(
    left, tmp_path, monkeypatch, capsys
):
    shutil.move(left[0], tmp_path / "all" / "owners" / "NUMBER")
    monkeypatch.setenv("BNMF_HOME", str(tmp_path / "all"))
    called = commands("Disk usage, and removing owners")
    assert [words[0] for words in called] == ["usage", "forget", "forget", "forget"]
    for words in called[:2]:
        assert main(words) == 0
        assert "NUMBER" in capsys.readouterr().out
    for words in called[2:]:
        assert main(words) == 0
    assert list((tmp_path / "all" / "owners").iterdir()) == []
