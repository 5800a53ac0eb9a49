"""Side by side: any page for two groups of runs, linked."""

import streamlit as st

from bnmf_core.analysis.named import LIMIT
from pages.frame import declared, guard, link, view
from pages.frame.words import plain
from pages.panes_parts import linking, sides

HEIGHT = 1500

guard.enter("panes")
offered = [page for page in declared.PAGES if "runs" in page.parameters]
link.one_of("pane", [page.key for page in offered], "modes")
st.segmented_control(
    "Page",
    [page.key for page in offered],
    key=link.key("pane"),
    required=True,
    format_func=lambda key: plain(declared.page(key).title),
)
with st.container(key="panes"):
    left, right = st.columns(2, gap="small")
    chosen = sides.ask(left, right)
    link.share("pane", "left", "right")
    if not all(chosen):
        view.nothing("Choose at least one run on either side.")
    title = declared.page(link.get("pane")).title
    for column, runs, others, side in zip(
        (left, right), chosen, reversed(chosen), ("left", "right"), strict=True
    ):
        with column:
            address = linking.address(link.get("pane"), runs, others, chosen[0])
            st.iframe(address, height=HEIGHT, alt=f"{title}, {side}")
linking.draw()
st.caption(
    "What is set on one side (distance, threshold, part, label, relevance, quantity) is set on the "
    "other, charts of the same axes show the same part of them, and both sides scroll together. A "
    "map has directions of its own on either side. What is in focus on one side brings into focus "
    "what is most like it on the other. Numbers of modes and components are those of each side: a "
    f"letter says which are the same, small for components (within {LIMIT:g}°) and large for modes."
)
