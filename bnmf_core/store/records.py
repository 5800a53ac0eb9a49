"""What the index knows of a run."""

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
# SQLite keeps whatever it is given in a column of numbers.
NUMBERS: dict[str, Callable[[Any], float]] = {
    "created": float,
    "seconds": float,
    "done": int,
    "fraction": float,
    "heartbeat": float,
    "busy": float,
}
# Whoever makes a run renews its claim on it; after so many silent seconds the claim has lapsed.
LEASE = 30.0
LAPSED = "The program stopped while this was running; what was saved is kept."
# A restarted container has its host name and often its process number again.
PROCESS_TOKEN = secrets.token_hex(4)


@dataclass(frozen=True)
class RunRecord:
    """What the index knows of a run.

    ``status`` is one of queued, running, complete, cancelled, interrupted, failed; ``launch``
    is shared by the runs that were started side by side, and ``launch_name`` is what these are
    called, "" while nobody has given them a name; ``seconds`` are by the clock, ``busy`` those that
    processors worked, all together, 0 where that was not measured; ``scheduler`` is the address of
    the one whose workers make it, or made it last, "" for this machine; ``token`` names the claim
    of the process that has it, or had it last; ``wish`` is what was asked of that process
    ("cancel"); ``version`` is the program's, every one that worked on it.
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
        """The run at this time: interrupted where it says active, but its claim has lapsed."""
        if self.active and not _claimed(self, now):
            return replace(self, status="interrupted", message=LAPSED, remaining=None)
        return self


COLUMNS = [field.name for field in fields(RunRecord)]
# The copy of an entry in the run's folder, and what it holds beside the spec.
COPY = "run.json"
# Parts of an entry that never change: in both, they are the same.
FIXED = ("dataset", "created", "spec", "launch")
COPIED = ("id", "owner", "name", "dataset", "launch", "created", "version", "launch_name")
UNCHANGED = "id = ? AND owner = ? AND status = ? AND token = ? AND heartbeat = ?"
SELECTED = ", ".join(COLUMNS)


def select(
    database: Database, owner: str, condition: str = "", arguments: Sequence[Value] = ()
) -> tuple[list[RunRecord], dict[str, str]]:
    """Records of an owner as they are written, and those that cannot be read: id → why."""
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
    """A run of an owner as it is written.

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
    """The record of a run that waits to be made; ``further`` : name, launch, token, launch_name,
    scheduler.
    """
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
    """Enter a new run, and keep a copy of its entry in its folder."""
    database.write(*insertion(record))
    copy(database, record)


def insertion(record: RunRecord) -> Change:
    """The change of the index that enters a new run."""
    values = {name: getattr(record, name) for name in COLUMNS}
    values["spec"] = json.dumps(record.spec.to_dict())
    marks = ", ".join("?" * len(values))
    return f"INSERT INTO runs ({SELECTED}) VALUES ({marks})", tuple(values.values())


def copy(database: Database, record: RunRecord) -> None:
    """Keep what does not change of an entry beside what the run makes, should the index be lost."""
    with suppress(OSError):  # on a full disk the entry itself is enough
        write_copy(database.path.parent / "runs" / record.id, record)


def write_copy(folder: Path, record: RunRecord) -> None:
    """Write the copy of an entry into a folder."""
    told = {name: getattr(record, name) for name in COPIED} | {"spec": record.spec.to_dict()}
    files.write_json(folder / COPY, told)


def read_copy(folder: Path) -> RunRecord | None:
    """The entry of a run as it was begun, from its folder; None where there is no copy.

    Raises
    ------
    StoreError, KeyError, TypeError, ValueError
        When the copy is damaged.
    """
    if not (folder / COPY).exists():
        return None
    try:
        told = files.read_json(folder / COPY)
    except DamagedError as error:
        raise DamagedError(f"its {COPY} is damaged") from error
    run_id, owner, dataset, created = (
        told.pop(key) for key in ("id", "owner", "dataset", "created")
    )
    further = {name: str(told[name]) for name in COPIED if name in told}
    return begun(run_id, owner, dataset, RunSpec.from_dict(told["spec"]), float(created), **further)


def swap(database: Database, seen: RunRecord, **values: Value) -> bool:
    """Change a run, but only if nobody has changed its state or claim since it was read.

    ``seen`` is the record as it is written, not as of a time. Returns whether it was changed.
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
    """Change a run, but only if it is in one of the states and still claimed by this token."""
    marks = ", ".join("?" * len(states))
    condition = f"id = ? AND owner = ? AND token = ? AND status IN ({marks})"
    return _update(database, condition, (run_id, owner, token, *states), values)


def remove(database: Database, seen: RunRecord) -> bool:
    """Delete a run's entry, but only if nobody has changed its state or claim since."""
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
    """Host, process number and a random word: enough to see later whether it still lives."""
    return f"{socket.gethostname()}:{os.getpid()}:{PROCESS_TOKEN}"


def _claimed(run: RunRecord, now: float) -> bool:
    """Whether the process that has the run still renews its claim, as far as can be known."""
    if now - run.heartbeat >= LEASE:
        return False
    # A process of this machine need not be waited for: it can be asked whether it is there.
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
