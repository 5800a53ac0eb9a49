"""What is compiled into other files: a change of it reaches what was compiled before."""

import hashlib
from pathlib import Path

import pytest

from bnmf_core.solvers import products, registers

# The beginning of each revision's SHA-256.
REVISIONS = {products: {3: "e002de2171db3c4c"}, registers: {2: "4c833c24739720a3"}}
SOLVERS = Path(registers.__file__).parent


@pytest.mark.parametrize("shared", REVISIONS, ids=lambda module: module.__name__)
def test_a_change_is_counted(shared):
    digest = hashlib.sha256(Path(shared.__file__).read_bytes()).hexdigest()[:16]
    assert REVISIONS[shared].get(shared.REVISION) == digest, (
        f"{shared.__name__} has changed since its revision {shared.REVISION}: count it up, there "
        f"and in the files that use it, and put {digest} here"
    )


def test_files_that_use_it_name_the_revision():
    users = [path for path in SOLVERS.glob("*.py") if "solvers.products import" in path.read_text()]
    assert {path.name for path in users} == {"conjugate.py", "kernels.py"}
    now = f"assert (products.REVISION, registers.REVISION) == ({products.REVISION}, "
    for path in users:
        assert f"{now}{registers.REVISION})" in path.read_text(), path
