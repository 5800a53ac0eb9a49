"""What lessons show that was computed before: ``python -m studies.lessons`` makes it again."""

import json
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("stored")


@cache
def stored(name: str) -> dict[str, Any]:
    """The results that a lesson of this name keeps."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return found
