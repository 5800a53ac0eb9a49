"""Archives of strangers: each comes in whole, as it declares, or is refused in a sentence."""

import contextlib
import io
import json
import shutil
import tempfile
import time
import zipfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from bnmf_core import Dataset, JobRunner, RunSpec, RunStore, laurberg
from bnmf_core.analysis import structure
from bnmf_core.analysis.named import Named
from bnmf_core.cli.main import main
from bnmf_core.core.errors import BNMFError
from bnmf_core.core.names import clean_name
from bnmf_core.findings.answer import Answer
from bnmf_core.share import archive, opening
from bnmf_core.store import arrivals
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
        if record.spec.to_dict() != entry["spec"] and "\\u" not in json.dumps(entry["spec"]):
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
