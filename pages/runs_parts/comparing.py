"""Comparison of several launches ticked in the list."""

from collections.abc import Sequence

import streamlit as st

from bnmf_core.store.launches import Launch
from pages.frame import link, panel
from pages.frame.words import plain
from pages.sessions_parts import beside


def key(launch: Launch) -> str:
    """The key of a launch's checkbox."""
    return f"tick_{launch.id}"


def bar(launches: Sequence[Launch]) -> None:
    """A button that opens the ticked launches, or why they cannot be compared."""
    ticked = [launch for launch in launches if st.session_state.get(key(launch)) and launch.shown]
    if not ticked:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        several = "s" if len(ticked) > 1 else ""
        kinds = {(launch.dataset, launch.rank) for launch in ticked}
        label = f"Compare {len(ticked)} launch{'es' if several else ''}"
        pressed = st.button(
            plain(label), type="primary", key="compare", disabled=len(kinds) > 1 or not several
        )
        two = len(kinds) > 1 and len(ticked) == 2
        across = two and st.button("Compare their components", key="match_analyses")
        if len(kinds) > 1:
            st.caption("Only launches of the same data and number of components can be compared.")
        elif not several:
            st.caption("Tick another one of the same data and number of components.")
    if pressed:
        open_runs([run_id for launch in reversed(ticked) for run_id in launch.shown])

    if across:
        st.session_state[beside.FOLD], st.session_state[beside.CHOSEN] = True, ticked[0].id
        link.put("runs", ticked[1].shown)
        panel.forget()
        link.go("sessions", runs=",".join(ticked[1].shown))


def open_runs(run_ids: Sequence[str]) -> None:
    """Open Overview of these runs."""
    link.put("runs", list(run_ids))
    panel.forget()
    link.go("overview", runs=",".join(run_ids))
