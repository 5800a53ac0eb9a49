"""Invisible background scripts of a page."""

from collections.abc import Mapping
from pathlib import Path

import streamlit as st


def draw(name: str, content: str) -> None:
    """Add HTML with a script to the current page; ``name`` identifies it.

    What is called so is not laid out: see ``looks.css``.
    """
    with st.container(key=f"unseen_{name}"):
        st.html(content, unsafe_allow_javascript=True)


def script(path: Path, replacements: Mapping[str, str] | None = None) -> str:
    """A script file as HTML; ``replacements`` : words in it → their replacements.

    A replacement cannot end the script: characters that begin a tag are written as an
    escape, which JavaScript reads as the same text.
    """
    text = path.read_text("utf-8")
    for word, content in (replacements or {}).items():
        text = text.replace(word, content.replace("<", "\\u003c"), 1)
    return f"<script>{text}</script>"
