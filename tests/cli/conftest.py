"""What the tests of the command line share."""

import json
import time
from pathlib import Path

import pytest

from bnmf_core.cli import main, output
from bnmf_core.store.run_store import RunStore

ROOT = Path(__file__).resolve().parents[2]
SMALL_RUN = ["run", "laurberg_two", "--rank", "3", "--particles", "8"]


@pytest.fixture
def command(tmp_path, capsys, monkeypatch):
    """Call the command line on a store of the test's own: (code, stdout, stderr)."""
    monkeypatch.setenv("BNMF_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("BNMF_SCHEDULER", raising=False)
    # On a slow machine a command would tell how far it is.
    monkeypatch.setattr(output, "TELL_EVERY", 3600.0)

    def call(*words):
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def ask(command):
    """Call with --json: the document; nothing may stand beside it."""

    def call(*words):
        code, out, err = command(*words, "--json")
        assert (code, err) == (0, "")
        return json.loads(out)

    return call


@pytest.fixture
def home(tmp_path):
    return RunStore(tmp_path / "home")


def wait_for_progress(store, process, least=20):
    end = time.monotonic() + 60
    while True:
        assert time.monotonic() < end and process.poll() is None
        for record in store.runs():
            if record.done >= least:
                return record
        time.sleep(0.01)
