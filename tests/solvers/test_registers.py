"""Instructions in registers: a change of theirs reaches what was compiled before."""

import hashlib
from pathlib import Path

import pytest

from bnmf_core.solvers import registers

# The beginning of each revision's SHA-256.
REVISIONS = {1: "e8fa3611afc8bc59"}


def test_a_change_is_counted():
    text = Path(registers.__file__).read_text(encoding="utf-8")
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    assert REVISIONS.get(registers.REVISION) == digest, (
        f"registers.py has changed since revision {registers.REVISION}: count it up, there and in "
        f"the files that use it, and put {digest} here"
    )


def test_loops_compiled_with_another_revision_are_refused():
    registers.compiled_with(registers.REVISION)
    with pytest.raises(ImportError, match="revision 0"):
        registers.compiled_with(0)
