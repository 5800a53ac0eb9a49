"""Back up a home to one file while the program runs, and restore it with verification.

The indexes are copied first. The files of a complete run are on disk before its entry says so and
do not change afterwards, so everything that the indexes list can be copied.
"""

import hashlib
import json
import os
import shutil
import stat
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO

from bnmf_core.core.errors import DamagedError, DataError, StoreError
from bnmf_core.core.names import clean_name
from bnmf_core.store import database, disk, files
from bnmf_core.store.home import KEY, make
from bnmf_core.version import VERSION

# Increased when older programs cannot read the new format.
FORMAT = 1
MANIFEST = "backup.json"
# Files beside an index that are not copied: SQLite's own, and the reserve.
BESIDE = (f"{database.NAME}-wal", f"{database.NAME}-shm", database.RESERVE)
PIECE = 2**20
# Passes over the folder: a file removed during the copy may have been replaced by another.
PASSES = 3
# Size and SHA-256 of each file by name.
Sums = dict[str, tuple[int, str]]


@dataclass(frozen=True)
class Backup:
    """Number and bytes of the files of a backup; ``said`` : sentences on damaged files."""

    files: int
    bytes: int
    said: tuple[str, ...] = ()


def write(home: Path, path: Path) -> Backup:
    """Copy everything under a home, of every owner, into one file, in full or not at all.

    Only its owner may read the file. Damaged parts are copied as they are.

    Raises
    ------
    StoreError
        When there is no such home, or the file cannot be written.
    """
    if not home.is_dir():
        raise StoreError(f"There is no folder {str(home)!r} to be backed up.")
    if path.resolve().is_relative_to(home.resolve()):
        raise StoreError(
            f"The backup {str(path)!r} would lie in the folder that it is of; name a place outside."
        )
    made: list[Backup] = []

    def content(file: BinaryIO) -> None:
        os.chmod(file.name, 0o600)
        with zipfile.ZipFile(file, "w") as archive:
            made.append(_Writer(archive, home).write())

    files.hand_over(path, "backup", content)
    return made[0]


class _Writer:
    """Copies the files under a home into an archive and records their checksums."""

    def __init__(self, archive: zipfile.ZipFile, home: Path) -> None:
        self._archive, self._home = archive, home
        self._sums: Sums = {}

    def write(self) -> Backup:
        damage = []
        for path in sorted(self._home.rglob(database.NAME)):
            try:
                content = database.snapshot(path)
            except DamagedError as error:
                damage.append(str(error))
                content = path.read_bytes()
            name = path.relative_to(self._home).as_posix()
            self._archive.writestr(name, content)
            self._sums[name] = (len(content), hashlib.sha256(content).hexdigest())
        for _ in range(PASSES):
            if all([self._copy(name, path) for name, path in self._found()]):
                break
        manifest = {
            "format": FORMAT,
            "program": VERSION,
            "created": time.time(),
            "files": self._sums,
        }
        self._archive.writestr(MANIFEST, json.dumps(manifest))
        return Backup(len(self._sums), sum(size for size, _ in self._sums.values()), tuple(damage))

    def _found(self) -> Iterator[tuple[str, Path]]:
        """Names and paths of files not yet copied; checkpoints of a run come first."""
        for folder, folders, names in os.walk(self._home):
            folders.sort()
            for name in sorted(names):
                path = Path(folder, name)
                within = path.relative_to(self._home).as_posix()
                is_extra = name in BESIDE or path.suffix == ".part"
                if within not in self._sums and not is_extra and not path.is_symlink():
                    yield within, path

    def _copy(self, name: str, path: Path) -> bool:
        """Copy a file and return whether it still existed."""
        try:
            source = path.open("rb")
        except FileNotFoundError:
            return False
        with source, self._archive.open(name, "w", force_zip64=True) as target:
            self._sums[name] = _poured(source, target)
        return True


