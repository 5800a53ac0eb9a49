"""What operators call: backups, who keeps how much, and the removal of all that is somebody's."""

import shutil
import threading
from contextlib import closing

import pytest

from bnmf_core import JobRunner, RunSpec, RunStore, laurberg
from bnmf_core.store.home import KEY, OWNERS, SHARES
from bnmf_core.store.shares import Shares

SPEC = RunSpec("random_restarts", rank=3, particles=4)


@pytest.fixture(scope="module")
def served_once(tmp_path_factory):
    """A home that two share, each with a run, a name and a link."""
    home = tmp_path_factory.mktemp("served")
    for owner in ("anna", "ben"):
        store = RunStore(home / OWNERS / owner)
        with closing(JobRunner(store)) as runner:
            (run_id,) = runner.start(laurberg("two"), [SPEC])
            runner.wait([run_id])
        store.notes.keep(store.run(run_id).dataset, "mode", store.particles(run_id).A[0], "a name")
        Shares(home / SHARES).make(owner, [run_id])
    (home / KEY).write_bytes(b"secret")
    return home


@pytest.fixture
def served(served_once, home):
    """A copy of it, where the commands work."""
    shutil.copytree(served_once, home.root, dirs_exist_ok=True)
    return home.root


def contents(home):
    """What lies there, but for the lists, which whoever looks into them writes beside."""
    return {
        path: path.read_bytes()
        for path in home.rglob("*")
        if path.is_file() and not path.name.startswith("index.")
    }


def test_usage_lists_owners_and_what_they_may_keep(ask, served, tmp_path, monkeypatch):
    found = ask("usage")
    assert [row["owner"] for row in found["owners"]] == ["anna", "ben"]
    assert found["limit_bytes"] == 0
    for row in found["owners"]:
        folder = served / OWNERS / row["owner"]
        assert (row["runs"], row["data"], row["names"], row["links"]) == (1, 1, 1, 1)
        beside = row["bytes"] - sum(len(content) for content in contents(folder).values())
        assert 0 < beside < 500_000
    (tmp_path / "limits.toml").write_text("disk = 0.5\n")
    monkeypatch.setenv("BNMF_LIMITS", str(tmp_path / "limits.toml"))
    assert ask("usage")["limit_bytes"] == 500_000_000


def test_a_backup_goes_and_comes_back(ask, command, served, tmp_path):
    told = ask("backup", tmp_path / "saved.zip")
    assert ask("restore", tmp_path / "saved.zip", "--store", tmp_path / "new") == {
        "store": str(tmp_path / "new"),
        **{name: told[name] for name in ("files", "bytes", "said")},
    }
    (run,) = ask("runs", "--store", tmp_path / "new" / OWNERS / "ben")["runs"]
    assert run["status"] == "complete"
    code, out, err = command("restore", tmp_path / "saved.zip")
    assert (code, out) == (1, "") and "is not empty, and nothing is written over" in err


def test_nothing_is_removed_before_somebody_says_yes(command, served):
    before = contents(served)
    code, out, _ = command("forget", "anna")
    assert code == 0 and out.endswith("Give --yes to remove it.\n")
    assert out.startswith("anna: 1 run, 1 dataset, 1 name or note and 1 link shown to others, ")
    assert contents(served) == before


def test_not_a_byte_is_left_of_who_is_forgotten_and_others_keep_all(command, served):
    before = contents(served / OWNERS / "ben")
    (of_ben,) = Shares(served / SHARES).of("ben")
    code, out, _ = command("forget", "anna", "--yes")
    assert code == 0 and out.endswith("All of it is removed.\n")
    assert [path.name for path in (served / OWNERS).iterdir()] == ["ben"]
    assert contents(served / OWNERS / "ben") == before
    assert Shares(served / SHARES).of("anna") == []
    assert Shares(served / SHARES).find(of_ben.token) == of_ben
    assert not any(b"anna" in content for content in contents(served).values())
    assert (served / KEY).read_bytes() == b"secret"
    code, _, err = command("forget", "anna", "--yes")
    assert code == 1 and "There is no owner 'anna' here; `bnmf usage` lists them." in err


def test_everybody_can_be_forgotten(command, served):
    assert command("run", "laurberg_two", "--rank", "2", "--particles", "2")[0] == 0
    assert command("forget", "--all", "--yes")[0] == 0
    assert sorted(path.name for path in served.iterdir()) == [KEY, OWNERS, SHARES]
    assert list((served / OWNERS).iterdir()) == list((served / SHARES).iterdir()) == []


@pytest.mark.parametrize("words", [(), ("anna", "--all")])
def test_who_is_forgotten_is_said_clearly(command, served, words):
    before = sorted(contents(served))
    code, _, err = command("forget", *words, "--yes")
    assert code == 1 and "Name one owner, as `bnmf usage` lists them, or give --all." in err
    assert sorted(contents(served)) == before


def test_what_is_running_of_who_is_forgotten_is_stopped_first(ask, served):
    store = RunStore(served / OWNERS / "ben")
    with closing(JobRunner(store)) as runner:
        endless = RunSpec("gibbs", rank=3, particles=50_000)
        (run_id,) = runner.start(laurberg("two"), [endless])
        while not store.run(run_id).done:
            threading.Event().wait(0.01)
        (told,) = ask("forget", "ben", "--yes")["owners"]
        assert (told["runs"], told["active"]) == (2, 1)
    assert [path.name for path in (served / OWNERS).iterdir()] == ["anna"]


def test_a_removal_that_was_broken_off_is_completed(ask, served):
    (served / OWNERS / "anna").rename(served / OWNERS / ".anna.0a1b2c3d.gone")
    RunStore(served / OWNERS / "anna")
    assert ask("forget", "anna", "--yes")["removed"]
    assert [path.name for path in (served / OWNERS).iterdir()] == ["ben"]
