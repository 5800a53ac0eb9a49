"""Limits for matrices, gzip and archives, checked before they are opened."""

import gzip
import io
import zipfile
import zlib
from contextlib import suppress

from bnmf_core.core.errors import DataError
from bnmf_core.core.limits import raised
from bnmf_core.core.names import clean_name

GZIP = b"\x1f\x8b"
ZIP = b"PK\x03\x04"
PIECE = 2**20
MAX_RATIO = 100
FREE_BYTES = 2**20  # below this total an archive may be compressed at any ratio
# A directory of millions of entries would take gigabytes to open.
MOST_FILES = 100_000
MAX_MEMBERS = 64  # of an archive of arrays
MAX_ENTRIES = 2**26  # of a dense matrix: half a gigabyte of float64
MAX_SIDE = 1_000_000  # features or observations: each gets a name


def check_side(rows: int, columns: int) -> None:
    """Refuse a matrix with more rows or columns than can be named."""
    for count, words in ((rows, "rows"), (columns, "columns")):
        if count > MAX_SIDE:
            raise DataError(
                f"The matrix has {count:,} {words}; at most {MAX_SIDE:,} can be read; leave "
                "some out."
            )


def check_entries(rows: int, columns: int) -> None:
    """Refuse a dense matrix that would not fit in memory."""
    if rows * columns > MAX_ENTRIES:
        raise DataError(
            f"The matrix of {rows:,}×{columns:,} has {rows * columns:,} entries; at most "
            f"{MAX_ENTRIES:,} can be read, or more zeros in a sparse format (NPZ or MTX)."
        )


def check_size(size: int, limit_bytes: int) -> None:
    """Refuse files above the size limit."""
    if size > limit_bytes:
        raise DataError(f"The file is larger than {_most(limit_bytes)}.")


def _most(limit_bytes: int) -> str:
    return (
        f"{limit_bytes / 2**20:,.4g} MB, the most that is read; save it smaller or sparse, or "
        f"{raised('reading_megabytes')}"
    )


def unpacked(content: bytes, limit_bytes: int) -> bytes:
    """Decompress gzip; return other content unchanged.

    DataError when it is damaged or exceeds the limit.
    """
    if not content.startswith(GZIP):
        return content
    pieces, grown = [], 0
    most = max(FREE_BYTES, MAX_RATIO * len(content))
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
            while piece := stream.read(PIECE):
                pieces.append(piece)
                grown += len(piece)
                if grown > limit_bytes:
                    raise DataError(f"The gzip file would grow beyond {_most(limit_bytes)}.")
                if grown > most:
                    raise DataError(
                        f"The gzip file would grow to more than {MAX_RATIO} times its size, the "
                        "most that is read; save it without compression."
                    )
    except EOFError as error:
        raise DataError("The gzip file is cut off.") from error
    except (zlib.error, gzip.BadGzipFile) as error:
        raise DataError("The gzip file is damaged.") from error
    if not pieces:
        raise DataError("The gzip file is empty.")
    return b"".join(pieces)


def open_archive(content: bytes, limit_bytes: int, most: int = MOST_FILES) -> zipfile.ZipFile:
    """Open an archive after checking its number of files, names and sizes.

    DataError when it is damaged, holds a forbidden name, or would grow beyond the limit.
    """
    archive, total = _opened(content, most), 0
    for entry in archive.infolist():
        shown = clean_name(entry.filename, 60)
        outside = (
            ".." in entry.filename.split("/")
            or entry.filename.startswith("/")
            or set(entry.filename) & set("\\:")
        )
        # orig_filename is the name before zipfile cut it at a NUL.
        if outside or entry.orig_filename != entry.filename:
            raise DataError(f"The archive holds a file with a forbidden name, {shown!r}.")
        if entry.flag_bits & 0x1:
            raise DataError(f"The file {shown!r} in the archive is encrypted.")
        if entry.external_attr >> 28 == 0xA:
            raise DataError(f"The file {shown!r} in the archive is a link, which is not followed.")
        total += entry.file_size
    grown = f"The archive would grow to {total / 2**20:,.4g} MB"
    if total > limit_bytes:
        raise DataError(f"{grown}, beyond {_most(limit_bytes)}.")
    if total > FREE_BYTES and total > MAX_RATIO * len(content):
        raise DataError(
            f"{grown}, {total / len(content):,.0f} times when it is opened; at most {MAX_RATIO} "
            "times is allowed, so save it without compression or, a matrix, as a sparse one."
        )
    return archive


def archive_names(content: bytes) -> list[str]:
    """Names of the files in an archive; empty for other or unreadable content."""
    if content.startswith(ZIP):
        with suppress(DataError), _opened(content, MOST_FILES) as archive:
            return archive.namelist()
    return []


def _opened(content: bytes, most: int) -> zipfile.ZipFile:
    # Signature of a directory entry.
    if content.count(b"PK\x01\x02") > most:
        raise DataError(f"The archive holds more than {most:,} files, the most that is read.")
    try:
        return zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise DataError("The archive is damaged and cannot be opened.") from error


def member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Read a file of an archive up to its declared size. DataError when it is damaged."""
    shown = clean_name(entry.filename, 60)
    try:
        with archive.open(entry) as file:
            data = file.read(entry.file_size + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError) as error:
        raise DataError(f"The file {shown!r} in the archive is damaged.") from error
    if len(data) != entry.file_size:
        raise DataError(f"The file {shown!r} in the archive is not as long as it says.")
    return data
