"""Archives of strangers: each comes in whole, as it declares, or is refused in a sentence."""

import contextlib
import errno
import io
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import zipfile
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bnmf_core import Dataset, JobRunner, RunSpec, RunStore, laurberg
from bnmf_core.analysis import structure
from bnmf_core.analysis.named import Named
from bnmf_core.cli.main import main
from bnmf_core.core.errors import BNMFError, StoreError
from bnmf_core.core.names import clean_name
from bnmf_core.findings.answer import Answer
from bnmf_core.share import archive, opening, schema
from bnmf_core.store import arrivals
from bnmf_core.store.database import Database
from bnmf_core.store.lost import lost_runs
from tests.reliability.altered import Altered, arrays_of, read
from tests.reliability.archives import KINDS
from tests.reliability.counted import Counted

LONGEST = 20.0  # seconds that opening one may take
SPECS = [
    RunSpec("random_restarts", rank=3, particles=6),
    RunSpec("gibbs", rank=3, particles=6, settings={"warm_up": 5, "thinning": 1}),
]
# Of a store that is empty.
OWN = ("index.", arrivals.LOCK, archive.KEY)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The files of an archive of two runs, their comparison and a note, and the archive."""
    folder = tmp_path_factory.mktemp("whole")
    plain = laurberg("two", noise=0.01)
    data = Dataset.from_array(plain.X, labels={"kind": list("aabbcc")}, truth=plain.truth)
    with closing(JobRunner(RunStore(folder / "store"))) as runner:
        run_ids = runner.start(data, SPECS, ["first", "second"])
        found = runner.wait_analysis(run_ids, "structure")
        A = runner.store.particles(run_ids[0]).A[0]
        runner.store.notes.keep(found.dataset.hash, "mode", A, "a name", "what it is")
    modes = structure.modes_at(found, "max_angle", 15.0)
    named = Named(tuple(runner.store.notes.of(found.dataset.hash)))
    path = folder / "whole.zip"
    archive.write(path, Answer(found, "max_angle", modes, named=named), readable=False)
    with zipfile.ZipFile(path) as inside:
        return {name: inside.read(name) for name in inside.namelist()}, path


def left(store: RunStore) -> list[str]:
    """What is in a store beside what each has."""
    files = (path for path in store.root.rglob("*") if path.is_file())
    names = (path.relative_to(store.root).as_posix() for path in files)
    return [name for name in names if not name.startswith(OWN)]


def tried(whole, folder: Path, count: int, seed: int, kinds=tuple(KINDS), every: int = 40):
    """Open so many archives; what was counted. One in ``every`` that are taken is analysed."""
    files, rng, counted = whole[0], np.random.default_rng(seed), Counted("hostile archives")
    accepted, slowest = 0, 0.0
    for number in range(count):
        kind = kinds[number % len(kinds)]
        counted.tried[kind] += 1
        sandbox = folder / str(number)
        (sandbox / "aside").mkdir(parents=True)
        path = sandbox / "some.zip"
        path.write_bytes(KINDS[kind](Altered(files, rng)))
        line = f"{kind} {number} of seed {seed}"
        store = RunStore(sandbox / "store")
        if rng.random() < 0.5:  # the store that has written the archive before it was altered
            shutil.copy(whole[1].parent / "store" / archive.KEY, store.root)
        tempfile.tempdir = str(sandbox / "aside")
        try:
            began = time.perf_counter()
            try:
                opened = opening.open_archive(store, path)
            finally:
                seconds = time.perf_counter() - began
            accepted += 1
            if differences := changed(store, path, opened.run_ids, files):
                counted.fault("silent changes", f"{line}: {differences}")
            commands = ["runs"] + ["metrics", "report", "code"] * (accepted % every == 1)
            for command in commands:
                used(command, store, opened.run_ids, sandbox)
        except BNMFError as error:
            if store.runs() or store.datasets() or left(store):
                counted.fault("losses", f"{line}: half of it is there after: {error}")
            if not (str(error).endswith(".") and len(str(error)) < 1500):
                counted.fault("tracebacks", f"{line}: no sentence: {error}")
            with fault_counted(counted, line):
                salvaged(store, path, sandbox)
        except Exception as error:
            counted.fault("tracebacks", f"{line}: {type(error).__name__}: {error}"[:600])
        finally:
            tempfile.tempdir = None
        if seconds > LONGEST:
            counted.fault("hangs", f"{line}: {seconds:.0f} s")
        slowest = max(slowest, seconds)
        if leaked := leaks(sandbox, store):
            counted.fault("leaks", f"{line}: {leaked}")
        shutil.rmtree(sandbox)
    counted.said = f"{accepted:,} taken; slowest {slowest:.1f} s"
    return counted


def salvaged(store: RunStore, path: Path, sandbox: Path) -> None:
    """Bring in what is whole; all of it can be read."""
    try:
        opened = opening.open_archive(store, path, salvage=True)
    except BNMFError:
        assert not store.runs() and not left(store)
        return
    assert opened.notices
    for run_id in opened.run_ids:
        assert store.particles(run_id).M
    used("runs", store, opened.run_ids, sandbox)


@contextlib.contextmanager
def fault_counted(counted: Counted, line: str):
    """Count what is raised as a traceback."""
    try:
        yield
    except Exception as error:
        counted.fault("tracebacks", f"{line}: {type(error).__name__}: {error}"[:600])


def leaks(sandbox: Path, store: RunStore) -> list[str]:
    """What an archive has left outside of the store, or aside in it."""
    names = [path.relative_to(sandbox).as_posix() for path in sandbox.rglob("*")]
    outside = [n for n in names if not n.startswith(("store", "some.zip")) and n != "aside"]
    evil = [str(path) for path in (Path("/tmp/evil.npy"), sandbox.parent / "evil") if path.exists()]
    return outside + evil + [n for n in left(store) if n.startswith(arrivals.PREFIX)]


def changed(store: RunStore, path: Path, run_ids, files) -> list[str]:
    """What of a store is not what the archive says, or of its results not what was computed."""
    manifest, arrays = read(path)
    found = [] if len(run_ids) == len(manifest["runs"]) else ["not every run is there"]
    if list(store.datasets()) != [manifest["dataset"]]:
        found.append("the data are others")
    for entry, run_id in zip(manifest["runs"], run_ids, strict=False):
        record, particles = store.run(run_id), store.particles(run_id)
        for key in ("name", "launch", "message", "version", "launch_name"):
            if getattr(record, key) != clean_name(entry.get(key, ""), 2000):
                found.append(f"{key} is {getattr(record, key)!r}")
        for key in ("status", "created", "seconds"):
            if getattr(record, key) != entry[key]:
                found.append(f"{key} is {getattr(record, key)!r}")
        if record.spec != RunSpec.from_dict(schema.clean(entry["spec"])):
            found.append(f"spec is {record.spec}")
        there, declared = arrays_of(particles), arrays[entry["id"]]
        if there.keys() != declared.keys():
            found.append("other arrays")
        found += [n for n in declared if np.asarray(there[n]).tobytes() != declared[n].tobytes()]
    store.verify_dataset(manifest["dataset"])
    store.dataset(manifest["dataset"])
    results = {name for name in left(store) if name.startswith("analyses/")}
    found += [n for n in results if (store.root / n).read_bytes() != files.get(n)]
    return found


def used(command: str, store: RunStore, run_ids, sandbox: Path) -> None:
    """Call a command on what was opened; AssertionError where it fails."""
    further = {"report": ["--output", str(sandbox / "store" / "index.report.html")]}.get(
        command, []
    )
    given = [] if command == "runs" else [run_ids[0]]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([command, *given, "--store", str(store.root), "--json", *further])
    assert code == 0, f"{command}: {code} {err.getvalue()[-300:]}"
    json.loads(out.getvalue())


@pytest.mark.slow
def test_a_hundred_hostile_archives(whole, tmp_path, promise):
    counted = tried(whole, tmp_path, 108, seed=1)
    assert not any(counted.faults.values()), counted.first
    promise(counted.row)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_five_thousand_hostile_archives(whole, tmp_path, promise):
    counted = tried(whole, tmp_path, 5_004, seed=2)
    assert not any(counted.faults.values()), counted.first
    assert min(counted.tried.values()) >= 40
    promise(counted.row)


# Faults, planted


def trip(real, monkeypatch):
    def wrong(*arguments):
        raise KeyError("planted")

    monkeypatch.setattr(opening, "read", wrong)


def take_long(real, monkeypatch):
    monkeypatch.setattr(f"{__name__}.LONGEST", 0.0)


def change_a_number(real, monkeypatch):
    def other(*arguments):
        found = real(*arguments)
        run_id, one = next(iter(found.particles.items()))
        error = np.nextafter(one.error, 1.0)
        return replace(found, particles=found.particles | {run_id: replace(one, error=error)})

    monkeypatch.setattr(opening, "read", other)


def leave_half(real, monkeypatch):
    def broken(database, aside, places, changes):
        database.write_all(changes[:1])
        raise StoreError("Planted.")

    monkeypatch.setattr(arrivals, "enter", broken)


def leave_files(real, monkeypatch):
    def careless(source, aside, *further):
        (Path(source).parent / "unpacked").mkdir()
        return real(source, aside, *further)

    monkeypatch.setattr(opening, "read", careless)


PLANTED = {
    "tracebacks": trip,
    "hangs": take_long,
    "silent changes": change_a_number,
    "losses": leave_half,
    "leaks": leave_files,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_fault_is_counted(whole, tmp_path, monkeypatch, kind):
    PLANTED[kind](opening.read, monkeypatch)
    counted = tried(whole, tmp_path, 1, seed=3, kinds=("whole",))
    assert [name for name, lines in counted.faults.items() if lines] == [kind]


# Killed, and on a disk that is full

# What a program does to a disk, as Python tells of it.
DEEDS = ("open", "os.rename", "os.mkdir", "os.remove", "sqlite3.connect")


def in_a_child(act, stop) -> int:
    """Run ``act`` in a process of its own, whose deeds ``stop`` hears of; its exit status."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        sys.addaudithook(stop)
        act()
        code = 0
    except StoreError:
        code = 3
    finally:
        os._exit(code)


