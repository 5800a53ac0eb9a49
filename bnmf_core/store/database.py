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
# Reserve that is freed on a full disk, so that runs can end and be deleted.
RESERVE, RESERVED = "index.reserve", 2**18
# Error codes of SQLite where nothing can be written.
UNWRITABLE = (
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
)
# Attempts to copy an index that others are changing.
TRIES = 20
# Increased when older programs cannot read the new layout.
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
# Column names of layout 1 and of this layout.
RENAMED = {"study": "launch", "process": "token"}
# A statement and its arguments.
Change: TypeAlias = tuple[str, Sequence[Value]]


class Database:
    """The index in a folder, created or migrated when it is opened.

    Parameters
    ----------
    folder : of the store. refused : why this index is read-only; "" if it can be changed.

    A damaged index is renamed and a new one created; :func:`bnmf_core.store.lost.bring_back` enters
    the runs again from their folders.

    Attributes
    ----------
    set_aside : new path of a damaged index; None if it was intact.

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
        # This connection preserves SQLite's files, needed to read the index on a full disk.
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

        Each use has its own connection, because sqlite3 objects must stay in their thread. The
        index can be read even where nothing can be written beside it.

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
        """Change rows in one transaction, even on a full disk, and return their number.

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
        """Translate an error of SQLite; a trial write finds why nothing can be written."""
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
        """Create the reserve again if the disk has room."""
        if not self._reserve.exists():
            with suppress(OSError):
                files.write(self._reserve, lambda file: file.write(bytes(RESERVED)))


def snapshot(path: Path) -> bytes:
    """A consistent copy of the index as bytes, even while others write.

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
    """Set WAL mode on a restored index, so that readers and writers do not block each other."""
    with suppress(sqlite3.DatabaseError), closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")


def _opened(path: Path) -> sqlite3.Connection:
    """Connect to the index, or to a copy in memory where nothing can be written beside it."""
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
    """Copy the index to memory for reading.

    SQLite stores the index of its log in a file, or in memory for an exclusive connection. No lock
    guarantees exclusivity here; the copy is valid if the files did not change meanwhile.
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
    """Size and modification time of each file; empty for a missing one."""
    found = [path.stat() if path.exists() else None for path in paths]
    return [() if one is None else (one.st_size, one.st_mtime_ns) for one in found]


def _kind(error: sqlite3.Error) -> int:
    """The primary code of an error."""
    return error.sqlite_errorcode & 0xFF


def _set_aside(path: Path) -> Path:
    """Rename a damaged index and its SQLite files; return the new path."""
    when = datetime.now().strftime("%Y%m%d-%H%M%S")
    for suffix in ("", "-wal", "-shm"):
        name = f"{path.name}{suffix}"
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
    """Create the tables, or rename the columns of layout 1."""
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
