"""Waiting for the process that reads a file, without holding up the page."""

import streamlit as st

from bnmf_core.data.child import Child
from pages.frame import watch
from pages.frame.words import duration, plain

# A small file is read while the page waits; a large one while it can be left.
PATIENCE = 3.0


def ended(child: Child, words: str) -> bool:
    """Whether the child is done; while it is not, its time, and a button to stop it."""
    with st.spinner(plain(f"{words}…")):
        if child.wait(PATIENCE):
            return True

    def draw() -> None:
        st.caption(plain(f"{words}: {duration(child.elapsed)}. Other pages work meanwhile."))
        st.button("Stop", key="upload_stop", on_click=child.kill)

    watch.until_done(lambda: not child.done, draw)
    return False
