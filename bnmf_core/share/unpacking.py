"""The files of an archive, written into a folder where each is what the list of contents says.

Sizes and names are looked at before anything is written, and bytes are counted while it is.
"""

import hashlib
import os
import shutil
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeAlias

from bnmf_core.core.errors import BNMFError, StoreError
from bnmf_core.core.names import clean_name, listed
from bnmf_core.share import schema
from bnmf_core.share.archive import ANALYSES, FORMAT, MANIFEST, SIGNATURE

# What may be unpacked: bytes of one archive, of its list of contents, and of any archive whatever
# its size; of a larger one so many times its size. And files, whose names alone take room.
MOST, MOST_LISTED, MOST_OF_ANY, MOST_TIMES = 8 * 10**9, 3 * 10**7, 2**28, 100
MOST_FILES = 100_000
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
BLOCK = 2**20
# Damaged or missing files that are named.
MOST_NAMED = 3
REMEDY = "Save or download it anew."
ANEW = f"{REMEDY[:-1]}; `bnmf open --salvage` brings in what is whole of it."
NONE = (
    "This is no archive of runs: its list of contents is missing. Choose a file that was saved "
    "here by “Archive”, or written by `bnmf archive`."
)

Source: TypeAlias = str | Path | BinaryIO
# Whether results of an archive are to be trusted, by its list of contents and its signature.
Trust: TypeAlias = Callable[[bytes, bytes], bool]


class Member(NamedTuple):
    """A file of an archive: its size as it is declared, and its bytes."""

    size: int
    blocks: Callable[[], Iterator[bytes]]


@dataclass(frozen=True)
class Unpacked:
    """What is in the folder now.

    trusted : whether results are there, too. said : sentences about what is not.
    """

    manifest: schema.Manifest
    trusted: bool
    said: tuple[str, ...]


def unpack(source: Source, aside: Path, trust: Trust, salvage: bool) -> Unpacked:
    """Write the files of an archive into a folder.

    ``salvage`` : leave out what is damaged or missing, rather than refuse all of it.

    Raises
    ------
    StoreError
        When it is no archive, is damaged, or would take too much room.
    """
    said: list[str] = []

    def wrong(sentence: str, remedy: str = ANEW) -> None:
        if not salvage:
            raise StoreError(f"{sentence} Nothing of it was kept. {remedy}")
        said.append(sentence)

    with _opened(source) as file:
        try:
            members = _members(file)
        except StoreError as error:
            if not salvage:
                raise
            said.append(f"{str(error).rstrip('.')}; what came before is opened.")
            members = _before_the_end(file)
        if MANIFEST not in members:
            raise StoreError(NONE)
        told = _whole(members.pop(MANIFEST))
        try:
            manifest = schema.decoded(told, schema.Manifest, "The list of contents of this archive")
        except StoreError as error:
            raise StoreError(f"{error} {REMEDY}") from error
        if manifest.format > FORMAT:
            wrong(
                "This archive was written by a newer version of this program "
                f"({clean_name(manifest.program)}).",
                "Update this one; `bnmf open --salvage` brings in what it understands.",
            )
        signature = members.pop(SIGNATURE, None)
        trusted = trust(told, b"" if signature is None else _whole(signature))
        if unknown := members.keys() - manifest.sha256.keys():
            wrong(f"This archive holds files that its list does not name: {_some(unknown)}.")
        _check_room(file, aside, members)
        if lost := _write(members, manifest.sha256, aside, trusted):
            wrong(f"Files of this archive are damaged or missing: {_some(lost)}.")
    whole = not any(name.startswith(ANALYSES) for name in lost)
    return Unpacked(manifest, trusted and whole, tuple(said))


def _write(
    members: Mapping[str, Member], sums: Mapping[str, str], aside: Path, trusted: bool
) -> set[str]:
    """Write what is whole, results only where they are ``trusted``; names of what is not."""
    lost = set()
    for name, expected in sums.items():
        if name not in members:
            lost.add(name)
            continue
        kept = trusted or not name.startswith(ANALYSES)
        path, digest = aside / name if kept else Path(os.devnull), hashlib.sha256()
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            try:
                for block in _declared(members[name]):
                    digest.update(block)
                    file.write(block)
            except StoreError:
                digest = hashlib.sha256(b"damaged")
        if digest.hexdigest() != expected:
            lost.add(name)
            if kept:
                path.unlink()
    return lost


