"""The run store: a SQLite index, and a folder of array files per dataset and run.

Every write to a folder is atomic, and the index says what is there; so whatever was reported
as saved survives a killed process.
"""

import json
import os
import secrets
import shutil
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from bnmf_core.nouns.dataset import Dataset
from bnmf_core.nouns.errors import NotFoundError, StoreError
from bnmf_core.nouns.particles import Particles
from bnmf_core.nouns.spec import RunSpec
from bnmf_core.store import folders
from bnmf_core.store.datasets import read_dataset, write_dataset

SCHEMA = """
CREATE TABLE IF NOT EXISTS datasets (
    id TEXT NOT NULL, owner TEXT NOT NULL, name TEXT NOT NULL, created REAL NOT NULL,
    meta TEXT NOT NULL, PRIMARY KEY (id, owner));
CREATE TABLE IF NOT EXISTS runs (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, dataset TEXT NOT NULL,
    study TEXT NOT NULL, spec TEXT NOT NULL, status TEXT NOT NULL, message TEXT NOT NULL,
    created REAL NOT NULL, seconds REAL NOT NULL, done INTEGER NOT NULL,
    fraction REAL NOT NULL, remaining REAL, process TEXT NOT NULL, heartbeat REAL NOT NULL);
"""

# A run whose process cannot be asked counts as interrupted after this many silent seconds.
SILENCE = 120.0
# A restarted container has its host name and often its process number again.
PROCESS_TOKEN = secrets.token_hex(4)
RUN_COLUMNS = (
    "id, owner, name, dataset, study, spec, status, message, created, seconds, done, fraction, "
    "remaining, process, heartbeat"
)
UPDATABLE = {
    "name",
    "status",
    "message",
    "seconds",
    "done",
    "fraction",
    "remaining",
    "process",
    "heartbeat",
}
ACTIVE = ("queued", "running")


@dataclass(frozen=True)
class RunRecord:
    """What the index knows of a run.

    ``status`` is one of queued, running, complete, cancelled, interrupted, failed; ``study``
    is shared by the runs that were started side by side.
    """

    id: str
    owner: str
    name: str
    dataset: str
    study: str
    spec: RunSpec
    status: str
    message: str
    created: float
    seconds: float
    done: int
    fraction: float
    remaining: float | None
    process: str
    heartbeat: float

    @property
    def active(self) -> bool:
        """Whether it is waiting or running."""
        return self.status in ACTIVE


@dataclass(frozen=True)
class DatasetRecord:
    """What the index knows of a dataset: its id, name, size (D, N) and time of arrival."""

    id: str
    name: str
    D: int
    N: int
    created: float


