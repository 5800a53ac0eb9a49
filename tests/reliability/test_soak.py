"""A program that goes on and on holds no more than at its beginning."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def soaked(folder: Path, runs: int, comparisons: int) -> str:
    """Let it work; what it held, in words."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.reliability.soak", folder, str(runs), str(comparisons)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    early, late = json.loads(done.stdout.splitlines()[-1])
    # The runner is closed by then: what it had, it has given back.
    assert late["handles"] <= early["handles"] + 5
    assert late["threads"] <= early["threads"]
    assert late["megabytes"] <= 1.25 * early["megabytes"] + 20
    return (
        f"soak: {runs:,} runs and {comparisons:,} comparisons in one process; handles "
        f"{early['handles']:.0f} → {late['handles']:.0f}, threads {early['threads']:.0f} → "
        f"{late['threads']:.0f}, memory {early['megabytes']:.0f} → {late['megabytes']:.0f} MB"
    )


@pytest.mark.slow
def test_forty_runs(tmp_path, promise):
    promise(soaked(tmp_path, 40, 4))


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_thousand_runs(tmp_path, promise):
    promise(soaked(tmp_path, 1_000, 300))
