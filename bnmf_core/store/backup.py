"""A whole home in one file, made while the program works, and put back elsewhere, verified.

The lists of runs come first. What a run has reported as complete lies in its folder before its
entry says so and is not changed afterwards, so all that the lists speak of is there to be copied.
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

# Counted up when a program of before could no longer read what is written.
FORMAT = 1
MANIFEST = "backup.json"
# What is beside a list: SQLite's own files, and room that is kept free.
BESIDE = (f"{database.NAME}-wal", f"{database.NAME}-shm", database.RESERVE)
PIECE = 2**20
# What was removed while it was copied may have become something else; then it is looked for again.
PASSES = 3
# Of each file, by its name, the size and the SHA-256.
Sums = dict[str, tuple[int, str]]


@dataclass(frozen=True)
class Backup:
    """What a backup holds: its files and their bytes; ``said`` : sentences on what is damaged."""

    files: int
    bytes: int
    said: tuple[str, ...] = ()


def write(home: Path, path: Path) -> Backup:
    """Put all that is under a home, of every owner, into one file, in full or not at all.

    Nobody but its owner may read the file. Parts that are damaged are taken as they are.

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
    """Copies what is under a home into an archive, and keeps the sums of it."""

    def __init__(self, archive: zipfile.ZipFile, home: Path) -> None:
        self._archive, self._home = archive, home
        self._sums: Sums = {}

    def write(self) -> Backup:
        said = []
        for path in sorted(self._home.rglob(database.NAME)):
            try:
                content = database.snapshot(path)
            except DamagedError as error:
                said.append(str(error))
                content = path.read_bytes()
            name = path.relative_to(self._home).as_posix()
            self._archive.writestr(name, content)
            self._sums[name] = (len(content), hashlib.sha256(content).hexdigest())
        for _ in range(PASSES):
            if all([self._copy(name, path) for name, path in self._found()]):
                break
        told = {"format": FORMAT, "program": VERSION, "created": time.time(), "files": self._sums}
        self._archive.writestr(MANIFEST, json.dumps(told))
        return Backup(len(self._sums), sum(size for size, _ in self._sums.values()), tuple(said))

    def _found(self) -> Iterator[tuple[str, Path]]:
        """Names and paths of what has not been copied; of a run its checkpoints before the rest."""
        for folder, folders, names in os.walk(self._home):
            folders.sort()
            for name in sorted(names):
                path = Path(folder, name)
                within = path.relative_to(self._home).as_posix()
                beside = name in BESIDE or path.suffix == ".part"
                if within not in self._sums and not beside and not path.is_symlink():
                    yield within, path

    def _copy(self, name: str, path: Path) -> bool:
        """Copy a file; whether it was still there."""
        try:
            source = path.open("rb")
        except FileNotFoundError:
            return False
        with source, self._archive.open(name, "w", force_zip64=True) as target:
            self._sums[name] = _poured(source, target)
        return True


def restore(path: Path, home: Path) -> Backup:
    """Put a backup into a folder that is empty or not there; all of it is verified first.

    Raises
    ------
    StoreError
        When something is in the folder, or it cannot be written. DataError: when the file is no
        backup, or not a byte of it other than written.
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
    """What a backup says is in it: exactly what is, under names that lead nowhere else."""
    entries = archive.infolist()
    named = {entry.filename for entry in entries}
    if MANIFEST not in named:
        raise zipfile.BadZipFile(f"it has no {MANIFEST}")
    try:
        told = json.loads(archive.read(MANIFEST))
        version, sums = told["format"], told["files"]
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
    """Read a file of a backup into ``target``, and refuse what is not what was written."""
    with archive.open(name) as source:
        found = _poured(source, target)
    if found != written:
        raise zipfile.BadZipFile(f"{clean_name(name, 60)!r} is not what was written")


def _poured(source: IO[bytes], target: IO[bytes] | None) -> tuple[int, str]:
    """Read a source to its end, into a target if there is one; the size and the SHA-256."""
    digest, size = hashlib.sha256(), 0
    while piece := source.read(PIECE):
        digest.update(piece)
        size += len(piece)
        if target is not None:
            target.write(piece)
    return size, digest.hexdigest()


def _put(archive: zipfile.ZipFile, sums: Sums, home: Path, total: int) -> None:
    """Write all files, the lists of runs last; none of them stays if one cannot be written."""
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
