"""Verification of folders with results that can be computed again.

The last file of a folder lists all others with their sizes and checksums, and has a checksum
itself. A folder that does not agree with it is reported and counts as not computed.
"""

import hashlib
import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from bnmf_core.core import events
from bnmf_core.core.errors import StoreError
from bnmf_core.core.names import listed
from bnmf_core.store import files

log = logging.getLogger(__name__)

# Written last: the folder is complete.
DONE = "done.json"
# Lists damaged files until they have been computed again.
DAMAGED = "damaged.json"
# Damaged files that are named.
MOST_NAMED = 3

# Size, modification time and inode; a file with the same state is not read again.
_State = tuple[int, int, int]
_whole: dict[Path, dict[str, _State]] = {}
_sound: dict[Path, tuple[_State, bool]] = {}
_lock = threading.Lock()


@dataclass(frozen=True)
class Damage:
    """Which files of a folder were found damaged, and when, in seconds since 1970."""

    files: tuple[str, ...]
    when: float

    @property
    def text(self) -> str:
        """The files and the date."""
        named = list(self.files[:MOST_NAMED])
        if len(self.files) > MOST_NAMED:
            named.append(f"{len(self.files) - MOST_NAMED} more")
        return f"{listed(named)} on {datetime.fromtimestamp(self.when):%-d %B %Y}"


def write(folder: Path, **about: Any) -> None:
    """Mark a folder as complete and list its files; ``about`` : further plain values.

    Earlier damage that has been repaired stays recorded.
    """
    contents = {name: [size, _digest(folder / name)] for name, (size, *_) in _listed(folder)}
    repaired = _read_list(folder / DAMAGED)
    files.write_json(folder / DONE, about | {"files": contents, "repaired": repaired})
    (folder / DAMAGED).unlink(missing_ok=True)


def is_whole(folder: Path, what: str) -> bool:
    """Whether a folder is complete and undamaged; one that is damaged is reported, once.

    Damaged files and the list are removed. A folder of an older version, without checksums, is
    emptied. ``what`` : the result's name in a report.
    """
    if not (folder / DONE).exists():
        return False
    if _whole.get(folder) == (now := dict(_listed(folder, all_of_it=True))):
        return True
    with _lock:
        if not (folder / DONE).exists():  # another thread has found the damage meanwhile
            return False
        now, done = dict(_listed(folder, all_of_it=True)), _read_list(folder / DONE)
        if done is not None and "files" not in done:
            _empty(folder)
            return False
        wrong = [DONE] if done is None else _wrong(folder, done["files"], now)
        if wrong:
            _report(folder, what, wrong)
            return False
        _whole[folder] = now
        return True


def keep_sound(folder: Path) -> None:
    """Remove damaged files of an interrupted computation before it continues.

    JSON and NPZ have checksums of their own. NPY has none: the computation writes it again or
    stores its checksum.
    """
    for name, _ in _listed(folder):
        if not is_sound(folder / name):
            (folder / name).unlink(missing_ok=True)


def is_sound(path: Path) -> bool:
    """Whether a file exists and, for JSON and NPZ, is undamaged; damage is reported once."""
    try:
        state = _state(path.stat())
    except OSError:
        return False
    known, sound = _sound.get(path, (None, False))
    if known == state:
        return sound
    try:
        if path.suffix in (".json", ".npz"):
            (files.read_json if path.suffix == ".json" else files.read_arrays)(path)
        sound = True
    except StoreError:
        sound = False
        _tell(path, "a computation", 1)
    _sound[path] = state, sound
    return sound


def damage(folder: Path) -> Damage | None:
    """Damage that has not been repaired; None without any."""
    return _damage(_read_list(folder / DAMAGED))


def repaired(folder: Path) -> Damage | None:
    """Repaired damage of a complete folder; None without any."""
    return _damage((_read_list(folder / DONE) or {}).get("repaired"))


def _damage(found: dict[str, Any] | None) -> Damage | None:
    return Damage(tuple(found["damaged"]), found["when"]) if found else None


def _wrong(folder: Path, written: dict[str, list[Any]], now: dict[str, _State]) -> list[str]:
    """Names of missing or damaged files."""
    return [
        name
        for name, (size, digest) in written.items()
        if name not in now or now[name][0] != size or _digest(folder / name) != digest
    ]


def _report(folder: Path, what: str, wrong: list[str]) -> None:
    _tell(folder, what, len(wrong))
    _whole.pop(folder, None)
    with suppress(OSError):  # where nothing can be written, nothing is computed again either
        files.write_json(folder / DAMAGED, {"damaged": wrong, "when": time.time()})
        for name in (*wrong, DONE):
            (folder / name).unlink(missing_ok=True)


def _tell(path: Path, what: str, count: int) -> None:
    log.warning("%s: %d damaged file(s) of %s, to be computed again", path, count, what)
    events.tell("damage found", part=path.name, files=count)


def _empty(folder: Path) -> None:
    with suppress(OSError):
        for name, _ in _listed(folder, all_of_it=True):
            (folder / name).unlink(missing_ok=True)


def _read_list(path: Path) -> dict[str, Any] | None:
    """Read a list of files; None if it is missing or damaged."""
    try:
        found = files.read_json(path)
    except StoreError:
        return None
    return found if isinstance(found, dict) else None


def _listed(
    folder: Path, all_of_it: bool = False, within: str = ""
) -> Iterator[tuple[str, _State]]:
    """Name and state of every file; ``all_of_it`` : include the lists."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    for entry in entries:
        name = within + entry.name
        if entry.is_dir():
            yield from _listed(folder / entry.name, all_of_it, f"{name}/")
        elif not name.endswith(".part") and (all_of_it or name not in (DONE, DAMAGED)):
            with suppress(FileNotFoundError):
                yield name, _state(entry.stat())


def _state(found: os.stat_result) -> _State:
    return found.st_size, found.st_mtime_ns, found.st_ino


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except OSError:  # a disk that cannot read it
        return ""
