"""A backup is made while others write, comes back whole or not at all, and leads nowhere else."""

import json
import os
import subprocess
import sys
import threading
import zipfile
from contextlib import closing

import pytest

from bnmf_core import JobRunner, RunSpec, RunStore, laurberg
from bnmf_core.core.errors import BNMFError
from bnmf_core.runs import engine
from bnmf_core.store import backup
from bnmf_core.store.database import NAME
from bnmf_core.store.home import KEY, OWNERS, SHARES
from bnmf_core.store.shares import Shares
from tests.same import assert_same

SPEC = RunSpec("random_restarts", rank=3, particles=6)


def made(root, **further):
    """A store with a finished run of its own."""
    store = RunStore(root)
    with closing(JobRunner(store)) as runner:
        run_ids = runner.start(laurberg("two"), [SPEC], **further)
        runner.wait(run_ids)
    return store, run_ids[0]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A home that two share, with a link and a key."""
    home = tmp_path_factory.mktemp("served") / "home"
    for owner in ("anna", "ben"):
        _, run_id = made(home / OWNERS / owner)
        Shares(home / SHARES).make(owner, [run_id])
    (home / KEY).write_bytes(b"secret")
    return home


@pytest.fixture
def saved(served, tmp_path):
    """A backup of it."""
    path = tmp_path / "saved.zip"
    backup.write(served, path)
    return path


def contents(home):
    return {
        path.relative_to(home).as_posix(): path.read_bytes()
        for path in home.rglob("*")
        if path.is_file() and not path.name.startswith("index.")
    }


def test_what_was_backed_up_is_put_back_byte_for_byte(served, saved, tmp_path):
    assert saved.stat().st_mode & 0o777 == 0o600
    home = tmp_path / "new" / "home"
    assert backup.restore(saved, home).files == len(zipfile.ZipFile(saved).namelist()) - 1
    assert contents(home) == contents(served)
    assert (home / KEY).stat().st_mode & 0o777 == 0o600
    for owner in ("anna", "ben"):
        before, after = (RunStore(one / OWNERS / owner) for one in (served, home))
        assert after.runs() == before.runs() != []
        assert_same(after.particles(after.runs()[0].id), before.particles(before.runs()[0].id))
        assert len(Shares(home / SHARES).of(owner)) == 1


WRITER = """
import sys
from bnmf_core import JobRunner, RunSpec, RunStore, laurberg
runner, seed = JobRunner(RunStore(sys.argv[1])), 0
while True:
    specs = [RunSpec("random_restarts", rank=3, particles=6, seed=seed)]
    runner.wait(runner.start(laurberg("two"), specs))
    seed += 1
    print(seed, flush=True)
