"""The look of every page that the theme cannot say: little room above it and beside it."""

import streamlit as st

STYLE = """
<style>
[data-testid="stMainBlockContainer"] {padding: 3.9rem 2rem 2rem; max-width: 110rem}
[data-testid="stMainBlockContainer"] h1 {padding: 0}
[data-testid="stSidebarHeader"] {height: 2.2rem; padding: 0.4rem 1rem 0}
</style>
"""

# For a talk: what is read from afar, and nothing that is clicked.
PRESENTED = """
<style>
html {font-size: 21px}
[data-testid="stHeader"], [data-testid="stSidebar"], [data-testid="stPopover"] {display: none}
[data-testid="stMainBlockContainer"] {padding: 1rem 2rem}
[data-testid="stCaptionContainer"]:has(p) {font-size: 0.75rem}
[class*="st-key-large_"] {min-height: 66vh}
</style>
"""
# How the key of a container begins that takes up most of the window in a talk.
LARGE = "large"


def draw() -> None:
    """Lay the style over the page that is being drawn."""
    st.html(STYLE)


def present() -> None:
    """Lay the style of a talk over the page that is being drawn."""
    st.html(PRESENTED)
