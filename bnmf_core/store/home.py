"""Where the user's work is kept."""

import os
from pathlib import Path


def data_home() -> Path:
    """The folder named by ``BNMF_HOME``, else ``~/.local/share/bnmf`` (made if missing)."""
    folder = Path(os.environ.get("BNMF_HOME") or Path.home() / ".local" / "share" / "bnmf")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
