"""Recovery of runs that are missing in the index."""

import streamlit as st

from bnmf_core.store.lost import bring_back, lost_runs
from pages.frame import view
from pages.frame.services import store
from pages.frame.words import plain

_BROUGHT = "runs_brought_back"


def show() -> None:
    """Show the number of missing runs, a button, and the recovered ones."""
    if brought := st.session_state.pop(_BROUGHT, None):
        if brought.runs:
            many = f"{len(brought.runs)} runs are" if len(brought.runs) > 1 else "1 run is"
            st.success(plain(f"{many} in the list again."))
        for sentence in brought.failures:
            st.warning(plain(sentence))
        return
    lost = len(lost_runs(store()))
    if not lost:
        return
    made = f"What {lost} runs" if lost > 1 else "What 1 run"
    st.warning(
        plain(f"{made} made is on the disk, but not in the list below, which was lost or damaged.")
    )
    if st.button("Bring back what is not in the list", key="bring_back"):
        with view.report_errors(ends=False):
            st.session_state[_BROUGHT] = bring_back(store())
        st.rerun()
