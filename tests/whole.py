"""Every test but the long ones: those of browsers after all others.

A browser and its server need more than one core at times; beside heavy computations they would wait
for each other. Both parts are run whatever becomes of the first, and one line at the end counts
both.
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

PYTEST = (sys.executable, "-m", "pytest", "--durations=50")
PARTS = (
    ("-m", "not long and not browser", "-n", "2", "--dist", "loadfile"),
    ("-m", "browser and not long", "-n", "2", "--dist", "loadfile"),
)


def counts(report: Path) -> dict[str, int]:
    """Tests passed, failed and skipped by what pytest has written of them; errors are failures."""
    suites = [*ElementTree.parse(report).iter("testsuite")] if report.exists() else []
    tests, failures, errors, skipped = (
        sum(int(suite.get(key, 0)) for suite in suites)
        for key in ("tests", "failures", "errors", "skipped")
    )
    failed = failures + errors
    return {"passed": tests - failed - skipped, "failed": failed, "skipped": skipped}


def run(parts: Sequence[Sequence[str]] = PARTS) -> int:
    """Run each part; 0 if pytest was content with every one of them."""
    found, codes = [], []
    with tempfile.TemporaryDirectory() as folder:
        for number, part in enumerate(parts):
            report = Path(folder) / f"{number}.xml"
            command = [*PYTEST, *part, f"--junitxml={report}"]
            codes.append(subprocess.run(command, check=False).returncode)
            found.append(counts(report))
    said = ", ".join(f"{sum(one[key] for one in found)} {key}" for key in found[0])
    for number, (one, code) in enumerate(zip(found, codes, strict=True), 1):
        if code and not one["failed"]:  # as at the time limit of a test
            said += f"; part {number} stopped before its end"
    print(said)
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(run())