def deeds_until(number: int, end):
    """An audit hook that calls ``end`` at each deed from this one on."""
    count = 0

    def hear(event: str, arguments: tuple) -> None:
        nonlocal count
        if event in DEEDS:
            count += 1
            if count > number:
                end(event, arguments)

    return hear


def whole_or_nothing(root: Path, whole) -> int:
    """How many runs there are after that; whatever else there is belongs to them."""
    known = Database(root)  # which sweeps nothing
    with known.connect() as connection:
        entered = {row[0] for row in connection.execute("SELECT id FROM runs")}
    there = {folder.name for folder in (root / "runs").glob("*")}
    coming = {place.removeprefix("runs/") for place in arrivals.expected(root)}
    assert there - entered <= coming  # none of which is taken for a run that was lost
    store = RunStore(root)
    assert not lost_runs(store)
    assert not [name for name in left(store) if name.startswith(arrivals.PREFIX)]
    if not store.runs():
        assert not left(store) and not store.datasets()
        return 0
    files, path = whole
    assert not changed(store, path, [run["id"] for run in read(path)[0]["runs"]], files)
    assert len(store.notes.of(next(iter(store.datasets())))) == 1
    return len(store.runs())


def kill(event: str, arguments: tuple) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def is_full(event: str, arguments: tuple) -> None:
    """Refuse what needs room."""
    writes = event == "os.mkdir" or (event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR))
    if writes:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


