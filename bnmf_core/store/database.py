"""The index of the store: one SQLite file that every process and thread may use at once."""

import sqlite3
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

from bnmf_core.core.errors import StoreError
from bnmf_core.core.plain import Value
from bnmf_core.store import files

NAME = "index.sqlite"
# Room that is given up on a full disk, so that the end of a run can be written there, and runs
# deleted.
RESERVE, RESERVED = "index.reserve", 2**18
# Counted up when a program of before could no longer read what is written.
LAYOUT = 2
TABLES = (
    """CREATE TABLE IF NOT EXISTS datasets (
    id TEXT NOT NULL, owner TEXT NOT NULL, name TEXT NOT NULL, created REAL NOT NULL,
    meta TEXT NOT NULL, PRIMARY KEY (id, owner))""",
    """CREATE TABLE IF NOT EXISTS runs (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, dataset TEXT NOT NULL,
    launch TEXT NOT NULL, spec TEXT NOT NULL, status TEXT NOT NULL, message TEXT NOT NULL,
    created REAL NOT NULL, seconds REAL NOT NULL, done INTEGER NOT NULL,
    fraction REAL NOT NULL, remaining REAL, token TEXT NOT NULL, heartbeat REAL NOT NULL,
    wish TEXT NOT NULL, version TEXT NOT NULL, launch_name TEXT NOT NULL, busy REAL NOT NULL,
    scheduler TEXT NOT NULL)""",
)
# How columns were called in layout 1.
RENAMED = {"study": "launch", "process": "token"}
# A statement and its arguments.
Change: TypeAlias = tuple[str, Sequence[Value]]


class Database:
    """The index in a folder, made or brought up to date when it is opened.

    Parameters
    ----------
    folder : of the store. refused : why nothing may be changed by whoever has opened it; "" where
        everything may.

    An index that is damaged is set aside, and a new one begun; what runs have made lies in their
    folders, from which :func:`bnmf_core.store.lost.bring_back` enters them again.

    Attributes
    ----------
    set_aside : what a damaged index is called now; None where it was whole.

    Raises
    ------
    StoreError
        When a newer program wrote it, or one that is too old.
    """

    def __init__(self, folder: Path, refused: str = "") -> None:
        self.path = folder / NAME
        self._refused = refused
        self.set_aside: Path | None = None
        if self.path.exists() and not self._is_whole():
            self.set_aside = _set_aside(self.path)
        with self.connect() as connection:
            (layout,) = connection.execute("PRAGMA user_version").fetchone()
            if layout > LAYOUT:
                raise StoreError(
                    f"The runs in {folder} were kept by a newer version of this program; update "
                    "the program, or name another folder in BNMF_HOME."
                )
            if layout < LAYOUT:
                _bring_up_to_date(connection, folder)
        # While one is open, the files beside the index stay: without them a full disk could not
        # even be read.
        self._keeper = sqlite3.connect(self.path, timeout=30, check_same_thread=False)
        self._keeper.execute("SELECT count(*) FROM runs").fetchone()
        weakref.finalize(self, self._keeper.close)
        self._reserve = folder / RESERVE
        self._keep_room()

    def _is_whole(self) -> bool:
        try:
            with self.connect() as connection:
                return connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
        except sqlite3.OperationalError:  # locked, or a disk that does not answer: not its fault
            raise
        except sqlite3.DatabaseError:
            return False

    @contextmanager
    def connect(self) -> Iterator[sqlite3.Connection]:
        """A transaction: committed at the end, rolled back after an error.

        A connection per use: sqlite3 objects must stay in their thread, and pages come and go.
        """
        connection = sqlite3.connect(self.path, timeout=30)
        try:
            connection.execute("PRAGMA synchronous = NORMAL")
            with connection:
                yield connection
        finally:
            connection.close()

    def write(self, statement: str, arguments: Sequence[Value] = ()) -> int:
        """Change rows in one statement; see :meth:`write_all`."""
        return self.write_all([(statement, arguments)])

    def write_all(self, changes: Sequence[Change]) -> int:
        """Change rows in one transaction, also on a full disk; returns how many there were.

        Raises
        ------
        StoreError
            When nothing may be changed.
        """
        if self._refused:
            raise StoreError(self._refused)
        try:
            return self._write(changes)
        except sqlite3.OperationalError:
            if not self._reserve.exists():
                raise
            self._reserve.unlink(missing_ok=True)
        try:
            return self._write(changes)
        finally:
            self._keep_room()

    def _write(self, changes: Sequence[Change]) -> int:
        with self.connect() as connection:
            return sum(connection.execute(*change).rowcount for change in changes)

    def _keep_room(self) -> None:
        """Take the reserve again, if the disk has so much room."""
        if not self._reserve.exists():
            with suppress(OSError):
                files.write(self._reserve, lambda file: file.write(bytes(RESERVED)))


def _set_aside(path: Path) -> Path:
    """Rename a damaged index, and what SQLite keeps beside it, so that nothing of it is lost.

    Returns its new name.
    """
    when = datetime.now().strftime("%Y%m%d-%H%M%S")
    for beside in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + beside).rename(
                path.with_name(f"{path.name}{beside}.damaged-{when}")
            )
    return path.with_name(f"{path.name}.damaged-{when}")


def _bring_up_to_date(connection: sqlite3.Connection, folder: Path) -> None:
    """Make the tables, or rename the columns of an index of layout 1."""
    connection.execute("PRAGMA journal_mode = WAL")
    # Two programs may do this at once.
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("PRAGMA user_version").fetchone() == (1,):
        for old, new in RENAMED.items():
            connection.execute(f"ALTER TABLE runs RENAME COLUMN {old} TO {new}")
    for table in TABLES:
        connection.execute(table)
    columns = {row[1] for row in connection.execute("PRAGMA table_info(runs)")}
    if not columns >= {*RENAMED.values(), "scheduler"}:
        raise StoreError(
            f"The runs in {folder} were kept by a version of this program that is too old; name "
            "another folder in BNMF_HOME."
        )
    connection.execute(f"PRAGMA user_version = {LAYOUT}")
