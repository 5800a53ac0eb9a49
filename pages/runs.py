"""Runs: every launch with its status; several can be compared."""

import streamlit as st

from pages.frame import guard, view, watch
from pages.frame.services import dataset_names, store
from pages.frame.words import plain
from pages.parts import showing
from pages.runs_parts import card, cleaning, comparing, forgetting, opening, recovering

AT_FIRST = 12

guard.enter("runs")
recovering.show()
launches = store().launches()
for run_id, sentence in store().unreadable().items():
    st.warning(plain(sentence))
    if st.button("Remove this run", key=f"remove_{run_id}"):
        store().delete_run(run_id)
        st.rerun()
if not launches:
    below = st.container()
    with st.container():
        opening.show()
        cleaning.show()
        forgetting.show()
    with below:
        view.nothing("Nothing has been run yet.", "home", "run")
most = st.session_state.get("runs_shown", AT_FIRST)


def active() -> bool:
    """Whether any run is waiting or running."""
    return any(launch.active for launch in store().launches())


def draw() -> None:
    """A card for each of the newest launches."""
    now, names = store().launches(), dataset_names()
    card.refused()
    comparing.bar(now)
    for launch in now[:most]:
        card.show(launch, names.get(launch.dataset, "deleted data"))


watch.until_done(active, draw)
if len(launches) > most and st.button(f"Show all {len(launches):,} launches", key="runs_more"):
    st.session_state["runs_shown"] = len(launches)
    st.rerun()
showing.listed()
opening.show()
cleaning.show()
forgetting.show()
