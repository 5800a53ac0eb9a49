"""Tree: where did the tree go that the chains did not?"""

import streamlit as st

from bnmf_core.rrt.analysis import tree as tree_stage
from bnmf_core.rrt.figures.tree import growth
from pages.frame import focusing, guard, panel, view
from pages.parts import tree

guard.enter("tree")
look = panel.look(tree_stage.STAGE)
part = tree_stage.STAGE.of(look.analysis)
if part is None:
    view.nothing(
        "None of these runs is a tree. RRT grows one from converged or known factorizations "
        "towards unexplored regions; lesson 4 shows one beside a chain.",
        "run",
        "lessons",
    )
tree.endings(look.analysis)
shown = int(part.table["tree"].sum())
origin = look.origin
if shown < part.nodes:
    origin += f" · {shown:,} of {part.nodes:,} nodes, with all that they grew from"
left, right = st.columns([5, 4] if part.bases is not None else [1, 0.01], gap="medium")
with left:
    tree.growing_map(part, look.styles, origin)
with right:
    tree.simplex(part, look.styles, origin)
left, right = st.columns([5, 4], gap="medium")
with left:
    st.header("Nodes", anchor=False)
    view.table(tree.nodes(part), "Nodes", height=420)
with right:
    view.chart(
        growth(part.table, look.styles),
        "A line that flattens is a tree that finds no further regions. Draw a lasso or a box to "
        "bring nodes into focus on all pages.",
        name="tree_growth",
        origin=origin,
        table=tree.nodes(part),
        select=view.MARKS,
        on_select=focusing.selected(look.modes),
    )
