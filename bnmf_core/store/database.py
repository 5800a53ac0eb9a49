"""The index of the store: one SQLite file that every process and thread may use at once."""

import sqlite3
import weakref
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

from bnmf_core.core.errors import DamagedError, DiskError, StoreError
from bnmf_core.core.plain import Value
from bnmf_core.store import disk, files

NAME = "index.sqlite"
# Room that is given up on a full disk, so that the end of a run can be written there, and runs
# deleted.
RESERVE, RESERVED = "index.reserve", 2**18
# Where nothing can be written, SQLite says one of these.
UNWRITABLE = (
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
)
# An index that others are changing is copied so often.
TRIES = 20
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
        self._reserve = folder / RESERVE
        self._keeper: sqlite3.Connection | None = None
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
        # Keep the files beside the index there: without them, a full disk is read as it was.
        try:
            keeper = sqlite3.connect(self.path, timeout=30, check_same_thread=False)
            weakref.finalize(self, keeper.close)
            keeper.execute("SELECT count(*) FROM runs").fetchone()
            self._keeper = keeper
        except sqlite3.OperationalError:
            keeper.close()
        self._keep_room()

    def _is_whole(self) -> bool:
        try:
            with self.connect() as connection:
                return connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
        except DamagedError:
            return False

    @contextmanager
    def connect(self) -> Iterator[sqlite3.Connection]:
        """A transaction: committed at the end, rolled back after an error.

        A connection per use: sqlite3 objects must stay in their thread, and pages come and go.
        Where nothing can be written beside the index, what is there can be read.

        Raises
        ------
        DiskError
            When it cannot be written, or read, or others hold it. DamagedError: when it is damaged.
        """
        try:
            connection = _opened(self.path)
            try:
                with connection:
                    yield connection
            finally:
                connection.close()
        except sqlite3.OperationalError as error:
            raise self._not_done(error) from error
        except sqlite3.DatabaseError as error:
            raise DamagedError(
                f"The list of runs, {str(self.path)!r}, is damaged: {error}. Start the program "
                "again: it sets the list aside, and `bnmf recover` brings back the runs."
            ) from error

    def write(self, statement: str, arguments: Sequence[Value] = ()) -> int:
        """Change rows in one statement; see :meth:`write_all`."""
        return self.write_all([(statement, arguments)])

    def write_all(self, changes: Sequence[Change]) -> int:
        """Change rows in one transaction, also on a full disk; returns how many there were.

        Raises
        ------
        StoreError
            When nothing may be changed. DiskError: when nothing can be written.
        """
        if self._refused:
            raise StoreError(self._refused)
        try:
            return self._write(changes)
        except DiskError:
            if not self._give_up_room():
                raise
        try:
            return self._write(changes)
        finally:
            self._keep_room()

    def _write(self, changes: Sequence[Change]) -> int:
        with self.connect() as connection:
            return sum(connection.execute(*change).rowcount for change in changes)

    def _not_done(self, error: sqlite3.OperationalError) -> DiskError:
        """What an error of SQLite means; why nothing can be written is found by trying."""
        if _kind(error) not in UNWRITABLE:
            return DiskError(
                f"The list of runs, {str(self.path)!r}, cannot be used: {error}; try again."
            )
        return disk.not_written(self.path.parent, disk.hindrance(self.path.parent) or error)

    def _give_up_room(self) -> bool:
        with suppress(OSError):
            self._reserve.unlink()
            return True
        return False

    def _keep_room(self) -> None:
        """Take the reserve again, if the disk has so much room."""
        if not self._reserve.exists():
            with suppress(OSError):
                files.write(self._reserve, lambda file: file.write(bytes(RESERVED)))


def snapshot(path: Path) -> bytes:
    """The index as it is at this moment, as the content of one file, while others write it.

    Raises
    ------
    DamagedError
        When it is damaged.
    """
    try:
        with closing(_opened(path)) as source, closing(sqlite3.connect(":memory:")) as copy:
            source.backup(copy)
            return copy.serialize()
    except sqlite3.DatabaseError as error:
        raise DamagedError(f"The list of runs {str(path)!r} is damaged: {error}.") from error


def as_it_is_used(path: Path) -> None:
    """Let readers and writers of an index that was put back go on side by side, as of any."""
    with suppress(sqlite3.DatabaseError), closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")


def _opened(path: Path) -> sqlite3.Connection:
    """A connection to the index; to a copy in memory where nothing can be written beside it."""
    connection = sqlite3.connect(path, timeout=30)
    try:
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.OperationalError as error:
        connection.close()
        if _kind(error) not in UNWRITABLE or not path.exists():
            raise
        return _in_memory(path)
    except BaseException:
        connection.close()
        raise
    return connection


def _in_memory(path: Path) -> sqlite3.Connection:
    """A copy of the index that can be read.

    SQLite keeps notes on its log in a file of their own, or, of a connection that is alone, in
    memory. No lock says that it is; the copy counts if the files were the same before and after.
    """
    log = path.with_name(f"{path.name}-wal")
    for _ in range(TRIES):
        before = _states(path, log)
        alone = "vfs=unix-none" if before[1][:1] > (0,) else "immutable=1"
        copy = sqlite3.connect(":memory:")
        with closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&{alone}", uri=True)
        ) as source:
            source.execute("PRAGMA locking_mode = EXCLUSIVE")
            source.backup(copy)
        if _states(path, log) == before:
            copy.execute("PRAGMA query_only = ON")
            return copy
        copy.close()
    raise DiskError(f"The list of runs, {str(path)!r}, is being changed by others; try again.")


def _states(*paths: Path) -> list[tuple[int, ...]]:
    """Size and time of change of files; empty where there is none."""
    found = [path.stat() if path.exists() else None for path in paths]
    return [() if one is None else (one.st_size, one.st_mtime_ns) for one in found]


def _kind(error: sqlite3.Error) -> int:
    """The code of an error, without what further it tells."""
    return error.sqlite_errorcode & 0xFF


def _set_aside(path: Path) -> Path:
    """Rename a damaged index, and what SQLite keeps beside it; its new name."""
    when = datetime.now().strftime("%Y%m%d-%H%M%S")
    for beside in ("", "-wal", "-shm"):
        name = f"{path.name}{beside}"
        try:
            path.with_name(name).rename(path.with_name(f"{name}.damaged-{when}"))
        except FileNotFoundError:
            continue
        except OSError as error:
            raise DamagedError(
                f"The list of runs, {str(path)!r}, is damaged and cannot be set aside: "
                f"{disk.reason(error)}. `bnmf recover` brings back the runs where it can be."
            ) from error
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
