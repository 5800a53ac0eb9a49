"""Entries of runs in the index."""

import json
import os
import secrets
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from bnmf_core.core.errors import DamagedError, NotFoundError, StoreError
from bnmf_core.core.plain import Value
from bnmf_core.core.spec import RunSpec
from bnmf_core.store import files
from bnmf_core.store.database import Change, Database
from bnmf_core.version import VERSION

ACTIVE = ("queued", "running")
STATES = (*ACTIVE, "complete", "cancelled", "interrupted", "failed")
# SQLite does not enforce the types of numeric columns.
NUMBERS: dict[str, Callable[[Any], float]] = {
    "created": float,
    "seconds": float,
    "done": int,
    "fraction": float,
    "heartbeat": float,
    "busy": float,
}
# Seconds after which a claim on a run lapses unless it is renewed.
LEASE = 30.0
LAPSED = "The program stopped while this was running; what was saved is kept."
# A restarted container often has the same host name and process number.
PROCESS_TOKEN = secrets.token_hex(4)


@dataclass(frozen=True)
class RunRecord:
    """The entry of a run in the index.

    ``status`` is one of queued, running, complete, cancelled, interrupted, failed; ``launch``
    is shared by the runs that were started together, and ``launch_name`` is their name, "" without
    one; ``seconds`` is wall-clock time, ``busy`` total CPU time, 0 if not measured; ``scheduler``
    is the address of the last scheduler, "" for this machine; ``token`` names the last claim;
    ``wish`` is a request to its process ("cancel"); ``version`` lists all versions of the program
    that worked on it.
    """

    id: str
    owner: str
    name: str
    dataset: str
    launch: str
    spec: RunSpec
    status: str
    message: str
    created: float
    seconds: float
    done: int
    fraction: float
    remaining: float | None
    token: str
    heartbeat: float
    wish: str
    version: str
    launch_name: str = ""
    busy: float = 0.0
    scheduler: str = ""

    @property
    def active(self) -> bool:
        """Whether it is waiting or running."""
        return self.status in ACTIVE

    def as_of(self, now: float) -> "RunRecord":
        """The run at this time: interrupted if it is active but its claim has lapsed."""
        if self.active and not _claimed(self, now):
            return replace(self, status="interrupted", message=LAPSED, remaining=None)
        return self


COLUMNS = [field.name for field in fields(RunRecord)]
# File name of the copy of an entry in the run's folder.
COPY = "run.json"
# Fields of an entry that never change.
FIXED = ("dataset", "created", "spec", "launch")
COPIED = ("id", "owner", "name", "dataset", "launch", "created", "version", "launch_name")
UNCHANGED = "id = ? AND owner = ? AND status = ? AND token = ? AND heartbeat = ?"
SELECTED = ", ".join(COLUMNS)


def select(
    database: Database, owner: str, condition: str = "", arguments: Sequence[Value] = ()
) -> tuple[list[RunRecord], dict[str, str]]:
    """Records of an owner as stored, and unreadable ones: id → reason."""
    with database.connect() as connection:
        rows = connection.execute(
            f"SELECT {SELECTED} FROM runs WHERE owner = ? {condition}", (owner, *arguments)
        ).fetchall()
    records, unreadable = [], {}
    for row in rows:
        values = dict(zip(COLUMNS, row, strict=True))
        try:
            values["spec"] = RunSpec.from_dict(json.loads(values["spec"]))
            values |= {name: kind(values[name]) for name, kind in NUMBERS.items()}
            if values["status"] not in STATES:
                raise ValueError(f"its state is {values['status']!r}")
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            unreadable[str(values["id"])] = (
                f"Run {values['id']} was stored by another version of this program "
                f"({values['version'] or 'unknown'}), or its entry is damaged, and it cannot be "
                f"shown: {error}."
            )
            continue
        records.append(RunRecord(**values))
    return records, unreadable


def find(database: Database, owner: str, run_id: str) -> RunRecord:
    """A run of an owner as stored.

    Raises
    ------
    NotFoundError
        When there is none. StoreError: when another version wrote it and it cannot be read.
    """
    found, unreadable = select(database, owner, "AND id = ?", (run_id,))
    if run_id in unreadable:
        raise StoreError(unreadable[run_id])
    if not found:
        raise NotFoundError(f"There is no run {run_id!r} in this store.")
    return found[0]


