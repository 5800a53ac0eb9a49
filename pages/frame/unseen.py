"""Scripts that work in the background of a page: nothing of them is seen, nor takes up room."""

from collections.abc import Mapping
from pathlib import Path

import streamlit as st


def draw(name: str, content: str) -> None:
    """Put HTML with a script on the page that is being drawn; ``name`` tells it from others.

    What is called so is not laid out: see ``looks.css``.
    """
    with st.container(key=f"unseen_{name}"):
        st.html(content, unsafe_allow_javascript=True)


def script(path: Path, told: Mapping[str, str] | None = None) -> str:
    """A file with a script as HTML; ``told`` : words that stand in it, and what takes their place.

    Nothing that takes a word's place can end the script: what might begin a tag is written as an
    escape, which JavaScript reads as the same text.
    """
    text = path.read_text("utf-8")
    for word, content in (told or {}).items():
        text = text.replace(word, content.replace("<", "\\u003c"), 1)
    return f"<script>{text}</script>"
