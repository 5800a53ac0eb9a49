"""Open archives: import an archive into a store in full, or refuse it.

Results are imported only from archives that this store has signed, and from the program's own
examples; those of other archives are computed again.
"""

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bnmf_core.analysis.comparison import ABOUT
from bnmf_core.core.errors import BNMFError, StoreError
from bnmf_core.core.particles import Particles
from bnmf_core.share.archive import ANALYSES, RUNS
from bnmf_core.share.contents import Archive, entered, read
from bnmf_core.share.unpacking import ANEW, REMEDY, Source
from bnmf_core.store import arrivals, disk, files, folders, notes, records
from bnmf_core.store.database import Change
from bnmf_core.store.datasets import is_stored, write_dataset
from bnmf_core.store.run_store import RunStore


@dataclass(frozen=True)
class Opened:
    """Ids of the imported runs, and notices."""

    run_ids: tuple[str, ...]
    notices: tuple[str, ...]


def load_archive(source: Source, salvage: bool = False) -> Archive:
    """Read an archive of runs without a store.

    Parameters
    ----------
    source : path of a ZIP file that the dashboard or ``bnmf archive`` wrote, or an open file.
    salvage : leave out runs and notes that are damaged, rather than refuse the archive.

    Raises
    ------
    StoreError
        When it is no archive, or is not whole.

    Examples
    --------
    >>> from bnmf_core import load_archive
    >>> try:
    ...     load_archive("elsewhere.zip")
    ... except ValueError as error:
    ...     print(error)
    There is no file 'elsewhere.zip'.
    """
    with _disk_errors(salvage), tempfile.TemporaryDirectory() as aside:
        return read(source, Path(aside), None, salvage)


def open_archive(store: RunStore, source: Source, salvage: bool = False) -> Opened:
    """Import an archive into a store, in full or not at all.

    Runs that the store already has are not imported again. ``salvage`` : leave out damaged parts
    instead of refusing the archive.

    Raises
    ------
    StoreError
        When it is no archive, or is not whole, or there is no room for it.
    """
    with _disk_errors(salvage), arrivals.arriving(store.database) as aside:
        unpacked = aside / "unpacked"
        unpacked.mkdir()
        return _bring(store, read(source, unpacked, store.root, salvage), aside, unpacked)


@contextmanager
def _disk_errors(salvage: bool) -> Iterator[None]:
    """Turn disk errors into StoreErrors; do not advise to salvage while salvaging."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{disk.not_done(error)} Nothing of the archive was kept.") from error
    except BNMFError as error:
        if not salvage or ANEW not in str(error):
            raise
        raise StoreError(str(error).replace(ANEW, REMEDY)) from error


def _bring(store: RunStore, archive: Archive, aside: Path, unpacked: Path) -> Opened:
    dataset = archive.dataset
    changes: list[Change] = [store.insertion(dataset)]
    places: list[str] = []

    def free(place: str) -> bool:
        """Reserve a place in the store; False if it is taken."""
        if (store.root / place).exists():
            return False
        places.append(place)
        return True

    place = f"datasets/{dataset.hash}"
    if free(place):
        write_dataset(aside / place, dataset)
    elif not is_stored(store.root / place, dataset):
        write_dataset(store.root / place, dataset)
    # Stored results of an earlier run must not count for another run with its id.
    taken = set(store.made()) | (set() if archive.trusted else _remembered(store))
    run_ids, fresh = [], True
    for entry in archive.runs:
        run_id, particles = entry["id"], archive.particles[entry["id"]]
        if run_id in taken and _is_stored(store, run_id, particles, dataset.hash):
            run_ids.append(run_id)
            continue
        while run_id in taken or not free(f"{RUNS}/{run_id}"):
            fresh, run_id = False, secrets.token_hex(4)
        record = entered(entry, run_id, store.owner, dataset.hash, particles)
        folders.write_particles(aside / RUNS / run_id, particles, final=False)
        records.write_copy(aside / RUNS / run_id, record)
        changes.append(records.insertion(record))
        run_ids.append(run_id)
    for note in archive.notes:
        if free(place := str(store.notes.path(dataset.hash, note.id).relative_to(store.root))):
            notes.write(aside / place, note)
    for folder in (unpacked / ANALYSES).glob("*") if archive.trusted and fresh else ():
        if free(place := f"{ANALYSES}/{folder.name}"):
            (aside / ANALYSES).mkdir(exist_ok=True)
            folder.rename(aside / place)
    shutil.rmtree(unpacked)
    store.check_room(0)
    arrivals.enter(store.database, aside, places, changes)
    return Opened(tuple(run_ids), archive.notices)


def _is_stored(store: RunStore, run_id: str, particles: Particles, dataset_id: str) -> bool:
    """Whether the store has an identical run."""
    try:
        stored, data = store.particles(run_id), store.run(run_id).dataset
    except BNMFError:  # another owner's, or torn, or gone
        return False
    ours, theirs = stored.arrays, particles.arrays
    return (stored.spec, data, ours.keys()) == (particles.spec, dataset_id, theirs.keys()) and all(
        ours[name].tobytes() == theirs[name].tobytes() for name in ours
    )


def _remembered(store: RunStore) -> set[str]:
    """Ids of all runs with stored results, including deleted runs."""
    found: set[str] = set()
    for path in (store.root / ANALYSES).glob(f"*/{ABOUT}"):
        with suppress(StoreError, KeyError, TypeError):
            found.update(map(str, files.read_json(path)["runs"]))
    return found