def begun(
    run_id: str, owner: str, dataset: str, spec: RunSpec, created: float, **further: str
) -> RunRecord:
    """The record of a queued run; ``further`` : name, launch, token, launch_name, scheduler."""
    fresh: dict[str, Any] = {
        "name": "",
        "launch": run_id,
        "status": "queued",
        "message": "",
        "seconds": 0.0,
        "done": 0,
        "fraction": 0.0,
        "remaining": None,
        "token": "",
        "heartbeat": created,
        "wish": "",
        "version": VERSION,
    }
    return RunRecord(
        id=run_id, owner=owner, dataset=dataset, spec=spec, created=created, **(fresh | further)
    )


def insert(database: Database, record: RunRecord) -> None:
    """Enter a new run and write a copy of its entry to its folder."""
    database.write(*insertion(record))
    copy(database, record)


def insertion(record: RunRecord) -> Change:
    """The change of the index that enters a new run."""
    values = {name: getattr(record, name) for name in COLUMNS}
    values["spec"] = json.dumps(record.spec.to_dict())
    marks = ", ".join("?" * len(values))
    return f"INSERT INTO runs ({SELECTED}) VALUES ({marks})", tuple(values.values())


def copy(database: Database, record: RunRecord) -> None:
    """Write the fixed fields of an entry to the run's folder, in case the index is lost."""
    with suppress(OSError):  # on a full disk the entry itself is enough
        write_copy(database.path.parent / "runs" / record.id, record)


def write_copy(folder: Path, record: RunRecord) -> None:
    """Write the copy of an entry into a folder."""
    entry = {name: getattr(record, name) for name in COPIED} | {"spec": record.spec.to_dict()}
    files.write_json(folder / COPY, entry)


def read_copy(folder: Path) -> RunRecord | None:
    """Read the initial entry of a run from its folder; None without a copy.

    Raises
    ------
    StoreError, KeyError, TypeError, ValueError
        When the copy is damaged.
    """
    if not (folder / COPY).exists():
        return None
    try:
        entry = files.read_json(folder / COPY)
    except DamagedError as error:
        raise DamagedError(f"its {COPY} is damaged") from error
    run_id, owner, dataset, created = (
        entry.pop(key) for key in ("id", "owner", "dataset", "created")
    )
    further = {name: str(entry[name]) for name in COPIED if name in entry}
    return begun(
        run_id, owner, dataset, RunSpec.from_dict(entry["spec"]), float(created), **further
    )


def swap(database: Database, seen: RunRecord, **values: Value) -> bool:
    """Change a run only if its state and claim are unchanged since it was read.

    ``seen`` is the record as stored, not as of a time. Returns whether it was changed.
    """
    return _update(database, UNCHANGED, _seen(seen), values)


def swap_held(
    database: Database,
    owner: str,
    run_id: str,
    token: str,
    states: Sequence[str],
    values: Mapping[str, Value],
) -> bool:
    """Change a run only if it is in one of the states and claimed by this token."""
    marks = ", ".join("?" * len(states))
    condition = f"id = ? AND owner = ? AND token = ? AND status IN ({marks})"
    return _update(database, condition, (run_id, owner, token, *states), values)


def remove(database: Database, seen: RunRecord) -> bool:
    """Delete a run's entry only if its state and claim are unchanged."""
    return database.write(f"DELETE FROM runs WHERE {UNCHANGED}", _seen(seen)) == 1


def remove_unreadable(database: Database, owner: str, run_id: str) -> None:
    """Delete the entry of a run that cannot be read, whatever its state."""
    database.write("DELETE FROM runs WHERE id = ? AND owner = ?", (run_id, owner))


def _update(
    database: Database, condition: str, arguments: Sequence[Value], values: Mapping[str, Value]
) -> bool:
    unknown = sorted(set(values) - set(COLUMNS))
    if unknown:
        raise StoreError(f"A run has no entry {', '.join(unknown)}.")
    changes = ", ".join(f"{name} = ?" for name in values)
    statement = f"UPDATE runs SET {changes} WHERE {condition}"
    return database.write(statement, (*values.values(), *arguments)) == 1


def _seen(record: RunRecord) -> tuple[Value, ...]:
    return record.id, record.owner, record.status, record.token, record.heartbeat


def this_process() -> str:
    """Host, process number and a random token, which identify a living process."""
    return f"{socket.gethostname()}:{os.getpid()}:{PROCESS_TOKEN}"


def _claimed(run: RunRecord, now: float) -> bool:
    """Whether the claim of a run is valid, as far as can be known."""
    if now - run.heartbeat >= LEASE:
        return False
    # Whether a process of this machine exists is known at once.
    host, number, word = [*run.token.split(":"), "", "", ""][:3]
    if host != socket.gethostname() or not number.isdigit():
        return True
    if int(number) == os.getpid():
        return word == PROCESS_TOKEN
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
