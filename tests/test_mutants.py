"""Every mistake that is planted on purpose can be planted: its text is there, and its tests."""

import pytest

from tests.mutants.__main__ import MUTANTS, ROOT


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_can_be_planted(mutant):
    assert (ROOT / "bnmf_core" / mutant.file).read_text().count(mutant.before) == 1
    assert mutant.after != mutant.before
    files = [word.split("::")[0] for word in mutant.tests.split() if word.startswith("tests/")]
    assert files and all((ROOT / name).exists() for name in files)
