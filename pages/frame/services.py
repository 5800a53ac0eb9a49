"""The store and the job runner, one of each for the whole server."""

from collections import Counter
from threading import Thread
from typing import TYPE_CHECKING

import streamlit as st

from bnmf_core import RunStore
from bnmf_core.lazy import lazy
from bnmf_core.nouns.names import told_apart
from bnmf_core.runs.background import Background
from bnmf_core.store.home import data_home
from bnmf_core.store.launches import Launch
from bnmf_core.store.records import RunRecord
from bnmf_core.store.run_store import DatasetEntry

if TYPE_CHECKING:
    from bnmf_core import JobRunner
    from studies.background import StudyRunner

# The engine, which the first page does without.
executors = lazy("bnmf_core.runs.executors")
hall = lazy("bnmf_core.runs.hall")
jobs = lazy("bnmf_core.runs.jobs")
launch = lazy("bnmf_core.runs.launch")
panel = lazy("pages.frame.panel")
plotly = lazy("plotly.graph_objects")


@st.cache_resource(show_spinner=False)
def store() -> RunStore:
    """The run store."""
    return RunStore(data_home())


@st.cache_resource(show_spinner=False)
def runner() -> "JobRunner":
    """The job runner; its threads live as long as the server."""
    return jobs.JobRunner(store(), hall.Hall(schedulers=executors.allowed_schedulers))


@st.cache_resource(show_spinner=False)
def make_ready() -> Thread:
    """Load what the next pages need while somebody reads the first one, which needs little."""

    def load() -> None:
        for module in (jobs, panel, plotly):
            dir(module)

    thread = Thread(target=load, daemon=True)
    thread.start()
    return thread


@st.cache_resource(show_spinner=False)
def studies() -> "StudyRunner":
    """The runner of studies; its thread lives as long as the server."""
    from studies.background import StudyRunner  # noqa: PLC0415  (slow to import)

    return StudyRunner(data_home() / "studies")


@st.cache_resource(show_spinner=False)
def rank_studies() -> Background:
    """The runner of rank studies; its thread lives as long as the server."""
    return Background()


@st.cache_resource(show_spinner=False)
def hands(kind: str) -> Background:
    """What makes explorations by hand of one kind; its thread lives as long as the server."""
    return Background()


def run_words(run: RunRecord) -> str:
    """What a run is: its own name, or "60 random restarts run until they converge"."""
    words = run.name or launch.in_words(run.spec)
    return f"{words[:1].upper()}{words[1:]}"


def launch_label(started: Launch, data: str) -> str:
    """How a launch is called: its own name, or its data, which are called ``data``, and rank."""
    return started.name or data_and_rank(data, started.rank)


def data_and_rank(data: str, rank: int) -> str:
    """What runs are of, as "Digits, 10 components"."""
    return f"{data}, {rank} component{'s' if rank != 1 else ''}"


def dataset_names() -> dict[str, str]:
    """Datasets by id, newest first; those of one name are told apart by size and arrival."""
    records = store().dataset_entries()
    taken = Counter(record.name for record in records)
    return told_apart({r.id: r.name if taken[r.name] == 1 else dataset_label(r) for r in records})


def dataset_label(record: DatasetEntry) -> str:
    """A dataset with its size and its time of arrival."""
    return f"{record.name} · {record.D:,}×{record.N:,} · {launch.moment(record.created)}"
