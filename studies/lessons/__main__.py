"""Make what the lessons keep anew: ``python -m studies.lessons [NAME …]``, two minutes for all."""

import json
import sys
from pathlib import Path

from studies.lessons import crossing, doubt, mass, settled, threshold

KEPT = Path(__file__).resolve().parents[2] / "pages" / "lessons_parts" / "stored"
MADE = {
    "crossing": crossing.make,
    "doubt": doubt.make,
    "mass": mass.make,
    "settled": settled.make,
    "threshold": threshold.make,
}


def main(names: list[str], folder: Path = KEPT) -> int:
    """Write one file for each named lesson, by default for all that need one."""
    if unknown := set(names) - set(MADE):
        print(f"There is no {', '.join(unknown)}; choose of {', '.join(MADE)}.", file=sys.stderr)
        return 2
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or MADE:
        text = json.dumps(MADE[name](), separators=(",", ":"))
        (folder / f"{name}.json").write_text(text + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
