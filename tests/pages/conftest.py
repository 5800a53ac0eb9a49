"""What the tests of pages share: a server's store, data, finished runs."""

import shutil
from contextlib import closing

import numpy as np
import pytest
import streamlit as st

from bnmf_core import Dataset, JobRunner, RunSpec, RunStore
from pages.frame import owners, services, view

# What a test may ask for, and the store that is made once and copied for it.
READY = {"finished": "made_once", "hostile": "hostile_once"}


@pytest.fixture
def server(tmp_path, monkeypatch, request):
    """A fresh store behind the app, with what is asked of it already made; its job runner."""
    for asked, made in READY.items():
        if asked in request.fixturenames:
            root, _ = request.getfixturevalue(made)
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


@pytest.fixture(scope="session")
def made_once(tmp_path_factory, labelled):
    """A store with two complete runs of the labelled data and their analysis; the runs' ids."""
    root = tmp_path_factory.mktemp("made")
    specs = [
        RunSpec("random_restarts", rank=3, particles=6),
        RunSpec("gibbs", rank=3, particles=6, settings={"warm_up": 5}),
    ]
    with closing(JobRunner(RunStore(root))) as runner:
        run_ids = runner.start(labelled, specs)
        runner.wait_analysis(run_ids)
    return root, run_ids


@pytest.fixture
def finished(server, made_once):
    """Two complete runs of the labelled data with their analysis; yields the run ids."""
    return list(made_once[1])