def restore(path: Path, home: Path) -> Backup:
    """Restore a backup into an empty or new folder after verifying all of it.

    Raises
    ------
    StoreError
        When the folder is not empty or cannot be written. DataError: when the file is no backup or
        is damaged.
    """
    if home.exists() and (not home.is_dir() or any(home.iterdir())):
        raise StoreError(
            f"{str(home)!r} is not empty, and nothing is written over; name a new folder."
        )
    try:
        with zipfile.ZipFile(path) as archive:
            sums = _listed(archive)
            for name in sums:
                _copied(archive, name, sums[name], None)
            total = sum(size for size, _ in sums.values())
            _put(archive, sums, home, total)
    except (FileNotFoundError, IsADirectoryError) as error:
        raise DataError(f"There is no file {str(path)!r}.") from error
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        why = str(error).rstrip(".")
        raise DataError(
            f"{clean_name(str(path))!r} is no whole backup: {why}; nothing of it was put back."
        ) from error
    return Backup(len(sums), total)


def _listed(archive: zipfile.ZipFile) -> Sums:
    """Read the manifest of a backup and compare it with the contents; names stay in the folder."""
    entries = archive.infolist()
    named = {entry.filename for entry in entries}
    if MANIFEST not in named:
        raise zipfile.BadZipFile(f"it has no {MANIFEST}")
    try:
        manifest = json.loads(archive.read(MANIFEST))
        version, sums = manifest["format"], manifest["files"]
        sums = {str(name): (int(size), str(digest)) for name, (size, digest) in sums.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise zipfile.BadZipFile(f"its {MANIFEST} cannot be read") from error
    if version != FORMAT:
        raise zipfile.BadZipFile(f"its format is {version!r}, and {FORMAT} is read")
    if len(named) != len(entries) or named != {*sums, MANIFEST}:
        raise zipfile.BadZipFile(f"it holds other files than its {MANIFEST} lists")
    for entry in entries:
        shown = clean_name(entry.filename, 60)
        parts = entry.filename.split("/")
        strange = set(entry.filename) & set("\\:\0") or entry.orig_filename != entry.filename
        if strange or any(part in ("", ".", "..") for part in parts):
            raise zipfile.BadZipFile(f"it holds a file with a forbidden name, {shown!r}")
        if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG):
            raise zipfile.BadZipFile(f"it holds {shown!r}, which is no file")
        if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
            raise zipfile.BadZipFile(f"it holds {shown!r}, compressed or encrypted, as none is")
    return sums


def _copied(
    archive: zipfile.ZipFile, name: str, written: tuple[int, str], target: IO[bytes] | None
) -> None:
    """Copy a file of a backup into ``target`` and verify its size and checksum."""
    with archive.open(name) as source:
        found = _poured(source, target)
    if found != written:
        raise zipfile.BadZipFile(f"{clean_name(name, 60)!r} is not what was written")


def _poured(source: IO[bytes], target: IO[bytes] | None) -> tuple[int, str]:
    """Copy a source to its end, if there is a target; return size and SHA-256."""
    digest, size = hashlib.sha256(), 0
    while piece := source.read(PIECE):
        digest.update(piece)
        size += len(piece)
        if target is not None:
            target.write(piece)
    return size, digest.hexdigest()


def _put(archive: zipfile.ZipFile, sums: Sums, home: Path, total: int) -> None:
    """Write all files, indexes last; remove all of them if one cannot be written."""
    was_there = home.exists()
    make(home)
    try:
        free = shutil.disk_usage(home).free
        if total > free:
            raise StoreError(
                f"The backup holds {total / 1e6:,.0f} MB, and {free / 1e6:,.0f} MB are free at "
                f"{str(home)!r}; free space, or name another folder."
            )
        for name in sorted(sums, key=lambda one: (one.endswith(database.NAME), one)):
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                if path.name == KEY:
                    path.chmod(0o600)
                _copied(archive, name, sums[name], file)
                file.flush()
                os.fsync(file.fileno())
            if path.name == database.NAME:
                database.as_it_is_used(path)
    except BaseException as error:
        for part in home.iterdir():
            shutil.rmtree(part) if part.is_dir() else part.unlink()
        if not was_there:
            home.rmdir()
        if isinstance(error, OSError) and not isinstance(error, StoreError):
            raise disk.not_written(home, error) from error
        raise
