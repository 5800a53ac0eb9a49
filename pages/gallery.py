"""Gallery: what do the bases look like?"""

import streamlit as st

from pages.frame import guard, panel
from pages.frame.words import plain
from pages.parts import bases

guard.enter("gallery")
look = panel.look()
left, middle, right = st.columns([1, 1.5, 1.5], vertical_alignment="bottom")
most = int(left.number_input("Factorizations shown", 2, 12, 6, key="gallery_count"))
difference = middle.toggle(
    "Difference to the first",
    key="gallery_difference",
    help="Show every factorization minus the first one shown.",
)
by_run = len(look.styles) > 1 and right.toggle(
    "Run by run",
    key="gallery_by_run",
    help="So many factorizations of every run: its most typical one, then those that differ most. "
    "A run that shows the same parts again and again has seen one place only.",
)
rows, names = look.shown_of_each(most) if by_run else look.shown(most)
st.markdown(f"**In focus: {plain(look.focus_name)}**")
if look.focus.all() and not by_run:
    st.caption("Of each mode, its most typical factorization.")
else:
    st.caption("The most typical factorization in focus first, then the ones that differ most.")
bases.show(look, rows, names, difference, "gallery")
