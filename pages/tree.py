"""Tree: where did the tree go that the chains did not?"""

import streamlit as st

from bnmf_core.analysis import tree as tree_stage
from bnmf_core.figures.tree import growth
from pages.frame import guard, lens
from pages.frame.view import chart, header
from pages.parts import tree_view

guard.enter("tree")
header("Tree", "Where did the tree go that the chains did not?")
look = lens.look("tree")
part = tree_stage.read(look.analysis)
if part is None:
    st.info(
        "None of these runs is a tree. RRT grows one from solved or known factorizations towards "
        "where nothing is known yet; the lesson grows one beside a chain in a few seconds."
    )
    st.page_link("pages/run.py", label="Set up a run", icon=":material/play_circle:")
    st.page_link("pages/lesson.py", label="Walking and exploring", icon=":material/school:")
    st.stop()
tree_view.endings(look.analysis)
shown = int(part.table["tree"].sum())
origin = look.origin
if shown < part.nodes:
    origin += f" · {shown:,} of {part.nodes:,} nodes, with all that they grew from"
left, right = st.columns([5, 4] if part.bases is not None else [1, 0.01], gap="medium")
with left:
    tree_view.growing_map(part, look.styles, origin)
with right:
    tree_view.simplex(part, look.styles, origin)
left, right = st.columns([5, 4], gap="medium")
with left:
    st.subheader("Nodes", anchor=False)
    st.dataframe(tree_view.nodes(part), hide_index=True, height=420)
with right:
    event = chart(
        growth(part.table, look.styles),
        "A line that flattens is a tree that has nowhere left to go. Draw a lasso or a box to "
        "bring nodes into focus on all pages.",
        name="tree_growth", origin=origin, table=tree_view.nodes(part),
        select=("points", "box", "lasso"),
    )  # fmt: skip
    lens.focus_on_selection(event, "tree")
