"""Wraps every page: settings, menus, and the requested page."""

from pathlib import Path

import streamlit as st

from bnmf_core.numerics.threads import one_blas_thread
from pages.frame import guard, hovering, looks, memory, view

ICON = Path(__file__).with_name("icon.png")

memory.pass_over_libraries()
st.set_page_config(page_title="BNMF modes", page_icon=ICON, layout="wide")
looks.draw()
hovering.draw()
# BLAS threads that wait for each other in small products would delay all other sessions.
with one_blas_thread(), view.report_errors():
    guard.admit().run()
