"""Waiting for the process that reads a file, without holding up the page."""

import streamlit as st

from bnmf_core.data.isolation import ReaderProcess
from pages.frame import watch
from pages.frame.words import duration, plain

# A small file is read while the page waits; a large one while it can be left.
PATIENCE = 3.0


def ended(reader: ReaderProcess, words: str) -> bool:
    """Whether the reader is done; while it is not, its time, and a button to stop it."""
    with st.spinner(plain(f"{words}…")):
        if reader.wait(PATIENCE):
            return True

    def draw() -> None:
        st.caption(plain(f"{words}: {duration(reader.elapsed)}. Other pages work meanwhile."))
        st.button("Stop", key="upload_stop", on_click=reader.kill)

    watch.until_done(lambda: not reader.done, draw)
    return False
