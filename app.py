"""The dashboard: page settings, the menus, the page that was asked for."""

from pathlib import Path

import streamlit as st

from pages.frame import guard, hovering, link, looks, memory

ICON = Path(__file__).parent / "pages" / "frame" / "icon.png"

memory.pass_over_libraries()
st.set_page_config(page_title="BNMF modes", page_icon=ICON, layout="wide")
looks.draw()
link.one_entry_for_each_page()
hovering.draw()
guard.admit().run()
