"""A small home as a version has left it, in one file; run as a program to keep that of today.

``python -m tests.store.kept tests/store/home_NUMBER.zip``. Such a file is never made again:
what a later version reads of it is what was written.
"""

import json
import shutil
import sys
import tempfile
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

from bnmf_core import JobRunner, RunSpec, RunStore, laurberg
from bnmf_core.runs import engine, planning
from bnmf_core.store import folders
from bnmf_core.store.home import SHARES
from bnmf_core.store.shares import Shares

COMPLETE = RunSpec("random_restarts", 3, particles=3)
BROKEN_OFF = RunSpec("random_restarts", 2, particles=4, settings={"block": 2})
EXPECTED = "expected.json"


def make(home: Path) -> dict[str, Any]:
    """A complete run with a name, a note and a link, and one that was broken off half made."""
    data, store = laurberg("two"), RunStore(home)
    with closing(JobRunner(store)) as runner:
        (complete,) = runner.start(data, [COMPLETE], ["a name"], launch_name="a launch")
        runner.wait([complete])
    shutil.rmtree(home / "analyses", ignore_errors=True)
    claim = store.life.enter(data.hash, BROKEN_OFF)
    plan = planning.make_plan(data, BROKEN_OFF)
    sink = folders.FolderSink(store.run_folder(claim.run_id))
    sink.write_plan(planning.describe(plan), [shard.start for shard in plan.shards])
    checkpoint, chunk = None, None
    while chunk is None:
        checkpoint, chunk = engine.advance(plan, plan.shards[0], checkpoint)
        sink.save(plan.shards[0], checkpoint, chunk)
    store.life.begin(claim)
    store.life.end(claim, "cancelled", done=chunk.size)
    A = store.particles(complete).A[0]
    store.notes.keep(data.hash, "mode", A, "a mode", "what it is")
    store.notes.keep_on_runs([complete], "what was noted")
    link = Shares(home / SHARES).make("local", [complete])
    return {
        "complete": complete,
        "broken_off": claim.run_id,
        "dataset": data.hash,
        "link": link.token,
        "X": data.dense().tolist(),
        **{one: _factors(store, one) for one in (complete, claim.run_id)},
    }


def _factors(store: RunStore, run_id: str) -> dict[str, Any]:
    found = store.particles(run_id)
    return {name: getattr(found, name).tolist() for name in ("ids", "A", "W", "log_joint", "error")}


def keep(path: Path) -> None:
    """Make such a home, and keep it in a file."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        expected = make(home)
        with RunStore(home).database.connect() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (home / EXPECTED).write_text(json.dumps(expected))
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for one in sorted(home.rglob("*")):
                if one.is_file() and (one.suffix == ".sqlite" or not one.match("index.*")):
                    archive.write(one, one.relative_to(home))


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
