"""A lesson: what a chain that walks and a tree that explores see of the same problem."""

import streamlit as st

from bnmf_core.analysis import tree
from bnmf_core.runs.launch import run_label
from pages.frame import choosing, guard, link, panel, view, watch
from pages.frame.services import runner, store
from pages.lesson_parts import lesson

guard.enter("lesson")
one, two, three = st.columns(3, gap="medium")
one.markdown(
    "**Why two triangles fit.** The six columns of X lie in a plane. X = A W with nothing negative "
    "says that they lie inside a triangle whose corners are the columns of A, and that triangle "
    "inside the positive part of the plane. At a = 0.5 there is room for exactly two, turned "
    "against each other by 37°; a little more, and there are infinitely many between them."
)
two.markdown(
    "**Why a chain stays.** HMC is right in the long run: it spends time everywhere in proportion "
    "to probability. But it goes step by step through 36 numbers that have to fit together, and "
    "turns back wherever the next step is improbable. All its draws lie close together, and "
    "nothing in them says that there is anything else."
)
three.markdown(
    "**What the tree does.** RRT moves nine numbers only, those that change one basis of the same "
    "plane into another. It draws a point anywhere, goes from its nearest node towards it while "
    "that is possible, and leaves a node there. So it is drawn to where nothing is known yet; how "
    "probable each place is, it does not say."
)
dataset, specs = lesson.ask()
if st.button("Run side by side", type="primary", icon=":material/play_arrow:", key="lesson_go"):
    with view.told():
        run_ids = runner().start(dataset, specs)
    link.put("lesson", run_ids)
    link.share("lesson")

known = {run.id: run for run in store().runs()}
asked = link.get("lesson") or []
runs = [known[run_id] for run_id in asked if run_id in known]
choosing.not_found("run", [run_id for run_id in asked if run_id not in known])
if not runs:
    view.nothing("Nothing has been run here yet. The choices above take a few seconds.")
link.share("lesson")
if any(run.active for run in runs):
    watch.runs_until_done([run.id for run in runs])
    st.stop()
for run in runs:
    if run.status == "failed" or not run.done:
        view.problem(f"{run_label(run)}: {run.message or run.status}")
made = [run.id for run in runs if run.done]
if not made:
    st.stop()
lesson.show(panel.analysed(made, tree.STAGE))
st.subheader("To try", anchor=False)
st.markdown(
    "- Move a to 0.55 and run again: how much farther does the tree come, and how much farther the "
    "chain?\n"
    "- Give ε twice, then eight times its value. When does the tree find the second dashed "
    "triangle? When does the chain?\n"
    "- Set a below 0.5, where one solution is exact. Why is the tree still not a point?\n"
    "- Take Gaussian noise and a larger σ. Why does the chain move now?\n"
    "- Add Q-Transform, which starts anew for every factorization. What does it find that neither "
    "finds, and what does it leave out?"
)
for page in ("tree", "modes", "coverage"):
    link.to(page, f"These runs on {page.title()}", runs=",".join(made))