"""


@pytest.mark.slow
def test_what_is_complete_when_a_backup_begins_reads_whole_from_it(tmp_path):
    """Another process makes runs all the time; whatever is not complete is resumed to the bit."""
    root, counts = tmp_path / "home", []
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(root)], stdout=subprocess.PIPE, text=True
    )
    try:
        for number in range(4):
            process.stdout.readline()
            complete = {run.id for run in RunStore(root).runs() if run.status == "complete"}
            backup.write(root, tmp_path / f"{number}.zip")
            there = tmp_path / f"{number}"
            backup.restore(tmp_path / f"{number}.zip", there)
            with closing(JobRunner(RunStore(there))) as runner:
                store = runner.store
                assert complete <= {run.id for run in store.runs() if run.status == "complete"}
                for run in store.runs():
                    if run.status != "complete":
                        store.database.write("UPDATE runs SET status = 'interrupted'")
                        runner.resume(run.id)
                        runner.wait([run.id])
                    assert_same(store.particles(run.id), engine.run(laurberg("two"), run.spec))
                    counts.append(run.id in complete)
    finally:
        process.kill()
        process.communicate()
    assert sum(counts) >= 6


def test_what_vanishes_while_it_is_copied_is_looked_for_again(served, tmp_path, monkeypatch):
    """A run that ends has its chunks removed and its arrays written."""
    home = tmp_path / "home"
    (home / "runs" / "one").mkdir(parents=True)
    (home / "runs" / "one" / "chunk").write_text("partial")
    found = backup._Writer._found

    def ended(writer):
        listed = list(found(writer))
        if (home / "runs" / "one" / "chunk").exists():
            (home / "runs" / "one" / "chunk").unlink()
            (home / "runs" / "one" / "whole").write_text("whole")
        return listed

    monkeypatch.setattr(backup._Writer, "_found", ended)
    assert backup.write(home, tmp_path / "saved.zip").files == 1
    assert zipfile.ZipFile(tmp_path / "saved.zip").read("runs/one/whole") == b"whole"


def test_a_damaged_list_is_taken_as_it_is_and_told(tmp_path):
    store, _ = made(tmp_path / "home")
    index = store.root / NAME
    del store
    for beside in ("-wal", "-shm"):
        index.with_name(NAME + beside).unlink(missing_ok=True)
    index.write_bytes(b"no list of runs" * 100)
    found = backup.write(index.parent, tmp_path / "saved.zip")
    (said,) = found.said
    assert "The list of runs" in said and "is damaged" in said
    assert zipfile.ZipFile(tmp_path / "saved.zip").read(NAME) == index.read_bytes()


def test_a_backup_is_there_in_full_or_not_at_all(served, tmp_path, monkeypatch):
    path = tmp_path / "saved.zip"
    path.write_text("the one before")

    def full(writer, name, file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backup._Writer, "_copy", full)
    with pytest.raises(BNMFError, match="cannot be written: the disk is full"):
        backup.write(served, path)
    assert path.read_text() == "the one before" and os.listdir(tmp_path) == ["saved.zip"]


@pytest.mark.parametrize("inside", ["saved.zip", "owners/saved.zip"])
def test_a_backup_does_not_lie_in_what_it_is_of(served, inside):
    with pytest.raises(BNMFError, match="name a place outside"):
        backup.write(served, served / inside)


@pytest.mark.parametrize("kind", ["a file in it", "a file"])
def test_nothing_is_written_over(saved, tmp_path, kind):
    home = tmp_path / "home"
    if kind == "a file":
        home.write_text("kept")
    else:
        home.mkdir()
        (home / "other").write_text("kept")
    with pytest.raises(BNMFError, match="is not empty, and nothing is written over"):
        backup.restore(saved, home)
    assert (home if kind == "a file" else home / "other").read_text() == "kept"


def again(saved, path, change):
    """A backup whose members, by their names, and whose list of them are changed."""
    with zipfile.ZipFile(saved) as archive:
        members = [(entry, archive.read(entry)) for entry in archive.infolist()]
    told = json.loads(members.pop()[1])
    with zipfile.ZipFile(path, "w") as archive:
        change(members, told)
        for entry, content in members:
            archive.writestr(entry, content)
        archive.writestr(backup.MANIFEST, json.dumps(told))


def _renamed(name):
    def change(members, told):
        entry, content = members[-1]
        told["files"][name] = told["files"].pop(entry.filename)
        members[-1] = (name, content)

    return change


def _link(members, told):
    entry = zipfile.ZipInfo("link")
    entry.external_attr = 0o120777 << 16
    members.append((entry, b"/etc/passwd"))
    told["files"]["link"] = (11, "0")


def _twice(members, told):
    members.append(members[-1])


def _one_more(members, told):
    members.append(("further", b"1"))


def _one_less(members, told):
    members.pop()


def _another_byte(members, told):
    entry, content = members[-1]
    members[-1] = (entry, bytes([content[0] ^ 1]) + content[1:])


def _compressed(members, told):
    members[-1][0].compress_type = zipfile.ZIP_DEFLATED


def _another_format(members, told):
    told["format"] = 2


def _no_sums(members, told):
    told["files"] = {name: None for name in told["files"]}


HOSTILE = {
    "outside": (_renamed("../outside"), "forbidden name"),
    "deeper outside": (_renamed("a/../../outside"), "forbidden name"),
    "absolute": (_renamed("/tmp/outside"), "forbidden name"),
    "drive": (_renamed("c:\\outside"), "forbidden name"),
    "link": (_link, "which is no file"),
    "twice": (_twice, "holds other files than"),
    "further": (_one_more, "holds other files than"),
    "missing": (_one_less, "holds other files than"),
    "changed": (_another_byte, "is not what was written"),
    "compressed": (_compressed, "compressed or encrypted"),
    "format": (_another_format, "its format is 2, and 1 is read"),
    "no sums": (_no_sums, "cannot be read"),
    "file and folder": (_renamed("owners"), "cannot be written"),
    "long": (_renamed("a" * 300), "cannot be written"),
}


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_of_a_hostile_or_damaged_backup_nothing_is_put_back(saved, tmp_path, kind, there):
    change, said = HOSTILE[kind]
    place = tmp_path / "place"
    place.mkdir()
    again(saved, tmp_path / "other.zip", change)
    home = place / "home"
    if there:
        home.mkdir()
    with pytest.raises(BNMFError, match=said):
        backup.restore(tmp_path / "other.zip", home)
    assert [path.name for path in place.rglob("*")] == ["home"] * there


@pytest.mark.parametrize(
    "content", [b"", b"text", b"PK\x03\x04" + bytes(100), "half", "an empty zip"]
)
def test_what_is_no_backup_is_refused_in_a_sentence(saved, tmp_path, content):
    path = tmp_path / "other.zip"
    if content == "half":
        content = saved.read_bytes()[: saved.stat().st_size // 2]
    if content == "an empty zip":
        zipfile.ZipFile(path, "w").close()
    else:
        path.write_bytes(content)
    with pytest.raises(BNMFError, match="is no whole backup: .*; nothing of it was put back"):
        backup.restore(path, tmp_path / "home")
    for missing in (tmp_path / "none.zip", tmp_path):
        with pytest.raises(BNMFError, match="There is no file"):
            backup.restore(missing, tmp_path / "home")
    assert not (tmp_path / "home").exists()


def test_readers_and_writers_go_on_side_by_side_in_what_was_put_back(saved, tmp_path):
    backup.restore(saved, tmp_path / "home")
    store = RunStore(tmp_path / "home" / OWNERS / "anna")
    (run,) = store.runs()
    with store.database.connect() as reading:
        reading.execute("SELECT * FROM runs").fetchone()
        thread = threading.Thread(target=store.rename, args=(run.id, "another"))
        thread.start()
        thread.join(10)
    assert store.run(run.id).name == "another"
