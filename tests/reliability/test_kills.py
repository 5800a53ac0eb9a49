"""Programs that are killed at any moment lose nothing that they had reported."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from bnmf_core.registry import ALGORITHMS
from tests.reliability import killed
from tests.reliability.counted import Counted

ROOT = Path(__file__).resolve().parents[2]


def counted(folder: Path, tries: int, seed: int, fault: str = "") -> Counted:
    """Kill so often, in a process that nothing else has threads in."""
    words = ["-m", "tests.reliability.killed", str(folder), str(tries), str(seed)]
    done = subprocess.run(
        [sys.executable, *words, *filter(None, [fault])],
        cwd=ROOT,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    found = Counted("kills", Counter(told["tried"]))
    for kind, line in told["faults"]:
        found.fault(kind, line)
    found.said = (
        f"{len(found.tried.keys() - killed.OTHERS)} algorithms, analyses, studies and imports; "
        f"reported by then: {told.get('particles', 0):,} factorizations and "
        f"{told.get('datasets', 0):,} datasets; {told['resumed']} runs resumed to the same bits"
    )
    return found


@pytest.mark.slow
def test_one_kill_of_each_kind(tmp_path, promise):
    found = counted(tmp_path, 10, seed=14)
    assert not found.first, found.first
    assert found.tried.total() == 10 and {*killed.OTHERS} < {*found.tried}
    promise(found.row)


@pytest.mark.long
@pytest.mark.parametrize("fault", killed.PLANTED)
def test_a_fault_is_counted(fault, tmp_path):
    assert counted(tmp_path, 6, seed=14, fault=fault).faults[fault]


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_two_hundred_kills(tmp_path, promise):
    found = counted(tmp_path, 200, seed=2)
    assert not found.first, found.first
    assert found.tried.keys() - killed.OTHERS == ALGORITHMS.keys()
    assert min(found.tried[kind] for kind in killed.OTHERS) == 40
    promise(found.row)
