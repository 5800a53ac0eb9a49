"""Slow libraries are loaded when they are first used, once, and not before."""

import ast
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import bnmf_core
from bnmf_core.lazy import lazy

ENGINE = Path(bnmf_core.__file__).parent
HEAVY = (
    "arviz_stats",
    "cvxpy",
    "dask",
    "distributed",
    "plotly",
    "scipy.cluster",
    "scipy.optimize",
    "scipy.stats",
    "sklearn",
    "xarray",
)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module that notes how often it is loaded, and takes its time."""
    (tmp_path / "slow_to_load.py").write_text(
        "import sys, time\n"
        "time.sleep(0.2)\n"
        "sys.loaded_slowly = getattr(sys, 'loaded_slowly', 0) + 1\n"
        "answer = 42\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "loaded_slowly", 0, raising=False)
    yield lazy("slow_to_load")
    sys.modules.pop("slow_to_load", None)


def test_a_module_is_loaded_at_its_first_use(module):
    assert sys.loaded_slowly == 0 and "slow_to_load" not in sys.modules
    assert module.answer == 42 and "answer" in dir(module)
    assert sys.loaded_slowly == 1


def test_threads_that_use_a_module_at_once_load_it_once(module):
    found, start = [], threading.Barrier(8)

    def use():
        start.wait()
        found.append(module.answer)

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [42] * 8 and sys.loaded_slowly == 1


def test_what_is_put_into_a_module_is_seen(module, monkeypatch):
    assert module.answer == 42
    monkeypatch.setattr("slow_to_load.answer", 43)
    assert module.answer == 43


def test_a_module_that_is_not_there_is_missed_at_its_first_use():
    absent = lazy("not_installed_anywhere")
    with pytest.raises(ImportError, match="not_installed_anywhere"):
        absent.anything  # noqa: B018
    with pytest.raises(AttributeError, match="nothing_like_it"):
        lazy("json").nothing_like_it  # noqa: B018


# What the first page of a fresh server leaves to the next ones.
LATER = (
    *HEAVY,
    "numba",
    "pandas",
    "scipy.sparse.linalg",
    "bnmf_core.registry",
    "bnmf_core.runs.runner",
)
FIRST_PAGE = """
import sys
from streamlit.testing.v1 import AppTest
from pages.frame import declared, services
services.make_ready = lambda: None
app = AppTest.from_file(declared.SHELL).run()
assert app.title and not app.exception
print(*[name for name in {later} if name in sys.modules])
"""


@pytest.mark.slow
def test_the_first_page_loads_no_slow_library_and_no_engine(tmp_path):
    # Streamlit itself loads a part of plotly.
    later = [name for name in LATER if name != "plotly"]
    done = subprocess.run(
        [sys.executable, "-c", FIRST_PAGE.format(later=later)],
        cwd=ENGINE.parent,
        env=os.environ | {"BNMF_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bnmf_core", "bnmf_core.runs.runner", "bnmf_core.cli.main"])
def test_importing_the_engine_loads_no_slow_library(name):
    code = f"import sys, {name}; print(*[m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ENGINE.parent, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


def test_the_engine_imports_inside_no_function():
    for path in ENGINE.rglob("*.py"):
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                inside = [
                    n for n in ast.walk(function) if isinstance(n, ast.Import | ast.ImportFrom)
                ]
                assert not inside, f"{path.name}: {function.name} imports"


def test_type_checkers_see_the_public_names_where_they_are():
    seen = {}
    for node in ast.walk(ast.parse((ENGINE / "__init__.py").read_text())):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("bnmf_core."):
            seen |= {alias.name: node.module.removeprefix("bnmf_core.") for alias in node.names}
    assert seen == bnmf_core._HOME
