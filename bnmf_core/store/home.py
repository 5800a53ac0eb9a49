"""Location of the user's stores."""

import os
from pathlib import Path

from bnmf_core.store import disk

# On a shared server, the folder of the owners' stores.
OWNERS = "owners"
# The owner on a server of one person, and of files common to all owners.
EVERYBODY = "local"
SHARES, KEY = "shares", "cookie.key"


def owners_in(folder: Path) -> list[Path]:
    """Stores of the owners in the folder of a shared server; empty for another folder."""
    owners = folder / OWNERS
    found = sorted(owners.iterdir()) if owners.is_dir() else []
    return [one for one in found if one.is_dir() and not one.name.startswith(".")]


def store_of(home: Path, owner: str) -> Path:
    """The folder of an owner."""
    return home if owner == EVERYBODY else home / OWNERS / owner


def data_home() -> Path:
    """The folder named by ``BNMF_HOME``, else ``~/.local/share/bnmf`` (made if missing).

    Raises
    ------
    DiskError
        When it is not there and cannot be made, or is no folder.
    """
    folder = Path(os.environ.get("BNMF_HOME") or Path.home() / ".local" / "share" / "bnmf")
    make(folder)
    return folder


def make(folder: Path) -> None:
    """Make a folder of a store, if it is missing.

    Raises
    ------
    DiskError
        When it cannot be made, or is no folder.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a NUL in its name
        raise disk.not_written(folder, error) from error
