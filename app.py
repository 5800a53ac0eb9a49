"""The dashboard: list of pages and page settings, nothing else."""

import streamlit as st

from pages.frame import guard

st.set_page_config(page_title="BNMF modes", page_icon=":material/blur_on:", layout="wide")

# In the order of a user's thoughts; every name but the first is a menu at the top.
PAGES = {
    "": (("home", "Home"),),
    "Prepare": (("data", "Data"), ("run", "Run"), ("runs", "Runs")),
    "Explore": (
        ("modes", "Modes"),
        ("gallery", "Gallery"),
        ("topics", "Topics"),
        ("downstream", "Downstream"),
        ("quality", "Quality"),
        ("posterior", "Posterior"),
        ("mixture", "Mixture"),
    ),
    "Compare": (
        ("coverage", "Coverage"),
        ("discrepancy", "Discrepancy"),
        ("traces", "Traces"),
        ("tree", "Tree"),
        ("study", "Study"),
    ),
    "Learn": (
        ("lesson", "Lesson"),
        ("starts", "Starts"),
    ),
}

current = st.navigation(
    {
        section: [
            st.Page(f"pages/{key}.py", title=title, default=key == "home") for key, title in pages
        ]
        for section, pages in PAGES.items()
    },
    position="top",
)
guard.admit()
current.run()
