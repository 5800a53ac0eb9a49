"""Discrepancy: which run comes nearer to the posterior, and how soon?"""

import streamlit as st

from bnmf_core.analysis import stein
from pages.discrepancy_parts import runs_part, study_part
from pages.frame import guard, panel
from pages.frame.options import pick_one
from pages.parts import kernel
from studies.result import full

guard.enter("discrepancy")
study = full("stein")
views = {"runs": "Runs in view", "study": "Full study"}
if study is None:
    del views["study"]
view = pick_one(
    "Look at",
    views,
    "runs",
    "discrepancy_of",
    help="The full study comes with the program: the algorithms of “A particle-based variational "
    "approach to Bayesian NMF” on several data sets.",
    place=st.sidebar,
)
if view == "study":
    study_part.show(study)
    study_part.notes(study)
else:
    look = panel.look(stein.STAGE)
    form, part = kernel.ask(look)
    runs_part.show(look, part, form)
with st.expander("What the Stein discrepancy says"):
    st.markdown(
        "The Stein discrepancy is small where weighted factorizations are unlike each other and "
        "have small slopes, or slopes that cancel. It does not say whether a mode was missed: one "
        "that no factorization has reached does not count."
    )
