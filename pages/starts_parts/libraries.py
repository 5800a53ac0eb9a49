"""Export and import of libraries of transforms."""

import io

import streamlit as st

from bnmf_core.core.errors import BNMFError
from bnmf_core.explorers import library
from bnmf_core.explorers.processes import PROCESSES
from bnmf_core.explorers.transforms import TransformLibrary
from pages.frame import view


def show() -> None:
    """Download or upload a library of transforms."""
    with st.expander("Libraries of transforms: download or import"):
        left, right = st.columns(2, gap="medium")
        with left:
            _download()
        with right:
            _bring_in()


def _download() -> None:
    free = [key for key, process in PROCESSES.items() if not process.needs_target]
    rank = st.number_input("Transfer rank", 1, 10, 3, key="library_rank")
    process = st.selectbox(
        "Learned on", free, format_func=lambda key: PROCESSES[key].label, key="library_process"
    )

    def content() -> bytes:
        buffer = io.BytesIO()
        library.transform_library(int(rank), process=process).save(buffer)
        return buffer.getvalue()

    st.download_button(
        "Download 100 pairs (NPZ)",
        content,
        f"transforms_{process}_{rank}.npz",
        key="library_download",
        on_click="ignore",
    )
    st.caption("Q_A (100, R, R) and Q_W (100, R, R): A ≈ A_SVD Q_A and W ≈ Q_W W_SVD.")


def _bring_in() -> None:
    file = st.file_uploader("Bring in a library (NPZ)", "npz", key="library_upload")
    if file is None:
        st.caption("Learned elsewhere, for example on data like yours: arrays Q_A and Q_W.")
        return
    try:
        found = TransformLibrary.load(io.BytesIO(file.getvalue()))
        key = library.keep(found)
    except BNMFError as error:
        view.problem(error)
        return
    st.success(
        f"Kept: {found.count:d} pairs of transfer rank {found.rank:d}. On the page Analyse, give "
        "this key as “Library of transforms” among Q-Transform's further settings:"
    )
    st.code(key, language=None)
