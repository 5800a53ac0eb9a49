"""The dashboard: list of pages and page settings, nothing else."""

import streamlit as st

from pages.common import guard

st.set_page_config(page_title="BNMF modes", page_icon=":material/blur_on:", layout="wide")

# In the order of a user's thoughts: start, prepare, explore, compare.
PAGES = (
    ("home", "Home", ":material/home:"),
    ("data", "Data", ":material/table_chart:"),
    ("run", "Run", ":material/play_circle:"),
    ("runs", "Runs", ":material/list_alt:"),
    ("modes", "Modes", ":material/scatter_plot:"),
    ("gallery", "Gallery", ":material/photo_library:"),
    ("topics", "Topics", ":material/topic:"),
    ("downstream", "Downstream", ":material/query_stats:"),
    ("posterior", "Posterior", ":material/balance:"),
    ("coverage", "Coverage", ":material/stacked_line_chart:"),
    ("traces", "Traces", ":material/show_chart:"),
    ("study", "Study", ":material/science:"),
)

current = st.navigation(
    [
        st.Page(f"pages/{key}.py", title=title, icon=icon, default=key == "home")
        for key, title, icon in PAGES
    ],
    position="top",
)
guard.admit()
current.run()
