"""Where a run is made: on this machine, or on the workers of a dask scheduler."""

import streamlit as st

from bnmf_core import RunSpec
from bnmf_core.nouns.errors import SchedulerError
from bnmf_core.runs.executors import default_scheduler
from pages.frame.services import runner


def choose() -> tuple[str, bool]:
    """Ask for the scheduler's address ("" for here), and whether here will do without it."""
    with st.expander("Where it runs", expanded=bool(default_scheduler())):
        address = st.text_input(
            "Scheduler address", default_scheduler(), key="scheduler",
            placeholder="this machine", help="A dask scheduler such as tcp://192.168.0.5:8786; "
            "its workers make the steps, the results are the same and are kept here.",
        )  # fmt: skip
        local_otherwise = st.checkbox(
            "Run on this machine if the scheduler does not answer", key="local_otherwise"
        )
    return address.strip(), local_otherwise


def start(dataset_id: str, specs: list[RunSpec], scheduler: str, local_otherwise: bool) -> None:
    """Start the runs there, or here if that was allowed and the scheduler does not answer.

    Raises
    ------
    BNMFError
        When a run cannot start; then none has.
    """
    if not scheduler:
        runner().start(dataset_id, specs)
        return
    try:
        with st.spinner("Asking the scheduler…"):
            runner().start(dataset_id, specs, scheduler=scheduler)
    except SchedulerError:
        if not local_otherwise:
            raise
        st.toast("The scheduler did not answer; the runs are made on this machine.")
        runner().start(dataset_id, specs)