ENDS = {"archives killed while they come in": kill, "archives that meet a full disk": is_full}


def broken_off(whole, folder: Path, what: str, every: int) -> Counted:
    """Open an archive, broken off at every so many deeds until it comes to its end."""
    counted, there, code = Counted(what), Counter(), None
    for number in range(0, 2000, every):
        root = folder / str(number)
        RunStore(root)
        code = in_a_child(
            lambda root=root: opening.open_archive(RunStore(root), whole[1]),
            deeds_until(number, ENDS[what]),
        )
        counted.tried["broken off"] += 1
        if code not in (0, 3, -signal.SIGKILL):
            counted.fault("tracebacks", f"deed {number}: it ended with {code}")
        try:
            there[whole_or_nothing(root, whole)] += 1
        except AssertionError as error:
            counted.fault("losses", f"deed {number}: {error}"[:600])
        shutil.rmtree(root)
        if code == 0:
            break
    assert code == 0, "it never came to its end"
    counted.said = f"{there[0]} not there, {there[2]} there whole"
    return counted


@pytest.mark.slow
@pytest.mark.parametrize("what", ENDS)
def test_what_is_broken_off_is_there_whole_or_not_at_all(whole, tmp_path, promise, what):
    counted = broken_off(whole, tmp_path, what, 29)
    assert not any(counted.faults.values()), counted.first
    promise(counted.row)


@pytest.mark.slow
def test_a_planted_leftover_is_counted(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(arrivals, "_take_back", lambda database, aside: None)
    counted = broken_off(whole, tmp_path, next(iter(ENDS)), 29)
    assert [name for name, lines in counted.faults.items() if lines] == ["losses"]


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("what", ENDS)
def test_at_every_deed_it_is_there_whole_or_not_at_all(whole, tmp_path, promise, what):
    counted = broken_off(whole, tmp_path, what, 1)
    assert not any(counted.faults.values()), counted.first
    promise(counted.row)
