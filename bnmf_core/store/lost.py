"""Runs whose folders are there and whose entries in the index are not, and bringing them back.

An index is lost with its file, or torn where a disk fails; what runs have made lies in their
folders, each with a copy of its entry.
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
    """What came back.

    runs : their ids. datasets : how many. said : a sentence for each that did not.
    """

    runs: tuple[str, ...]
    datasets: int
    said: tuple[str, ...]


def lost_runs(store: RunStore) -> list[str]:
    """Ids of the owner's runs whose folders hold something and that the index does not know."""
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
    """Whether a run is an owner's; one of which that is not known might be anybody's."""
    try:
        copied = records.read_copy(folder)
    except (BNMFError, KeyError, TypeError, ValueError):
        return True
    return copied is None or copied.owner == owner


def is_lost(folder: Path) -> bool:
    """Whether a folder that no entry speaks of is that of a run, and not what a deletion left."""
    return RUN_ID.fullmatch(folder.name) is not None and any(
        (folder / name).is_file() for name in (records.COPY, folders.COMPLETE)
    )


def bring_back(store: RunStore) -> Brought:
    """Enter lost runs of the store's owner, and the data that lie beside them, into the index."""
    datasets = _datasets(store)
    found, said = [], []
    for run_id in lost_runs(store):
        try:
            record = _record(store, run_id)
        except (BNMFError, KeyError, TypeError, ValueError) as error:
            said.append(f"Run {run_id} cannot be brought back: {str(error).rstrip('.')}.")
            continue
        records.insert(store.database, record)
        found.append(run_id)
    return Brought(tuple(found), datasets, tuple(said))


def _datasets(store: RunStore) -> int:
    """Enter data whose folders are whole, and say how many there were that had no entry."""
    entered, known = 0, store.datasets()
    for folder in sorted((store.root / "datasets").glob("*")):
        if folder.name in known:
            continue
        try:
            meta = datasets.read_meta(folder)
            D, N = meta["shape"]
            told = {"D": int(D), "N": int(N), "labels": list(map(str, meta["labels"]))}
            values = folder.name, store.owner, clean_name(meta["name"]), folder.stat().st_mtime
        except (StoreError, KeyError, TypeError, ValueError):
            continue  # half written: without its last file it is no dataset
        entered += store.database.write(
            "INSERT OR IGNORE INTO datasets VALUES (?, ?, ?, ?, ?)", (*values, json.dumps(told))
        )
    return entered


def _record(store: RunStore, run_id: str) -> RunRecord:
    """The entry of a run, from its copy and from what it has made."""
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
