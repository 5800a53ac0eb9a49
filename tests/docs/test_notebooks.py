"""Every notebook runs, and prints what stands below its cells."""

import contextlib
import io
import json
import os

import pytest

from tests.docs.written import ROOT

BOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
pytestmark = pytest.mark.slow


def cells(notebook: dict) -> list[tuple[str, str]]:
    """Code and printed text of every cell of code."""
    return [
        (
            "".join(cell["source"]),
            "".join("".join(output.get("text", "")) for output in cell["outputs"]),
        )
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_stands_below_its_cells(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for code, expected in cells(json.loads(path.read_text("utf-8"))):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        assert printed.getvalue() == expected


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_kernel_runs_a_notebook(path, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    # The kernel runs elsewhere, on this checkout.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    place = {"metadata": {"path": str(tmp_path)}}
    done = nbclient.NotebookClient(book, timeout=200, resources=place).execute()
    assert cells(done) == cells(json.loads(path.read_text("utf-8")))


def test_the_notebooks_are_there():
    assert [path.stem for path in BOOKS] == ["arviz", "estimator", "explore"]
