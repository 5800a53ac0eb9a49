"""Fit and weights: is each factorization good enough, and what do they weigh together?"""

import streamlit as st

from pages.frame import guard, link
from pages.frame.words import shown
from pages.quality_parts import fit, weights

VIEWS = {"fit": "Fit and convergence", "weights": "Weights by Stein discrepancy"}

guard.enter("quality")
link.one_of("part", VIEWS)
st.segmented_control(
    "What is shown",
    list(VIEWS),
    key=link.key("part"),
    required=True,
    format_func=shown(VIEWS),
    label_visibility="collapsed",
)
link.share("part")
if link.get("part") == "fit":
    fit.show()
else:
    weights.show()
