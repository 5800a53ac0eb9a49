"""Precomputed results of lessons: ``python -m studies.lessons`` makes them again."""

import json
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("stored")


@cache
def stored(name: str) -> dict[str, Any]:
    """Stored results of the lesson of this name."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return found
