"""Recover runs whose folders exist but whose entries in the index are missing.

An index may be lost or damaged; the folder of every run has a copy of its entry.
"""

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path

from bnmf_core.core.errors import BNMFError, StoreError
from bnmf_core.core.names import clean_name
from bnmf_core.store import arrivals, datasets, files, folders, records
from bnmf_core.store.records import RunRecord
from bnmf_core.store.run_store import RunStore

RUN_ID = re.compile(r"[0-9a-f]{8}")
BROUGHT_BACK = "It was brought back from its folder."


@dataclass(frozen=True)
class Brought:
    """The result of a recovery.

    runs : recovered ids. datasets : their number. failures : a sentence for each lost run.
    """

    runs: tuple[str, ...]
    datasets: int
    failures: tuple[str, ...]


def lost_runs(store: RunStore) -> list[str]:
    """Ids of the owner's runs with a folder but without an entry in the index."""
    coming, known = arrivals.expected(store.root), store.made()
    return sorted(
        folder.name
        for folder in (store.root / "runs").glob("*")
        if folder.name not in known
        and f"runs/{folder.name}" not in coming
        and is_lost(folder)
        and _may_be_of(store.owner, folder)
    )


def _may_be_of(owner: str, folder: Path) -> bool:
    """Whether a run may be this owner's; unknown counts as yes."""
    try:
        copied = records.read_copy(folder)
    except (BNMFError, KeyError, TypeError, ValueError):
        return True
    return copied is None or copied.owner == owner


def is_lost(folder: Path) -> bool:
    """Whether a folder without an entry is that of a run, not the remains of a deletion."""
    return RUN_ID.fullmatch(folder.name) is not None and any(
        (folder / name).is_file() for name in (records.COPY, folders.COMPLETE)
    )


def bring_back(store: RunStore) -> Brought:
    """Enter lost runs of the store's owner, and datasets without an entry, into the index."""
    datasets = _datasets(store)
    found, failures = [], []
    for run_id in lost_runs(store):
        try:
            record = _record(store, run_id)
        except (BNMFError, KeyError, TypeError, ValueError) as error:
            failures.append(f"Run {run_id} cannot be brought back: {str(error).rstrip('.')}.")
            continue
        records.insert(store.database, record)
        found.append(run_id)
    return Brought(tuple(found), datasets, tuple(failures))


def _datasets(store: RunStore) -> int:
    """Enter intact datasets and return how many had no entry."""
    entered, known = 0, store.datasets()
    for folder in sorted((store.root / "datasets").glob("*")):
        if folder.name in known:
            continue
        try:
            meta = datasets.read_meta(folder)
            D, N = meta["shape"]
            entry = {"D": int(D), "N": int(N), "labels": list(map(str, meta["labels"]))}
            values = folder.name, store.owner, clean_name(meta["name"]), folder.stat().st_mtime
        except (StoreError, KeyError, TypeError, ValueError):
            continue  # half written: without its last file it is no dataset
        entered += store.database.write(
            "INSERT OR IGNORE INTO datasets VALUES (?, ?, ?, ?, ?)", (*values, json.dumps(entry))
        )
    return entered


def _record(store: RunStore, run_id: str) -> RunRecord:
    """Rebuild the entry of a run from its copy and its particles."""
    folder = store.run_folder(run_id)
    copied = records.read_copy(folder)
    whole = (folder / folders.COMPLETE).exists()
    meta = files.read_json(folder / folders.COMPLETE) if whole else {}
    if copied is None:
        raise StoreError(f"its {records.COPY} is missing")
    if copied.id != run_id:
        raise StoreError(f"its {records.COPY} is that of another run")
    if copied.dataset not in store.datasets():
        raise StoreError("its data are not there")
    info = meta.get("info", {})
    ended = {"complete": "complete", "budget": "complete"}
    status = ended.get(str(info.get("stop_reason")), "interrupted")
    try:
        done = folders.read_particles(folder).M if whole else 0
        done = done or folders.read_partial(folder, copied.spec, status).M
    except StoreError:
        done = 0
    return replace(
        copied,
        status=status,
        message="" if status == "complete" else BROUGHT_BACK,
        seconds=float(info.get("run_seconds", 0.0)),
        done=done,
        fraction=1.0 if status == "complete" else done / max(copied.spec.particles, 1),
    )
