"""A disk that takes no more: what is stored goes out, and the reason is said where it does not."""

import zipfile

import pytest

from bnmf_core.analysis import mixing, stages, structure
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.cli.output import Output
from bnmf_core.cli.running import compute
from bnmf_core.core.errors import DiskError
from bnmf_core.store.folders import FolderSink
from bnmf_core.store.run_store import RunStore
from tests.cli.conftest import SMALL_RUN

pytestmark = pytest.mark.slow
FULL = DiskError("'home' cannot be written: the disk is full; free space.")


def full(*_, **__):
    raise FULL


def test_results_that_are_stored_go_out_and_what_is_missing_is_left_out(
    command, ask, tmp_path, monkeypatch
):
    (run,) = ask(*SMALL_RUN)["runs"]
    compute(open_comparison(RunStore(tmp_path / "home"), [run["id"]]), ["structure"], Output())
    monkeypatch.setattr(stages, "make", full)
    for name in ("archive", "report"):
        code, _, err = command(name, run["id"], "--output", tmp_path / name)
        assert code == 0 and "disk is full" in err and "is left out" in err, err
    names = zipfile.ZipFile(tmp_path / "archive").namelist()
    assert any(structure.STAGE.key in one for one in names)
    assert not any(mixing.STAGE.key in one for one in names)
    assert b"Not done when this was written" in (tmp_path / "report").read_bytes()


def test_an_analysis_whose_runs_fail_says_why(command, monkeypatch):
    monkeypatch.setattr(FolderSink, "save", full)
    code, out, err = command("analyse", "laurberg_two", "--rank", "3")
    assert (code, out) == (1, "") and "failed" in err and "disk is full" in err
