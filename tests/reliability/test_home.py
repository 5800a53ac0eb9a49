"""Homes that are full, read-only or impossible: what is there is read, all else is a sentence."""

import json
import os
import shutil
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

from bnmf_core.core.errors import DiskError
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.synthetic import laurberg
from bnmf_core.store import database
from bnmf_core.store.run_store import RunStore
from tests.reliability import homes
from tests.reliability.counted import Counted

ROOT = Path(__file__).resolve().parents[2]
COUNTED = "commands and pages on homes that cannot be written"


def in_a_namespace(*words: object, timeout: float) -> subprocess.CompletedProcess[str]:
    """What a program says that mounts what nobody else sees; skipped where none may."""
    if shutil.which("unshare") is None or os.geteuid():
        pytest.skip("disks of a test's own are mounted by root, with unshare")
    if subprocess.run(["unshare", "--mount", "true"], check=False).returncode:
        pytest.skip("this machine lets nobody mount disks of their own")
    return subprocess.run(
        ["unshare", "--mount", sys.executable, "-m", *map(str, words)],
        cwd=ROOT,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )


def tried(folder: Path, which: str, timeout: float) -> Counted:
    done = in_a_namespace("tests.reliability.homes", folder, which, timeout=timeout)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    counted = Counted(COUNTED, said=found["said"])
    counted.tried.update(found["tried"])
    counted.faults = found["faults"]
    return counted


@pytest.mark.slow
def test_a_few_commands_on_homes_that_cannot_be_written(tmp_path, promise):
    counted = tried(tmp_path, "few", 300)
    assert not any(counted.faults.values()), counted.first
    assert set(counted.tried) == {"tmpfs", "ext4", "read-only"}
    promise(counted.row)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_every_command_and_page_on_homes_that_cannot_be_written(tmp_path, promise):
    counted = tried(tmp_path, "all", 1700)
    assert not any(counted.faults.values()), counted.first
    assert min(counted.tried.values()) > 35
    promise(counted.row)


def crash(words):
    if words[0] == "run":
        raise ZeroDivisionError
    return whole(words)


def hang(words):
    while words[0] == "run":
        pass
    return whole(words)


def lose(words):
    lost = words[0] == "metrics" and "other" in os.environ["BNMF_HOME"]
    return 1 if lost else whole(words)


def change(words):
    home = Path(os.environ["BNMF_HOME"])
    if "other" in str(home):
        (home / "kept").write_text("other")
    return whole(words)


def whole(words):
    print(*words[:1])
    if words[0] in ("run", "open"):
        print("it cannot be written", file=sys.stderr)
        return 1
    return 0


@pytest.mark.parametrize(
    "kind, fault",
    [("tracebacks", crash), ("hangs", hang), ("losses", lose), ("silent changes", change)],
)
def test_a_planted_fault_is_counted(tmp_path, monkeypatch, kind, fault):
    def copies(template, work):
        shutil.copytree(template, work / "read-only" / "other")
        return {"read-only": work / "read-only" / "other"}

    def filled(root):
        root.mkdir()
        (root / "kept").write_text("whole")
        (root / "index.sqlite-shm").touch()
        (root.parent / "ids.json").touch()
        return dict.fromkeys(("first", "second", "alone", "data", "broken"), "none")

    monkeypatch.setattr(homes, "homes", copies)
    monkeypatch.setattr(homes, "left_by_a_killed_program", filled)
    monkeypatch.setattr(homes, "PATIENCE", 1.0)
    for main, faults in ((whole, 0), (fault, 1)):
        place = tmp_path / main.__name__
        place.mkdir()
        monkeypatch.setattr(homes, "main", main)
        counted = homes.tried(place, ("runs", "run", "metrics", "open"))
        assert len(counted.faults[kind]) >= faults
        assert sum(map(bool, counted.faults.values())) == faults


# Homes that are none


@pytest.fixture(params=["a file", "under a file", "a broken link", "nowhere to be made"])
def impossible(request, tmp_path):
    """A place that is no folder and that no folder can be made in."""
    if request.param == "nowhere to be made":
        return Path("/proc/nowhere")
    (tmp_path / "file").write_text("kept")
    (tmp_path / "link").symlink_to(tmp_path / "gone" / "folder")
    places = {"a file": "file", "under a file": "file/home", "a broken link": "link"}
    return tmp_path / places[request.param]


