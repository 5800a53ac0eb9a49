"""Import several items into a store at once: all or none, even if the program is killed.

Items are written to a temporary folder, moved to their places, and entered into the index in one
transaction. A file in the temporary folder lists the places before the move; items there without
an entry are removed by this program or by the next one that opens the store.
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
# Seconds to wait for another import, and between two attempts.
PATIENCE, BETWEEN_TRIES = 60.0, 0.05


@contextmanager
def arriving(database: Database) -> Iterator[Path]:
    """A temporary folder in the store; items moved from it but not entered are removed with it.

    Raises
    ------
    StoreError
        When another import holds the lock for a minute.
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
    """Move these places of ``aside`` to the store and change the index."""
    files.write_json(aside / PLACES, list(places))
    for place in places:
        target = database.path.parent / place
        target.parent.mkdir(parents=True, exist_ok=True)
        (aside / place).rename(target)
    database.write_all(changes)


def expected(root: Path) -> set[str]:
    """Places of imports that are in progress or were interrupted."""
    return {place for aside in root.glob(f"{PREFIX}*") for place in _places(aside)}


def sweep(database: Database) -> None:
    """Remove remains of interrupted imports unless one is in progress."""
    root = database.path.parent
    if any(root.glob(f"{PREFIX}*")):
        with suppress(OSError), _only_one(root, 0.0) as alone:
            if alone:
                _sweep(database)


def _sweep(database: Database) -> None:
    for aside in database.path.parent.glob(f"{PREFIX}*"):
        _take_back(database, aside)


def _take_back(database: Database, aside: Path) -> None:
    """Remove moved items that are not in the index, then the folder."""
    places = _places(aside)
    with database.connect() as connection:
        known = {
            f"{table}/{row[0]}"
            for table in ("runs", "datasets")
            for row in connection.execute(f"SELECT id FROM {table}")
        }
    entered = not known.isdisjoint(places)
    # Items still aside were never moved: their place belongs to another item.
    for place in (place for place in places if not (aside / place).exists()):
        # The index does not list notes and results.
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
    """Try for so many seconds to acquire the lock; yield whether it was acquired."""
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
