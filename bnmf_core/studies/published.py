"""The numbers that paper 1 prints in its tables 1 to 8, copied from its appendices A and B.

``published.json`` holds problem → column → quantity → mean and quartiles over ten repetitions, in
the keys of ``bnmf_core.studies``; an ℓ1 distance of 0.0 there means below 0.005.
"""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

PATH = Path(__file__).resolve().parent / "published.json"


@lru_cache(maxsize=1)
def published() -> dict[str, dict[str, dict[str, dict[str, Any]]]]:
    """Problem → column → quantity → ``{"mean": …, "quartiles": [lower, median, upper]}``."""
    return json.loads(PATH.read_text())
