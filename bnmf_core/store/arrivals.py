"""Bring several things into a store at once: all or none, also where the program is killed.

It is made in a folder aside, moved to its places, and entered into the index in one transaction.
Before anything is moved, a file aside names the places: what is there and has no entry then is
removed again, by this program or by the next one that opens the store.
"""

import fcntl
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from bnmf_core.core.errors import StoreError
from bnmf_core.store import files
from bnmf_core.store.database import Change, Database

PREFIX, PLACES, LOCK = "arriving-", "places.json", "arriving.lock"
# Seconds that one waits for another to be brought in, and between two tries.
PATIENCE, BETWEEN_TRIES = 60.0, 0.05


@contextmanager
def arriving(database: Database) -> Iterator[Path]:
    """A folder aside in the store; what has been moved from it and not been entered goes with it.

    Raises
    ------
    StoreError
        When another program has been bringing something in for a minute.
    """
    root = database.path.parent
    with _only_one(root, PATIENCE) as alone:
        if not alone:
            raise StoreError("Another archive is being opened here; try again when it is.")
        _sweep(database)
        aside = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
        try:
            yield aside
        finally:
            _take_back(database, aside)


def enter(
    database: Database, aside: Path, places: Sequence[str], changes: Sequence[Change]
) -> None:
    """Move what lies at these places of ``aside`` to those of the store, and change the index."""
    files.write_json(aside / PLACES, list(places))
    for place in places:
        target = database.path.parent / place
        target.parent.mkdir(parents=True, exist_ok=True)
        (aside / place).rename(target)
    database.write_all(changes)


def expected(root: Path) -> set[str]:
    """Places of what is being brought in, or was when a program was killed."""
    return {place for aside in root.glob(f"{PREFIX}*") for place in _places(aside)}


def sweep(database: Database) -> None:
    """Remove what programs that were killed have left, unless one is at work."""
    root = database.path.parent
    if any(root.glob(f"{PREFIX}*")):
        with suppress(OSError), _only_one(root, 0.0) as alone:
            if alone:
                _sweep(database)


def _sweep(database: Database) -> None:
    for aside in database.path.parent.glob(f"{PREFIX}*"):
        _take_back(database, aside)


def _take_back(database: Database, aside: Path) -> None:
    """Remove what was moved and is not in the index; then the folder itself."""
    places = _places(aside)
    with database.connect() as connection:
        known = {
            f"{table}/{row[0]}"
            for table in ("runs", "datasets")
            for row in connection.execute(f"SELECT id FROM {table}")
        }
    entered = not known.isdisjoint(places)
    # What is still aside was never moved: what has its place is somebody else's.
    for place in (place for place in places if not (aside / place).exists()):
        # Of notes and results, the index does not know.
        if place not in known and not (entered and place.startswith(("notes/", "analyses/"))):
            path = database.path.parent / place
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
    shutil.rmtree(aside, ignore_errors=True)


def _places(aside: Path) -> list[str]:
    try:
        return list(map(str, files.read_json(aside / PLACES)))
    except StoreError:  # nothing has been moved
        return []


@contextmanager
def _only_one(root: Path, seconds: float) -> Iterator[bool]:
    """Whether no other program or thread is in here, asked for so many seconds."""
    end = time.monotonic() + seconds
    with (root / LOCK).open("ab") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > end:
                    yield False
                    return
                time.sleep(BETWEEN_TRIES)
            else:
                yield True
                return
