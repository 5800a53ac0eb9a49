"""Unpack an archive into a folder and verify each file against the list of contents.

Sizes and names are checked before anything is written; bytes are counted during writing.
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

# Limits: bytes of an archive, of its list of contents, bytes allowed for any archive, and the
# largest ratio of unpacked to packed size; then the number of files.
MOST, MOST_LISTED, MOST_OF_ANY, MOST_TIMES = 8 * 10**9, 3 * 10**7, 2**28, 100
MOST_FILES = 100_000
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
BLOCK = 2**20
# Damaged or missing files named in a message.
MOST_NAMED = 3
REMEDY = "Save or download it anew."
ANEW = f"{REMEDY[:-1]}; `bnmf open --salvage` brings in what is whole of it."
NONE = (
    "This is no archive of runs: its list of contents is missing. Choose a file that was saved "
    "here by “Archive”, or written by `bnmf archive`."
)

Source: TypeAlias = str | Path | BinaryIO
# Decides from the list of contents and its signature whether results are trusted.
Trust: TypeAlias = Callable[[bytes, bytes], bool]


class Member(NamedTuple):
    """A file of an archive: its declared size and its bytes."""

    size: int
    blocks: Callable[[], Iterator[bytes]]


@dataclass(frozen=True)
class Unpacked:
    """The unpacked files.

    trusted : whether results are included. notices : sentences on what is missing.
    """

    manifest: schema.Manifest
    trusted: bool
    notices: tuple[str, ...]


def unpack(source: Source, aside: Path, trust: Trust, salvage: bool) -> Unpacked:
    """Write the files of an archive into a folder.

    ``salvage`` : leave out damaged or missing parts instead of refusing the archive.

    Raises
    ------
    StoreError
        When it is no archive, is damaged, or would take too much room.
    """
    notices: list[str] = []

    def wrong(sentence: str, remedy: str = ANEW) -> None:
        if not salvage:
            raise StoreError(f"{sentence} Nothing of it was kept. {remedy}")
        notices.append(sentence)

    with _opened(source) as file:
        try:
            members = _members(file)
        except StoreError as error:
            if not salvage:
                raise
            notices.append(f"{str(error).rstrip('.')}; what came before is opened.")
            members = _before_the_end(file)
        if MANIFEST not in members:
            raise StoreError(NONE)
        listing = _whole(members.pop(MANIFEST))
        try:
            manifest = schema.decoded(
                listing, schema.Manifest, "The list of contents of this archive"
            )
        except StoreError as error:
            raise StoreError(f"{error} {REMEDY}") from error
        if manifest.format > FORMAT:
            wrong(
                "This archive was written by a newer version of this program "
                f"({clean_name(manifest.program)}).",
                "Update this one; `bnmf open --salvage` brings in what it understands.",
            )
        signature = members.pop(SIGNATURE, None)
        trusted = trust(listing, b"" if signature is None else _whole(signature))
        if unknown := members.keys() - manifest.sha256.keys():
            wrong(f"This archive holds files that its list does not name: {_some(unknown)}.")
        _check_room(file, aside, members)
        if lost := _write(members, manifest.sha256, aside, trusted):
            wrong(f"Files of this archive are damaged or missing: {_some(lost)}.")
    whole = not any(name.startswith(ANALYSES) for name in lost)
    return Unpacked(manifest, trusted and whole, tuple(notices))


def _write(
    members: Mapping[str, Member], sums: Mapping[str, str], aside: Path, trusted: bool
) -> set[str]:
    """Write intact files, results only if ``trusted``; return the names of damaged files."""
    lost = set()
    for name, expected in sums.items():
        if name not in members:
            lost.add(name)
            continue
        is_wanted = trusted or not name.startswith(ANALYSES)
        path, digest = aside / name if is_wanted else Path(os.devnull), hashlib.sha256()
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
            if is_wanted:
                path.unlink()
    return lost


def _check_room(file: BinaryIO, aside: Path, members: Mapping[str, Member]) -> None:
    """Refuse an archive that would grow too large."""
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
def _as_error(what: str) -> Iterator[None]:
    """Turn any exception of a damaged archive into a StoreError."""
    try:
        yield
    except BNMFError:
        raise
    except Exception as error:
        raise StoreError(f"{what} cannot be read: {reason_of(error)}. {ANEW}") from error


def reason_of(error: Exception) -> str:
    """The message of an error, without a full stop."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else error
    return clean_name(reason, 400).rstrip(".") or type(error).__name__


def _members(file: BinaryIO) -> dict[str, Member]:
    """The files of an intact archive; refuse kinds that no archive of runs has."""
    with _as_error("This file"):
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
    with (
        _as_error(f"The file {clean_name(info.filename, 60)!r}"),
        archive.open(info) as member,
    ):
        while block := member.read(BLOCK):
            yield block


def _before_the_end(file: BinaryIO) -> dict[str, Member]:
    """Files by their local headers, for an archive without its central directory."""
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
    with _as_error("A file"):
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
    """Read a small file in full."""
    if member.size > MOST_LISTED:
        raise StoreError(
            f"The list of contents of this archive has {member.size / 1e6:,.0f} MB; at most "
            f"{MOST_LISTED / 1e6:,.0f} MB is read. Save fewer runs in one archive."
        )
    return b"".join(_declared(member))


def _declared(member: Member) -> Iterator[bytes]:
    """The bytes of a file; refuse more than its declared size."""
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
