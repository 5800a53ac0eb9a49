"""Styles beyond the theme: on screen, in dark mode, on paper, in a talk."""

from pathlib import Path

import streamlit as st

from pages.frame import unseen

STYLE = Path(__file__).with_name("looks.css").read_text("utf-8")
PRINTING = Path(__file__).with_name("printing.js")

# For a talk: large text, and no controls.
PRESENTED = """
<style>
html {font-size: 21px}
[data-testid="stHeader"], [data-testid="stSidebar"], [data-testid="stPopover"] {display: none}
[data-testid="stMainBlockContainer"] {padding: 1rem 2rem}
[data-testid="stCaptionContainer"]:has(p) {font-size: 0.75rem}
[class*="st-key-large_"] {min-height: 66vh}
</style>
"""
# How the key of a container begins that takes up most of the window in a talk, and of one that is
# as high as the window allows with texts around it.
LARGE, ROOMY = "large", "roomy"


def draw() -> None:
    """Add the style to the current page."""
    st.html(f"<style>{STYLE}</style>")
    unseen.draw("printing", unseen.script(PRINTING))


def present() -> None:
    """Add the style of a talk to the current page."""
    st.html(PRESENTED)