class RunStore:
    """Datasets, runs and their results under one folder, for one owner.

    Parameters
    ----------
    root : folder of the store; made if missing. owner : only this owner's runs are seen.
    """

    def __init__(self, root: str | Path, owner: str = "local") -> None:
        self.root = Path(root)
        self.owner = owner
        self.root.mkdir(parents=True, exist_ok=True)
        self._local = threading.local()
        self._dataset = lru_cache(maxsize=8)(self._read_dataset)
        self._particles = lru_cache(maxsize=32)(_read_particles)
        with self._connect() as connection:
            connection.executescript(SCHEMA)

    # Datasets

    def add_dataset(self, dataset: Dataset) -> str:
        """Keep a dataset; the same content is kept once. Returns its id."""
        folder = self.root / "datasets" / dataset.hash
        if not (folder / "meta.json").exists():
            write_dataset(folder, dataset)
        meta = {"D": dataset.D, "N": dataset.N, "labels": list(dataset.labels)}
        with self._connect() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO datasets VALUES (?, ?, ?, ?, ?)",
                (dataset.hash, self.owner, dataset.name, time.time(), json.dumps(meta)),
            )
        return dataset.hash

    def dataset(self, dataset_id: str) -> Dataset:
        """The dataset with this id, or a NotFoundError."""
        if dataset_id not in self.datasets():
            raise NotFoundError(f"There is no dataset {dataset_id!r} in this store.")
        return self._dataset(dataset_id)

    def datasets(self) -> dict[str, str]:
        """Names by id, newest first."""
        return {record.id: record.name for record in self.dataset_records()}

    def dataset_records(self) -> list[DatasetRecord]:
        """What is known of each dataset without opening it, newest first."""
        with self._connect() as connection:
            rows = connection.execute(
                "SELECT id, name, meta, created FROM datasets WHERE owner = ? "
                "ORDER BY created DESC, rowid DESC",
                (self.owner,),
            ).fetchall()
        sizes = [json.loads(meta) for _, _, meta, _ in rows]
        return [
            DatasetRecord(id_, name, size["D"], size["N"], created)
            for (id_, name, _, created), size in zip(rows, sizes, strict=True)
        ]

    def _read_dataset(self, dataset_id: str) -> Dataset:
        return read_dataset(self.root / "datasets" / dataset_id)

    # Runs

    def create_run(
        self, dataset_id: str, spec: RunSpec, name: str = "", study: str | None = None
    ) -> str:
        """Enter a new run as queued and return its id."""
        run_id = secrets.token_hex(4)
        values = (
            run_id, self.owner, name, dataset_id, study or run_id, json.dumps(spec.to_dict()),
            "queued", "", time.time(), 0.0, 0, 0.0, None, this_process(), time.time(),
        )  # fmt: skip
        with self._connect() as connection:
            connection.execute(
                f"INSERT INTO runs ({RUN_COLUMNS}) VALUES ({', '.join('?' * len(values))})", values
            )
        return run_id

    def run(self, run_id: str) -> RunRecord:
        """The record of one run, or a NotFoundError."""
        found = self._select("AND id = ?", (run_id,))
        if not found:
            raise NotFoundError(f"There is no run {run_id!r} in this store.")
        return found[0]

    def runs(self) -> list[RunRecord]:
        """All runs of this owner, newest first."""
        return self._select("ORDER BY created DESC, rowid DESC", ())

    def update(self, run_id: str, **values: Any) -> None:
        """Change some of a run's entries (status, message, done, …)."""
        unknown = set(values) - UPDATABLE
        if unknown:
            raise StoreError(f"A run has no changeable entry {', '.join(sorted(unknown))}.")
        assignments = ", ".join(f"{key} = ?" for key in values)
        with self._connect() as connection:
            connection.execute(
                f"UPDATE runs SET {assignments} WHERE id = ? AND owner = ?",
                (*values.values(), run_id, self.owner),
            )

    def delete_run(self, run_id: str) -> None:
        """Remove a run that is not active, with all its files."""
        if self.run(run_id).active:
            raise StoreError(f"Run {run_id} is still running; cancel it before deleting it.")
        with self._connect() as connection:
            connection.execute("DELETE FROM runs WHERE id = ? AND owner = ?", (run_id, self.owner))
        shutil.rmtree(self.run_folder(run_id), ignore_errors=True)

    def run_folder(self, run_id: str) -> Path:
        """Where a run's files are."""
        return self.root / "runs" / run_id

    def particles(self, run_id: str) -> Particles:
        """What a run has made so far; a finished run is memory-mapped.

        Raises
        ------
        StoreError
            When nothing has been saved yet or a file is torn.
        """
        record = self.run(run_id)
        folder = self.run_folder(run_id)
        whole = folder / folders.COMPLETE
        if whole.exists():
            return self._particles(folder, whole.stat().st_mtime_ns)
        return folders.read_partial(folder, record.spec, record.status)

    def mark_interrupted(self) -> list[str]:
        """Mark active runs whose process is gone as interrupted; returns their ids."""
        gone = [run.id for run in self.runs() if run.active and not _alive(run)]
        for run_id in gone:
            message = "The program stopped while this was running; what was saved is kept."
            self.update(run_id, status="interrupted", message=message, remaining=None)
        return gone

    # SQLite

    def _select(self, condition: str, arguments: tuple) -> list[RunRecord]:
        with self._connect() as connection:
            rows = connection.execute(
                f"SELECT {RUN_COLUMNS} FROM runs WHERE owner = ? {condition}",
                (self.owner, *arguments),
            ).fetchall()
        return [RunRecord(*row[:5], RunSpec(**json.loads(row[5])), *row[6:]) for row in rows]

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        # A connection per use: sqlite3 objects must stay in their thread, and pages come and go.
        connection = sqlite3.connect(self.root / "index.sqlite", timeout=30)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            with connection:
                yield connection
        finally:
            connection.close()


def _read_particles(folder: Path, written: int) -> Particles:
    # ``written`` is only there so that a run that was resumed is read again.
    return folders.read_particles(folder)


def this_process() -> str:
    """Host, process number and a random token: enough to see later whether it still lives."""
    return f"{socket.gethostname()}:{os.getpid()}:{PROCESS_TOKEN}"


def _alive(run: RunRecord) -> bool:
    if run.process == this_process():
        return True
    host, number, _ = run.process.split(":")
    if host != socket.gethostname():
        return time.time() - run.heartbeat < SILENCE
    if int(number) == os.getpid():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
