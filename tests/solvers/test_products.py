"""What is compiled into other files: a change of it reaches what was compiled before."""

import hashlib
from pathlib import Path

from bnmf_core.solvers import products

# The beginning of each revision's SHA-256.
REVISIONS = {5: "ff582c8e0754b14d"}
SOLVERS = Path(products.__file__).parent


def test_a_change_is_counted():
    digest = hashlib.sha256(Path(products.__file__).read_bytes()).hexdigest()[:16]
    assert REVISIONS.get(products.REVISION) == digest, (
        f"{products.__name__} has changed since its revision {products.REVISION}: count it up, "
        f"there and in the files that use it, and put {digest} here"
    )


def test_files_that_use_it_name_the_revision():
    users = [path for path in SOLVERS.glob("*.py") if "solvers.products import" in path.read_text()]
    assert {path.name for path in users} == {"conjugate.py", "kernels.py"}
    for path in users:
        assert f"assert products.REVISION == {products.REVISION}\n" in path.read_text(), path
