"""The store and the job runner of the visitor."""

from collections import Counter
from threading import Thread
from typing import TYPE_CHECKING

import streamlit as st

from bnmf_core.core.limits import read_limits
from bnmf_core.core.names import distinct_labels
from bnmf_core.lazy import lazy
from bnmf_core.store.home import data_home
from bnmf_core.store.launches import Launch
from bnmf_core.store.records import RunRecord
from bnmf_core.store.run_store import DatasetEntry, RunStore
from pages.frame import link, owners
from pages.frame.places import Place, Places

if TYPE_CHECKING:
    from bnmf_core import JobRunner

# The engine, which the first page does without.
runners = lazy("bnmf_core.runs.runner")
launch = lazy("bnmf_core.runs.launch")
panel = lazy("pages.frame.panel")
plotly = lazy("plotly.graph_objects")


@st.cache_resource(show_spinner=False)
def places() -> Places:
    """The places of all owners."""
    return Places(data_home(), read_limits())


def place() -> Place:
    """The place on view: the visitor's own, or that of an owner who shares it.

    Raises
    ------
    NotFoundError
        When the owner has withdrawn the link.
    """
    return places().shown(link.get("shown")) if link.is_guest() else places().of(owners.owner())


def store() -> RunStore:
    """The run store."""
    return place().store


def runner() -> "JobRunner":
    """The job runner."""
    return place().runner


@st.cache_resource(show_spinner=False)
def make_ready() -> Thread:
    """Preload modules of the next pages in the background."""

    def load() -> None:
        for module in (runners, panel, plotly):
            dir(module)

    thread = Thread(target=load, daemon=True)
    thread.start()
    return thread


def run_words(run: RunRecord) -> str:
    """Description of a run: its name, or "60 random restarts run until they converge"."""
    words = run.name or launch.in_words(run.spec)
    return f"{words[:1].upper()}{words[1:]}"


def launch_label(started: Launch, data: str) -> str:
    """Label of a launch: its name, or the name of its data and its rank."""
    return started.name or data_and_rank(data, started.rank)


def data_and_rank(data: str, rank: int) -> str:
    """Data and rank, such as "Digits, 10 components"."""
    return f"{data}, {rank} component{'s' if rank != 1 else ''}"


def dataset_names() -> dict[str, str]:
    """Names of datasets by id, newest first; size and arrival make equal names distinct."""
    records = store().dataset_entries()
    taken = Counter(record.name for record in records)
    names = {r.id: r.name if taken[r.name] == 1 else dataset_label(r) for r in records}
    return distinct_labels(names)


def dataset_label(record: DatasetEntry) -> str:
    """A dataset with its size and its time of arrival."""
    return f"{record.name} · {record.D:,}×{record.N:,} · {launch.moment(record.created)}"
