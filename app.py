"""The dashboard: list of pages and page settings, nothing else."""

import streamlit as st

from pages.common import guard

st.set_page_config(page_title="BNMF modes", page_icon=":material/blur_on:", layout="wide")

# In the order of a user's thoughts: start, prepare, explore, compare. Without icons all names fit
# beside each other.
PAGES = (
    ("home", "Home"),
    ("data", "Data"),
    ("run", "Run"),
    ("runs", "Runs"),
    ("modes", "Modes"),
    ("gallery", "Gallery"),
    ("topics", "Topics"),
    ("downstream", "Downstream"),
    ("quality", "Quality"),
    ("posterior", "Posterior"),
    ("coverage", "Coverage"),
    ("discrepancy", "Discrepancy"),
    ("traces", "Traces"),
    ("study", "Study"),
    ("starts", "Starts"),
)

current = st.navigation(
    [st.Page(f"pages/{key}.py", title=title, default=key == "home") for key, title in PAGES],
    position="top",
)
guard.admit()
current.run()
