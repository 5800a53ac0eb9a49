"""Runs: what ran, is running, failed."""

import streamlit as st

from pages.frame import guard, watch
from pages.frame.services import store
from pages.frame.view import header
from pages.parts import run_card

AT_FIRST = 12

guard.enter("runs")
header("Runs", "What ran, what is running, what failed. Runs go on when you close this tab.")
store().mark_interrupted()  # a run of a terminal that was closed
runs = store().runs()
if not runs:
    st.info("Nothing has been run yet.")
    st.page_link("pages/home.py", label="Start an example", icon=":material/home:")
    st.page_link("pages/run.py", label="Set up a run", icon=":material/play_circle:")
    st.stop()
most = st.session_state.get("runs_shown", AT_FIRST)


def active() -> bool:
    """Whether any run is waiting or running."""
    return any(run.active for run in store().runs())


def draw() -> None:
    """A card for each of the newest runs."""
    for run in store().runs()[:most]:
        run_card.card(run)


watch.until_done(active, draw)
if len(runs) > most and st.button(f"Show all {len(runs)} runs", key="runs_more"):
    st.session_state["runs_shown"] = len(runs)
    st.rerun()