@pytest.mark.parametrize("given", ["BNMF_HOME", "--store"])
@pytest.mark.parametrize("words", [("runs",), ("run", "laurberg_two", "--rank", "2"), ("recover",)])
def test_a_home_that_is_none_is_a_sentence(impossible, given, words, monkeypatch, capsys):
    monkeypatch.setenv("BNMF_HOME", str(impossible) if given == "BNMF_HOME" else "/tmp")
    further = ("--store", str(impossible)) if given == "--store" else ()
    assert homes.main([*words, *further]) == 1
    out, err = capsys.readouterr()
    assert out == "" and len(err.strip().splitlines()) == 1
    assert err.startswith(f"{str(impossible)!r} cannot be written: ")
    assert err.endswith("; name another folder in BNMF_HOME.\n")


def test_a_page_says_in_a_sentence_that_its_home_is_none(impossible, tmp_path):
    code, out, err = homes.page_words(impossible, "runs", [], tmp_path)
    assert code == 0 and "Traceback" not in err
    assert f"\n{str(impossible)!r} cannot be written" in out.replace("\\", "")


@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="only root can be somebody else"
)
def test_a_home_without_permission_is_a_sentence(tmp_path, capfd):
    nobody, home = 65534, tmp_path / "home"
    for folder in [tmp_path, *tmp_path.parents][:4]:
        folder.chmod(0o755)
    home.mkdir(mode=0o755)

    def as_nobody(folder, *words):
        os.environ["BNMF_HOME"] = str(folder)
        return homes.in_child(lambda: os.setuid(nobody) or homes.main(words), tmp_path)

    for folder in (home, home / "deeper"):
        code, out, err = as_nobody(folder, "runs")
        assert (code, out) == (1, "")
        assert "cannot be written: the user of this program may not; name another" in err
    RunStore(home)
    for path in home.iterdir():
        path.chmod(0o644)
    code, out, err = as_nobody(home, "runs")
    assert (code, out.strip(), err) == (0, "No runs yet.", "")


# The list of runs


@pytest.fixture
def read_only(tmp_path, monkeypatch):
    """A store beside whose list nothing can be written, though its log holds what is newest."""
    made = RunStore(tmp_path / "made")
    claim = made.life.enter(made.add_dataset(laurberg("two")), RunSpec("gibbs", 2), "newest")
    shutil.copytree(made.root, tmp_path / "store")
    (tmp_path / "store" / "index.sqlite-shm").unlink()
    return tmp_path / "store", claim


def test_what_is_only_in_the_log_is_read_in_memory_and_no_byte_is_changed(read_only):
    folder, claim = read_only
    before = homes.contents(folder) | {"wal": (folder / "index.sqlite-wal").read_bytes()}
    copy = database._in_memory(folder / "index.sqlite")
    assert copy.execute("SELECT id, name FROM runs").fetchall() == [(claim.run_id, "newest")]
    with pytest.raises(database.sqlite3.OperationalError, match="readonly"):
        copy.execute("DELETE FROM runs")
    copy.close()
    assert before == homes.contents(folder) | {"wal": (folder / "index.sqlite-wal").read_bytes()}
    assert not (folder / "index.sqlite-shm").exists()


def test_a_list_that_is_changed_while_it_is_copied_is_copied_again(read_only, monkeypatch):
    folder, claim = read_only
    states, numbers = database._states, count()

    def twice_changed(*paths):
        number = next(numbers)
        return states(*paths) if number > 2 else [(number, 0), (1, 0)]

    monkeypatch.setattr(database, "_states", twice_changed)
    copy = database._in_memory(folder / "index.sqlite")
    assert copy.execute("SELECT id FROM runs").fetchall() == [(claim.run_id,)]
    assert next(numbers) == 6
    copy.close()
    monkeypatch.setattr(database, "_states", lambda *paths: [(next(numbers), 0), (1, 0)])
    with pytest.raises(DiskError, match="is being changed by others"):
        database._in_memory(folder / "index.sqlite")
