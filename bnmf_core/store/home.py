"""Where the user's work is kept."""

import os
from pathlib import Path

# On a server that several share, each owner's store is a folder of this one.
OWNERS = "owners"


def owners_in(folder: Path) -> list[Path]:
    """The stores of the owners of a shared server whose folder this is; none where it is not."""
    kept = folder / OWNERS
    return sorted(one for one in kept.iterdir() if one.is_dir()) if kept.is_dir() else []


def data_home() -> Path:
    """The folder named by ``BNMF_HOME``, else ``~/.local/share/bnmf`` (made if missing)."""
    folder = Path(os.environ.get("BNMF_HOME") or Path.home() / ".local" / "share" / "bnmf")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
