"""Data: is my matrix what I think it is?"""

import streamlit as st

from pages.data_parts import conversation, larger, overview, results, sources
from pages.frame import choosing, guard, hints, link, view
from pages.frame.services import store

guard.enter("data")
samples, upload, server, generate, download, others = st.tabs(
    ["Samples", "Upload", "Larger than memory", "Generate", "Download", "Import factorizations"],
    default="Upload" if st.query_params.get("source") == "upload" else "Samples",
)
with samples:
    sources.samples()
with upload:
    pending = conversation.upload()
with server:
    larger.draw()
with generate:
    sources.generate()
with download:
    sources.download()
with others:
    results.draw()
if message := st.session_state.pop("data_error", None):
    view.problem(message)
if pending and store().dataset_entries():
    st.caption("The file is not stored yet. Below are the previous data.")
with st.container(horizontal=True, vertical_alignment="bottom"):
    with st.container(width="stretch"):
        shown = choosing.dataset(
            "Dataset shown", "Choose a sample, upload a file or generate a matrix to see it here."
        )
    with st.container(width="content", key="next"):
        link.to("run", "Analyse these data", data=shown)
    with st.container(width="content"):
        link.to("rank", data=shown)
overview.show(shown)
hints.show("data")
