"""Code on the pages does what stands below it, and commands are ones that there are."""

import contextlib
import io
import shlex

import pytest

from bnmf_core.cli.main import parser
from bnmf_core.core.settings import build, declarations
from bnmf_core.data.samples import SAMPLES
from bnmf_core.data.synthetic import GENERATORS
from bnmf_core.likelihoods import MODELS
from bnmf_core.registry import ALGORITHMS
from docs.making.sources import pages
from tests.docs.written import ROOT, blocks, by_hand, commands

WITH_CODE = {
    path: text
    for path, text in by_hand().items()
    if any(language == "python" for language, _ in blocks(text))
}
COMMANDS = sorted(
    {
        command
        for text in (*pages().values(), (ROOT / "README.md").read_text("utf-8"))
        for command in commands(text)
    }
)


@pytest.mark.parametrize("path", sorted(WITH_CODE))
def test_the_code_of_a_page_prints_what_stands_below_it(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found, names = blocks(WITH_CODE[path]), {}
    for position, (language, code) in enumerate(found):
        if language != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        kind, expected = found[position + 1]
        assert kind == "text", "what the code prints stands in the block below it"
        assert printed.getvalue().strip() == expected.strip()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_is_shown_can_be_given(command):
    options = parser().parse_args(shlex.split(command)[1:])
    for key in getattr(options, "algorithm", None) or ():
        assert key in ALGORITHMS
    if getattr(options, "model", None):
        assert options.model in MODELS
    data = getattr(options, "data", None)
    if data in GENERATORS:
        keys = {one.split("=")[0] for one in options.data_set or ()}
        assert keys <= set(declarations(GENERATORS[data].Settings))
    elif data is not None:
        assert data in SAMPLES or "." in data, f"{data} is no sample and no file"


def test_settings_that_commands_give_are_settings_of_their_algorithms():
    checked = 0
    for command in COMMANDS:
        options = parser().parse_args(shlex.split(command)[1:])
        given = dict(one.split("=", 1) for one in getattr(options, "set", None) or ())
        for key in (getattr(options, "algorithm", None) or ("random_restarts",)) if given else ():
            values = {name: float(value) for name, value in given.items()}
            build(ALGORITHMS[key].Settings, values, key)
            checked += 1
    assert checked
