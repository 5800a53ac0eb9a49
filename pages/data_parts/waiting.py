"""Non-blocking wait for the process that reads a file."""

import streamlit as st

from bnmf_core.data.isolation import ReaderProcess
from pages.frame import watch
from pages.frame.words import duration, plain

# Seconds that the page waits for a small file; it polls for a large one.
PATIENCE = 3.0


def ended(reader: ReaderProcess, words: str) -> bool:
    """Whether the reader has finished; until then, show its time and a button to stop it."""
    with st.spinner(plain(f"{words}…")):
        if reader.wait(PATIENCE):
            return True

    def draw() -> None:
        st.caption(plain(f"{words}: {duration(reader.elapsed)}. Other pages work meanwhile."))
        st.button("Stop", key="upload_stop", on_click=reader.kill)

    watch.until_done(lambda: not reader.done, draw)
    return False
