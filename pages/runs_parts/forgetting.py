"""Deletion of all data of an owner."""

import streamlit as st

from bnmf_core.store.forgetting import theirs
from pages.frame import owners, view
from pages.frame.services import places, store
from pages.frame.words import plain, size

_ASKED = "asked_to_forget"


def show() -> None:
    """A closed panel that lists the data before the user confirms the deletion."""
    with st.expander("Delete all my data"):
        st.caption(
            "This removes all your data here, and cannot be undone. To keep something, download "
            "its archive under Overview first."
        )
        if st.button("Show what would be deleted", key="ask_to_forget"):
            st.session_state[_ASKED] = True
        if not st.session_state.get(_ASKED):
            return
        with view.report_errors(ends=False):
            found = theirs(places().home, store())
            stops = f" {found.active:,} that are running stop." if found.active else ""
            words = f"This deletes {found.counts}, with all that was computed of them"
            st.warning(plain(f"{words}: {size(found.bytes)}.{stops}"))
            yes, no = st.columns(2)
            if no.button("Keep everything", key="keep_everything", width="stretch"):
                st.session_state.pop(_ASKED)
                st.rerun()
            if yes.button("Delete all of it", key="forget", width="stretch"):
                places().forget(owners.owner())
                # Also clear caches and session.
                st.cache_data.clear()
                st.session_state.clear()
                st.query_params.clear()
                st.toast("Everything that you kept here is deleted.")
                st.rerun()
