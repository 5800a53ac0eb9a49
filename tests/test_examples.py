"""The examples of the public names, and of the README, print what is written, wherever one is."""

import contextlib
import doctest
import io
import re
from pathlib import Path

import pytest

import bnmf_core

README = Path(__file__).resolve().parents[1] / "README.md"


@pytest.mark.parametrize("name", bnmf_core.__all__)
def test_every_public_name_has_an_example_that_holds(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = doctest.DocTestFinder(recurse=False).find(getattr(bnmf_core, name), name)
    examples = [test for test in found if test.examples]
    assert examples, f"{name} has no example"
    told = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in examples:
        runner.run(test, out=told.write)
    assert runner.summarize(verbose=False).failed == 0, told.getvalue()


def example_of(document):
    """The first Python block of a document, and the block below it: what it prints."""
    blocks = re.findall(r"```(python)?\n(.*?)```", document.read_text(), re.DOTALL)
    position = next(i for i, (language, _) in enumerate(blocks) if language == "python")
    return blocks[position][1], blocks[position + 1][1].strip()


def test_the_readme_prints_what_is_written_below_its_example(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, expected = example_of(README)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    assert printed.getvalue().strip() == expected
