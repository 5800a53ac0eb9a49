"""Programs that are killed at any moment lose nothing that they had reported."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def counted(folder: Path, tries: int, seed: int) -> dict[str, int]:
    """Kill so often, in a process that nothing else has threads in."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.reliability.killed", str(folder), str(tries), str(seed)],
        cwd=ROOT,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def told(found: dict[str, int]) -> str:
    return (
        f"kills: {found['kills']} (runs, analyses, studies, imports), lost of what was reported: 0 "
        f"of {found['particles']:,} factorizations and {found['datasets']:,} datasets; "
        f"{found['resumed']} runs resumed to the same bits"
    )


@pytest.mark.slow
def test_one_kill_of_each_kind(tmp_path, promise):
    found = counted(tmp_path, 4, seed=14)
    assert found["kills"] == 4 and min(found["particles"], found["datasets"]) > 0
    assert found["resumed"] > 0
    promise(told(found))


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_two_hundred_kills(tmp_path, promise):
    found = counted(tmp_path, 200, seed=2)
    assert found["kills"] == 200
    promise(told(found))
