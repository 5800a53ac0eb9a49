"""Home: what this is, and one click to a real example."""

import streamlit as st

from bnmf_core.lazy import lazy
from pages.frame import guard, hints, link
from pages.frame.services import dataset_names, launch_label, make_ready, store
from pages.home_parts import examples
from pages.parts import dropping, starting

conversation = lazy("pages.data_parts.conversation")

guard.enter("home")
hints.show("home")
starting.open_started()
if st.session_state.get(dropping.KEY) is None:
    dropping.ask()
elif conversation.upload():
    st.stop()
else:
    link.go("run", data=link.get("data"))
examples.show()
if recent := store().launches()[:4]:
    st.header("Recent", anchor=False)
    names = dataset_names()
    for launch in recent:
        words = launch_label(launch, names.get(launch.dataset, "deleted data"))
        if launch.shown:
            link.to("overview", f"{words} · {launch.status}", runs=",".join(launch.shown))
    link.to("runs")
make_ready()
