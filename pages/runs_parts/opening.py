"""Import of an archive: its runs join the list."""

import streamlit as st

from bnmf_core.share.opening import open_archive
from pages.frame import view
from pages.frame.services import store
from pages.frame.words import plain
from pages.runs_parts import comparing

_OPENED = "archive_opened"


def show() -> None:
    """Upload an archive, list what could not be opened, and link to its runs."""
    with st.expander("Open an archive", expanded=_OPENED in st.session_state):
        st.markdown(
            "A ZIP file that this program saved, here or on another machine: its data, runs and "
            "notes come in, all or none of them, and nothing that is here changes. Results come in "
            "where they were saved here; else they are computed again."
        )
        file = st.file_uploader("Archive", type="zip", key="archive_file")
        if file is None:
            st.session_state.pop(_OPENED, None)
            return
        opened = st.session_state.get(_OPENED)
        if opened is None or opened[0] != file.file_id:
            with view.report_errors(ends=False), st.spinner("Opening the archive"):
                st.session_state[_OPENED] = opened = (file.file_id, open_archive(store(), file))
                st.rerun()
        if opened is None or opened[0] != file.file_id:
            return
        for sentence in opened[1].notices:
            st.warning(plain(sentence))
        if run_ids := opened[1].run_ids:
            many = f"{len(run_ids)} runs are" if len(run_ids) > 1 else "1 run is"
            st.success(plain(f"{many} here now."))
            if st.button("Open what they say", type="primary", key="archive_go"):
                comparing.open_runs(run_ids)
