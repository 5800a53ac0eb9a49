"""Discrepancy: which run comes nearer to the posterior, and how soon?"""

import streamlit as st

from pages.frame import guard, lens
from pages.frame.view import header
from pages.parts import discrepancy_view, kernel_view
from studies.result import full

guard.enter("discrepancy")
header("Discrepancy", "Which is the better posterior per second?")
st.caption(
    "The Stein discrepancy is small where weighted factorizations are unlike each other and have "
    "small slopes, or slopes that cancel. It does not say whether a mode was missed: one that no "
    "factorization has reached does not count."
)
study = full("stein")
views = {"runs": "Runs in view", "study": "Full study"}
if study is None:
    del views["study"]
view = st.segmented_control(
    "Look at", list(views), default="runs", required=True, format_func=views.get,
    key="discrepancy_of",
    help="The full study comes with the program: the algorithms of “A particle-based variational "
    "approach to Bayesian NMF” on several data sets.",
)  # fmt: skip
if view == "study":
    discrepancy_view.of_study(study)
    discrepancy_view.notes(study)
else:
    look = lens.look("stein")
    form, part = kernel_view.ask_kernel(look)
    discrepancy_view.of_runs(look, part, form)
