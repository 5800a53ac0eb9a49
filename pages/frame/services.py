"""The store and the job runner, one of each for the whole server."""

import streamlit as st

from bnmf_core import JobRunner, RunStore
from bnmf_core.registry import ALGORITHMS
from bnmf_core.store.home import data_home
from bnmf_core.store.run_store import RunRecord


@st.cache_resource(show_spinner=False)
def runner() -> JobRunner:
    """The job runner; its threads live as long as the server."""
    return JobRunner(RunStore(data_home()))


@st.cache_resource(show_spinner=False)
def studies():
    """The ``StudyRunner`` of the server; its thread lives as long as the server."""
    from studies.background import StudyRunner  # noqa: PLC0415  (slow to import)

    return StudyRunner(data_home() / "studies")


def store() -> RunStore:
    """The run store."""
    return runner().store


def algorithm_label(key: str) -> str:
    """An algorithm's name on screen, also when it is no longer there."""
    return ALGORITHMS[key].label if key in ALGORITHMS else key


def run_label(run: RunRecord) -> str:
    """How a run is called in lists: its own name, or algorithm and id."""
    return run.name or f"{algorithm_label(run.spec.algorithm)} {run.id[:4]}"
