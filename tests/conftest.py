"""What the tests of several rooms share."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import settings
from plotly.io.json import to_json_plotly as to_json

from bnmf_core.analysis import posterior
from bnmf_core.core.dataset import Dataset
from bnmf_core.figures.sketch import Sketch
from bnmf_core.runs.runner import JobRunner
from bnmf_core.store.run_store import RunStore

# A time limit per example would test the machine's load, not the code.
settings.register_profile("any speed", deadline=None)
# `make test-fast` looks at fewer.
settings.register_profile("few", deadline=None, max_examples=15)
settings.load_profile("any speed")

# Tests of these folders carry the marker, so that they can be left out.
MARKED = {"pages": "page", "browser": "browser", "studies": "study"}
HERE = Path(__file__).parent
# What was counted of a promise stands at the end of all tests, one line each.
PROMISE = "promise"


def pytest_collection_modifyitems(items):
    for item in items:
        folder = item.path.relative_to(HERE).parts[0] if item.path.is_relative_to(HERE) else ""
        if folder in MARKED:
            item.add_marker(MARKED[folder])


def pytest_make_parametrize_id(val, argname):
    """Files are not called by their content, in which the time may stand."""
    return argname if isinstance(val, bytes) and len(val) > 40 else None


@pytest.fixture(scope="session")
def small() -> Dataset:
    """12×15, three components and a little noise, three labelled groups of five."""
    rng = np.random.default_rng(1)
    product = rng.exponential(size=(12, 3)) @ rng.exponential(size=(3, 15))
    noise = 0.1 * np.abs(rng.standard_normal(product.shape))
    labels = {"group": ["first", "second", "third"] * 5}
    return Dataset.from_array(product + noise, name="small", labels=labels)


@pytest.fixture(autouse=True, scope="session")
def nobodys_home(tmp_path_factory):
    """What tests keep on disk, libraries of transforms among it, never lands in a user's folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BNMF_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(autouse=True, scope="session")
def checked_sketches():
    """Every sketch that a test draws is, to the last value, what Plotly makes of it."""
    unchecked = Sketch.to_dict

    def checked(figure: Sketch) -> dict:
        drawn, sketched = unchecked(figure), figure.__dict__.get("_sketched")
        if sketched is not None:
            whole = go.Figure(sketched["data"], sketched["layout"])
            assert json.loads(to_json(drawn)) == json.loads(to_json(whole))
        return drawn

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Sketch, "to_dict", checked)
        yield


@pytest.fixture(autouse=True, scope="session")
def short_chains(pytestconfig):
    """An analysis soon gives up the chains within modes that do not settle; not in long proofs."""
    with pytest.MonkeyPatch.context() as patch:
        if pytestconfig.getoption("markexpr") == "long":
            yield
            return
        patch.setattr(posterior, "LONGEST", posterior.SHORTEST)
        yield


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder of the test's own, where the program keeps the user's work."""
    monkeypatch.setenv("BNMF_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def store(tmp_path) -> RunStore:
    return RunStore(tmp_path / "store")


@pytest.fixture
def runner(store):
    runner = JobRunner(store)
    yield runner
    runner.close()


@pytest.fixture
def promise(record_property) -> Callable[[str], None]:
    """Tell what was counted."""
    return lambda line: record_property(PROMISE, line)


def pytest_terminal_summary(terminalreporter):
    told = [
        value
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == PROMISE and getattr(report, "when", "") == "call"
    ]
    if told:
        terminalreporter.section("what was promised, and counted")
        for line in told:
            terminalreporter.line(line)
