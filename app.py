"""The dashboard, as a server runs it: streamlit run app.py."""

from pathlib import Path

import streamlit as st

app = st.App(Path(__file__).parent / "pages" / "frame" / "shell.py")