def _check_room(file: BinaryIO, aside: Path, members: Mapping[str, Member]) -> None:
    """Refuse what would grow too large, before any of it is written."""
    size = file.seek(0, 2)
    most = min(MOST, max(MOST_OF_ANY, MOST_TIMES * size), shutil.disk_usage(aside).free // 2)
    if (total := sum(member.size for member in members.values())) > most:
        raise StoreError(
            f"This archive would grow to {total / 1e6:,.0f} MB, and there is room for "
            f"{most / 1e6:,.0f} MB of it; nothing of it was kept. Free space, or save fewer runs "
            "in one archive."
        )


@contextmanager
def _opened(source: Source) -> Iterator[BinaryIO]:
    if not isinstance(source, str | Path):
        yield source
        return
    if not Path(source).is_file():
        raise StoreError(f"There is no file {str(source)!r}.")
    with Path(source).open("rb") as file:
        yield file


@contextmanager
def _damage_said(what: str) -> Iterator[None]:
    """Whatever a damaged archive raises, as a sentence: almost anything."""
    try:
        yield
    except BNMFError:
        raise
    except Exception as error:
        raise StoreError(f"{what} cannot be read: {reason_of(error)}. {ANEW}") from error


def reason_of(error: Exception) -> str:
    """What an error says, as the end of a sentence."""
    said = error.strerror if isinstance(error, OSError) and error.strerror else error
    return clean_name(said, 400).rstrip(".") or type(error).__name__


def _members(file: BinaryIO) -> dict[str, Member]:
    """The files of a whole archive, none of which is anything that archives of runs do not have."""
    with _damage_said("This file"):
        _check_count(file)
        try:
            archive = zipfile.ZipFile(file)
        except zipfile.BadZipFile as error:
            file.seek(0)
            begins = file.read(4)
            if begins != b"PK\x03\x04":
                raise StoreError(NONE) from error
            raise StoreError(f"This archive is cut off or damaged. {ANEW}") from error
        infos = archive.infolist()
    for name, count in Counter(info.filename for info in infos).items():
        if count > 1:
            raise _refused(name, "twice")
    for info in infos:
        if info.flag_bits & 0x1:
            raise _refused(info.filename, "encrypted")
        if info.compress_type not in METHODS:
            raise _refused(info.filename, f"packed by method {info.compress_type}")
        if info.external_attr >> 28 == 0xA:
            raise _refused(info.filename, "as a link")
    return {
        info.filename: Member(info.file_size, partial(_blocks, archive, info)) for info in infos
    }


def _refused(name: str, how: str) -> StoreError:
    return StoreError(
        f"This archive holds the file {clean_name(name, 60)!r} {how}, which no archive of runs "
        "does; nothing of it was kept. Ask for one that was written by `bnmf archive`."
    )


def _check_count(file: BinaryIO) -> None:
    """Refuse millions of files, whose list alone would take gigabytes."""
    file.seek(0)
    count = sum(block.count(b"PK\x01\x02") for block in iter(lambda: file.read(BLOCK), b""))
    if count > MOST_FILES:
        raise StoreError(f"This archive holds more than {MOST_FILES:,} files; none was opened.")


def _blocks(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    with _damage_said(f"The file {clean_name(info.filename, 60)!r}"), archive.open(info) as member:
        while block := member.read(BLOCK):
            yield block


def _before_the_end(file: BinaryIO) -> dict[str, Member]:
    """Files by what stands before each, where the list at the end is missing."""
    found: dict[str, Member] = {}
    length = file.seek(0, 2)
    file.seek(0)
    while len(head := file.read(30)) == 30 and head[:4] == b"PK\x03\x04":
        method, packed, size = (
            *struct.unpack_from("<H", head, 8),
            *struct.unpack_from("<LL", head, 18),
        )
        name_length, extra_length = struct.unpack_from("<HH", head, 26)
        name = file.read(name_length).decode(errors="replace")
        begins = file.seek(extra_length, 1)
        if begins + packed > length or method not in METHODS:
            break
        found.setdefault(name, Member(size, partial(_piece, file, begins, packed, method)))
        file.seek(packed, 1)
    return found


def _piece(file: BinaryIO, begins: int, packed: int, method: int) -> Iterator[bytes]:
    with _damage_said("A file"):
        file.seek(begins)
        content = file.read(packed)
        if method == zipfile.ZIP_STORED:
            yield content
            return
        inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        while content and not inflate.eof:
            yield inflate.decompress(content, BLOCK)
            content = inflate.unconsumed_tail


def _whole(member: Member) -> bytes:
    """A small file at once."""
    if member.size > MOST_LISTED:
        raise StoreError(
            f"The list of contents of this archive has {member.size / 1e6:,.0f} MB; at most "
            f"{MOST_LISTED / 1e6:,.0f} MB is read. Save fewer runs in one archive."
        )
    return b"".join(_declared(member))


def _declared(member: Member) -> Iterator[bytes]:
    """The bytes of a file that is not larger than it says."""
    left = member.size
    for block in member.blocks():
        left -= len(block)
        if left < 0:
            raise StoreError("A file of this archive is larger than it says.")
        yield block


def _some(names: set[str]) -> str:
    named = [repr(clean_name(name, 60)) for name in sorted(names)[:MOST_NAMED]]
    if len(names) > MOST_NAMED:
        named.append(f"{len(names) - MOST_NAMED} more")
    return listed(named)
