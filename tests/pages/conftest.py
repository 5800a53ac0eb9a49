"""What the tests of pages share: a server's store, data, finished runs."""

import shutil
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import streamlit as st

from bnmf_core import Dataset, JobRunner, RunSpec, RunStore
from pages.frame import owners, services, view

# What a test may ask for; the store of a fixture called so and "_once" is copied for it.
READY = {"finished", "hostile", "compared", "tiled", "climbed"}


@pytest.fixture
def server(tmp_path, monkeypatch, request):
    """A fresh store behind the app, with what is asked of it already made; its job runner."""
    for asked in READY & {*request.fixturenames}:
        root, _ = request.getfixturevalue(f"{asked}_once")
        shutil.copytree(root, tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("BNMF_HOME", str(tmp_path))
    st.cache_resource.clear()
    places = services.places()
    yield places.of(owners.EVERYBODY).runner
    places.close()
    st.cache_resource.clear()


@pytest.fixture(autouse=True)
def unfolded(monkeypatch):
    """What a page holds back until somebody opens a fold or a menu is on it from the beginning."""
    monkeypatch.setattr(view, "is_open", lambda fold: True)


def labelled_data() -> Dataset:
    """30 labelled observations of 12 named features, rank 3 plus noise."""
    rng = np.random.default_rng(3)
    kind = np.arange(30) % 3
    W = rng.gamma(1.0, 0.2, (3, 30)) + 2.0 * (np.arange(3)[:, None] == kind)
    X = rng.gamma(1.0, 1.0, (12, 3)) @ W + 0.05 * rng.random((12, 30))
    words = [f"word{d}" for d in range(12)]
    return Dataset.from_array(X, name="Labelled", features=words, labels={"kind": kind})


@pytest.fixture(scope="session")
def labelled():
    """The labelled data."""
    return labelled_data()


def made_once(root: Path, data: Dataset, specs: Sequence[RunSpec], stages=(), together=(), **named):
    """A store with runs and the stages of their analysis, or all; the runs' ids.

    ``together`` : which runs are analysed together, if not all.
    """
    with closing(JobRunner(RunStore(root))) as runner:
        run_ids = runner.start(data, specs, **named)
        for some in together or [slice(None)]:
            runner.wait_analysis(run_ids[some], *stages)
    return root, run_ids


@pytest.fixture(scope="session")
def finished_once(tmp_path_factory, labelled):
    """A store with two complete runs of the labelled data and their analysis; the runs' ids."""
    specs = [
        RunSpec("random_restarts", rank=3, particles=6),
        RunSpec("gibbs", rank=3, particles=6, settings={"warm_up": 5}),
    ]
    return made_once(tmp_path_factory.mktemp("finished"), labelled, specs)


@pytest.fixture
def finished(server, finished_once):
    """Two complete runs of the labelled data with their analysis; yields the run ids."""
    return list(finished_once[1])
