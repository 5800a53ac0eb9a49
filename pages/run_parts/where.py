"""Where runs are computed: on this machine, or by a scheduler that the operator has listed."""

import streamlit as st

from bnmf_core import RunSpec
from bnmf_core.core.errors import SchedulerError
from bnmf_core.runs.executors import allowed_schedulers, default_scheduler
from pages.frame.services import runner

HERE = "this machine"


def choose() -> tuple[str, bool]:
    """Select the scheduler ("" for this machine), and whether this machine may replace it.

    A visitor chooses among the operator's addresses and cannot name one.
    """
    offered = ["", *allowed_schedulers()]
    if len(offered) == 1:
        st.caption(f"Runs use {HERE}.")
        return "", False
    address = st.selectbox(
        "Where it runs",
        offered,
        index=offered.index(default_scheduler()),
        format_func=lambda address: address or HERE,
        key="scheduler",
        help="The workers of a dask scheduler compute the steps; the results are the same and are "
        "stored here.",
    )
    local_otherwise = st.checkbox(
        "Run on this machine if the scheduler does not answer", key="local_otherwise"
    )
    return address, local_otherwise


def start(
    dataset_id: str, specs: list[RunSpec], scheduler: str, local_otherwise: bool, name: str
) -> list[str]:
    """Start the runs on the scheduler, or here if allowed and it does not answer.

    ``name`` is that of the launch. Returns the ids of the runs.

    Raises
    ------
    BNMFError
        When a run cannot start; then none has.
    """
    if not scheduler:
        return runner().start(dataset_id, specs, launch_name=name)
    try:
        with st.spinner("Asking the scheduler…"):
            return runner().start(dataset_id, specs, scheduler=scheduler, launch_name=name)
    except SchedulerError:
        if not local_otherwise:
            raise
        st.toast("The scheduler did not answer; the runs are computed on this machine.")
        return runner().start(dataset_id, specs, launch_name=name)
