"""Runs: what ran, is running, failed."""

import streamlit as st

from pages.frame import guard, view, watch
from pages.frame.services import dataset_names, store
from pages.frame.words import plain
from pages.runs_parts import card, cleaning

AT_FIRST = 12

guard.enter("runs")
runs = store().runs()
for run_id, sentence in store().unreadable().items():
    st.warning(plain(sentence))
    if st.button("Remove this run", key=f"remove_{run_id}"):
        store().delete_run(run_id)
        st.rerun()
if not runs:
    below = st.container()
    with st.container():
        cleaning.show()
    with below:
        view.nothing("Nothing has been run yet.", "home", "run")
most = st.session_state.get("runs_shown", AT_FIRST)


def active() -> bool:
    """Whether any run is waiting or running."""
    return any(run.active for run in store().runs())


def draw() -> None:
    """A card for each of the newest runs."""
    names = dataset_names()
    for run in store().runs()[:most]:
        card.show(run, names.get(run.dataset, "deleted data"))


watch.until_done(active, draw)
if len(runs) > most and st.button(f"Show all {len(runs):,} runs", key="runs_more"):
    st.session_state["runs_shown"] = len(runs)
    st.rerun()
cleaning.show()
