"""The run store: an index, and a folder of array files per dataset and run.

Writes to folders are atomic, and the index lists what exists, so everything reported as saved
survives a killed process.
"""

import json
import shutil
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DamagedError, NotFoundError
from bnmf_core.core.particles import Particles
from bnmf_core.store import arrivals, folders, quota, records
from bnmf_core.store.database import Change, Database
from bnmf_core.store.datasets import is_stored, read_dataset, verify, write_dataset
from bnmf_core.store.home import make
from bnmf_core.store.launches import Launch, grouped
from bnmf_core.store.life import Life
from bnmf_core.store.notes import NoteBook
from bnmf_core.store.records import RunRecord


class DatasetEntry(NamedTuple):
    """The entry of a dataset in the index: X is (D, N); ``created`` in seconds since 1970."""

    id: str
    name: str
    created: float
    D: int
    N: int
    labels: tuple[str, ...]


class RunStore:
    """Datasets, runs and their results under one folder, for one owner.

    Parameters
    ----------
    root : folder of the store; made if missing. owner : only this owner's runs are seen.
    most : quota in bytes; 0 for no limit.

    Attributes
    ----------
    life : transitions of runs.

    Examples
    --------
    >>> import tempfile
    >>> from bnmf_core import RunStore, laurberg
    >>> store = RunStore(tempfile.mkdtemp())
    >>> dataset_id = store.add_dataset(laurberg("two"))
    >>> store.dataset(dataset_id).X.shape, store.runs()
    ((6, 6), [])
    """

    def __init__(self, root: str | Path, owner: str = "local", most: int = 0) -> None:
        self.root = Path(root)
        self.owner = owner
        self.most = most
        make(self.root)
        if most:
            quota.limit(self.root, most)
        self.database = Database(self.root)
        arrivals.sweep(self.database)
        self.life = Life(self.database, owner)
        self.notes = NoteBook(self.root, owner)
        self._dataset = lru_cache(maxsize=8)(self._read_dataset)
        # The number written invalidates what is cached of a run that was resumed.
        self._particles = lru_cache(maxsize=32)(lambda path, _written: folders.read_particles(path))

    def check_room(self, further: int) -> None:
        """Refuse ``further`` bytes if they exceed the quota.

        Raises
        ------
        StoreError
            When they do; the message states the sizes.
        """
        quota.check(self.root, further)

    # Datasets

    def add_dataset(self, dataset: Dataset) -> str:
        """Store a dataset, unless the same content is stored undamaged, and return its id.

        Raises
        ------
        StoreError
            When there is no room for it.
        """
        folder = self.root / "datasets" / dataset.hash
        if not is_stored(folder, dataset):
            of_texts = sum(map(len, dataset.texts or ()))
            self.check_room(8 * dataset.stored_entries + of_texts)
            write_dataset(folder, dataset)
        self.database.write(*self.insertion(dataset))
        return dataset.hash

    def insertion(self, dataset: Dataset) -> Change:
        """The change of the index that enters a dataset unless it has an entry."""
        meta = {"D": dataset.D, "N": dataset.N, "labels": list(dataset.labels)}
        return (
            "INSERT OR IGNORE INTO datasets VALUES (?, ?, ?, ?, ?)",
            (dataset.hash, self.owner, dataset.name, time.time(), json.dumps(meta)),
        )

    def dataset(self, dataset_id: str) -> Dataset:
        """The dataset with this id, or a NotFoundError."""
        if dataset_id not in self.datasets():
            raise NotFoundError(f"There is no dataset {dataset_id!r} in this store.")
        return self._dataset(dataset_id)

    def verify_dataset(self, dataset_id: str) -> None:
        """Raise a StoreError if stored data are damaged."""
        verify(self.root / "datasets" / dataset_id)

    def datasets(self) -> dict[str, str]:
        """Names by id, newest first."""
        return {entry.id: entry.name for entry in self.dataset_entries()}

    def dataset_entries(self) -> list[DatasetEntry]:
        """Entries of the datasets, newest first."""
        with self.database.connect() as connection:
            rows = connection.execute(
                "SELECT id, name, created, meta FROM datasets WHERE owner = ? "
                "ORDER BY created DESC, rowid DESC",
                (self.owner,),
            ).fetchall()
        entries = []
        for dataset_id, name, created, text in rows:
            meta = json.loads(text)
            labels = tuple(meta.get("labels", ()))
            entries.append(DatasetEntry(dataset_id, name, created, meta["D"], meta["N"], labels))
        return entries

    def dataset_is_shared(self, dataset_id: str) -> bool:
        """Whether another owner has the same data."""
        with self.database.connect() as connection:
            found = connection.execute(
                "SELECT 1 FROM datasets WHERE id = ? AND owner != ?", (dataset_id, self.owner)
            )
            return found.fetchone() is not None

    def remove_dataset(self, dataset_id: str) -> bool:
        """Remove a dataset's entry unless a run uses it; files stay. Whether it was removed."""
        removed = self.database.write(
            "DELETE FROM datasets WHERE id = ? AND owner = ? AND NOT EXISTS "
            "(SELECT 1 FROM runs WHERE dataset = datasets.id AND runs.owner = datasets.owner)",
            (dataset_id, self.owner),
        )
        return removed == 1

    def _read_dataset(self, dataset_id: str) -> Dataset:
        return read_dataset(self.root / "datasets" / dataset_id)

    # Runs

    def run(self, run_id: str) -> RunRecord:
        """The record of one run.

        Raises
        ------
        NotFoundError
            When there is none. StoreError: when another version wrote it and it cannot be read.
        """
        return records.find(self.database, self.owner, run_id).as_of(time.time())

    def runs(self) -> list[RunRecord]:
        """All runs of this owner that can be read, newest first."""
        return self._select()[0]

    def launches(self) -> list[Launch]:
        """All runs of this owner that can be read, by launch, the newest first."""
        return grouped(self.runs())

    def unreadable(self) -> dict[str, str]:
        """Runs that another version wrote and this one cannot read: id → a sentence."""
        return self._select()[1]

    def made(self) -> dict[str, int]:
        """How many particles each run has, of every owner, readable or not."""
        with self.database.connect() as connection:
            return dict(connection.execute("SELECT id, done FROM runs").fetchall())

    def datasets_in_use(self) -> set[str]:
        """Ids of the data of this owner's runs, readable or not."""
        with self.database.connect() as connection:
            rows = connection.execute("SELECT dataset FROM runs WHERE owner = ?", (self.owner,))
            return {row[0] for row in rows}

    def rename(self, run_id: str, name: str) -> None:
        """Give a run a name."""
        self.database.write(
            "UPDATE runs SET name = ? WHERE id = ? AND owner = ?", (name, run_id, self.owner)
        )
        self._copy("AND id = ?", run_id)

    def rename_launch(self, launch: str, name: str) -> None:
        """Give the runs of a launch a name together."""
        self.database.write(
            "UPDATE runs SET launch_name = ? WHERE launch = ? AND owner = ?",
            (name, launch, self.owner),
        )
        self._copy("AND launch = ?", launch)

    def _copy(self, condition: str, argument: str) -> None:
        """Update the copies of entries in the folders of the runs."""
        for record in records.select(self.database, self.owner, condition, (argument,))[0]:
            records.copy(self.database, record)

    def delete_run(self, run_id: str) -> None:
        """Remove a run that is not active, with all its files.

        Raises
        ------
        StoreError, NotFoundError
            When it is active, or there is none.
        """
        self.life.delete(run_id)
        folder = self.run_folder(run_id)
        # Without these files, the remains of a failed removal do not count as a lost run.
        for name in (records.COPY, folders.COMPLETE):
            with suppress(OSError):
                (folder / name).unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)

    def run_folder(self, run_id: str) -> Path:
        """Where a run's files are."""
        return self.root / "runs" / run_id

    def particles(self, run_id: str) -> Particles:
        """The particles of a run so far; a finished run is memory-mapped.

        Raises
        ------
        StoreError
            When nothing has been saved yet. DamagedError: when all of it is damaged.
        """
        record = self.run(run_id)
        folder = self.run_folder(run_id)
        whole = folder / folders.COMPLETE
        try:
            if whole.exists():
                return self._particles(folder, whole.stat().st_mtime_ns)
            return folders.read_partial(folder, record.spec, record.status, record.done)
        except DamagedError as error:
            raise DamagedError(f"Run {run_id}: {error}") from error

    def _select(self) -> tuple[list[RunRecord], dict[str, str]]:
        newest_first = "ORDER BY created DESC, rowid DESC"
        found, unreadable = records.select(self.database, self.owner, newest_first)
        now = time.time()
        return [record.as_of(now) for record in found], unreadable
