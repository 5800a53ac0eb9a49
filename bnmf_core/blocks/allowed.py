"""Paths that a server may open: those in folders that its operator allows."""

import os
from collections.abc import Sequence
from pathlib import Path

from bnmf_core.core.errors import DataError, NotFoundError
from bnmf_core.core.names import clean_name, listed

NAMED_BY = "BNMF_FOLDERS"


def allowed_folders() -> tuple[Path, ...]:
    """The folders in the environment variable BNMF_FOLDERS.

    Examples
    --------
    >>> import os
    >>> os.environ["BNMF_FOLDERS"] = os.pathsep.join(["/data/cells", "/data/texts"])
    >>> [str(folder) for folder in allowed_folders()]
    ['/data/cells', '/data/texts']
    >>> del os.environ["BNMF_FOLDERS"]
    >>> allowed_folders()
    ()
    """
    paths = os.environ.get(NAMED_BY, "").split(os.pathsep)
    return tuple(Path(folder) for folder in paths if folder.strip())


def allowed_path(text: str, folders: Sequence[Path]) -> Path:
    """Resolve a path given by a user, including links and "..".

    Parameters
    ----------
    text : an absolute path, or one relative to an allowed folder. folders : the allowed ones.

    Raises
    ------
    DataError
        When it is outside the folders, whether or not it exists.
    NotFoundError
        When it is inside and does not exist.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, "cells.npy").touch()
    ...     allowed_path("cells.npy", [Path(folder)]).name
    'cells.npy'
    """
    if not folders:
        raise DataError(
            f"This server opens no folder; whoever runs it can list some in {NAMED_BY}."
        )
    shown, found = clean_name(text), None
    for folder in folders:
        # An absolute path replaces the folder.
        inside = _resolved(folder / text, folder)
        if inside is not None and os.path.exists(inside):
            return inside
        found = found or inside
    if found is not None:
        raise NotFoundError(f"There is no file or folder {shown!r}; check the path.")
    raise DataError(
        f"{shown!r} lies outside the folders that this server opens ({listed(folders)}); choose "
        "a path in one of them."
    )


def _resolved(path: Path, folder: Path) -> Path | None:
    """The resolved path; None outside the folder or if it cannot be resolved."""
    try:
        resolved = path.resolve()
        return resolved if resolved.is_relative_to(folder.resolve()) else None
    except (OSError, ValueError, RuntimeError):  # too long, a zero byte, links in a circle
        return None
