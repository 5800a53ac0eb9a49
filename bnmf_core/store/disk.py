"""Error messages for full disks and for folders that are read-only or missing."""

import errno
import os
import secrets
from contextlib import suppress
from pathlib import Path

from bnmf_core.core.errors import BNMFError, DiskError

FULL = "the disk is full"
NO_FOLDER = "a file or a broken link is in the place of a folder"
NOT_ALLOWED = "the user of this program may not"
REASONS = {
    errno.ENOSPC: FULL,
    errno.EDQUOT: FULL,
    errno.EROFS: "the folder is read-only",
    errno.EACCES: NOT_ALLOWED,
    errno.EPERM: NOT_ALLOWED,
    errno.EEXIST: NO_FOLDER,
    errno.ENOTDIR: NO_FOLDER,
}
# In NumPy's message when a disk is full.
CUT_OFF = "requested and"


def not_written(place: Path, error: Exception) -> DiskError:
    """The error for a file or folder of a store that cannot be written."""
    why = reason(error)
    free = "free space, or name" if why == FULL else "name"
    return DiskError(
        f"{str(place)!r} cannot be written: {why}; {free} another folder in BNMF_HOME."
    )


def not_done(error: Exception) -> BNMFError:
    """The error for an uncaught OSError."""
    if isinstance(error, BNMFError):
        return error
    place = getattr(error, "filename", None) or "what is needed"
    if reason(error) in REASONS.values():
        return not_written(Path(os.fsdecode(place)), error)
    return DiskError(f"{os.fsdecode(place)!r} cannot be read or written: {reason(error)}.")


def reason(error: Exception) -> str:
    """The reason why something cannot be read or written."""
    if not isinstance(error, OSError):
        return str(error).rstrip(".")
    if error.errno is None and CUT_OFF in str(error):
        return FULL
    return REASONS.get(error.errno or 0, error.strerror or str(error).rstrip("."))


def hindrance(folder: Path) -> OSError | None:
    """Try to write into a folder; the error, or None if it works."""
    tried = folder / f"tried-{secrets.token_hex(4)}.{os.getpid()}-0.part"
    try:
        tried.write_bytes(bytes(4096))
    except OSError as error:
        return error
    finally:
        with suppress(OSError):
            tried.unlink()
    return None
