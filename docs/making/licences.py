"""What the app is built on, and the licence of each package, from what is installed."""

import re
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from docs.making.markdown import escaped, table

ROOT = Path(__file__).resolve().parents[2]
WORDS = """# Licences

The app needs these packages, in the versions with which this page was made. What a package says of
its own licence stands beside it.
"""


def documents() -> dict[str, str]:
    """Path in the site → Markdown."""
    rows = [
        (escaped(name), metadata.version(name), escaped(licence(name))) for name in sorted(needed())
    ]
    return {"licences.md": f"{WORDS}\n{table(('Package', 'Version', 'Licence'), rows)}"}


def needed() -> set[str]:
    """Every package that the app needs, directly or for another one."""
    waiting = _asked(ROOT / "requirements.txt") | _asked(ROOT / "requirements-engine.txt")
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        try:
            further = metadata.requires(name) or []
        except metadata.PackageNotFoundError:  # of another system
            continue
        found.add(name)
        for one in map(Requirement, further):
            if one.marker is None or one.marker.evaluate({"extra": ""}):
                waiting |= {canonicalize_name(one.name)} - found
    return found


def licence(name: str) -> str:
    """What a package says of its licence, in few words."""
    told = metadata.metadata(name)
    if said := told.get("License-Expression"):
        return str(said)
    classified = [
        line.rpartition(" :: ")[2]
        for line in told.get_all("Classifier") or []
        if line.startswith("License :: ") and not line.endswith("OSI Approved")
    ]
    whole = str(told.get("License") or "").strip()
    first = whole.splitlines()[0] if whole else ""
    return ", ".join(classified) or (first if len(first) < 60 else "see the package") or "not said"


def _asked(path: Path) -> set[str]:
    lines = [re.sub(r"\s*#.*", "", line) for line in path.read_text().splitlines()]
    return {canonicalize_name(Requirement(one).name) for one in lines if one and one[0] != "-"}
